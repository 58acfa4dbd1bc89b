"""Large bodies are parsed, and large answers written, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")

LARGE_BYTES = 64 * 1024
"""Below it the work is done at once: it takes less time than handing it over."""


class SideThread:
    """One thread for all large bodies: one at a time takes the memory that a parser needs.

    Between two of them the event loop has its turn, so that ``/health`` answers.
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
        return await loop.run_in_executor(self._thread, lambda: work(*args, **kwargs))

    def stop(self) -> None:
        """End the thread when it is idle."""
        self._thread.shutdown()
