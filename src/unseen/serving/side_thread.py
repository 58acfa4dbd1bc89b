"""Large bodies are parsed, and large answers written, beside the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

LARGE_BYTES = 64 * 1024
"""Below it the work is done at once: it takes less time than handing it over."""


class SideThread:
    """One thread for all large bodies: one at a time takes the memory that a parser needs.

    A parser keeps Python's global lock until it ends, and the event loop waits for that at each of its
    steps. So the thread rests after each piece of work for as long as that took, and the event loop has
    half of the time for itself: ``/health`` answers.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "bodies")

    async def run(
        self, size: int, work: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs
    ) -> Made:
        """Do some work on so many bytes."""
        if size < LARGE_BYTES:
            return work(*args, **kwargs)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Made] = loop.create_future()

        def work_and_rest() -> None:
            if done.cancelled():
                return
            begin = time.perf_counter()
            try:
                made = work(*args, **kwargs)
            except BaseException as error:
                loop.call_soon_threadsafe(_fail, done, error)
            else:
                loop.call_soon_threadsafe(_settle, done, made)
                del made
            time.sleep(time.perf_counter() - begin)

        self._thread.submit(work_and_rest)
        return await done

    def stop(self) -> None:
        """End the thread when it has done what it does now; what waits is given up."""
        self._thread.shutdown(cancel_futures=True)


def _settle(done: asyncio.Future[Made], made: Made) -> None:
    if not done.cancelled():
        done.set_result(made)


def _fail(done: asyncio.Future[Made], error: BaseException) -> None:
    if not done.cancelled():
        done.set_exception(error)
