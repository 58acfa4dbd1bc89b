"""Requests that come at the same time share one matrix product."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unseen.serving.prometheus import Metrics
from unseen.typing import Array, Label


@dataclass(frozen=True)
class Answered:
    """Probabilities of some rows, (n, L), and the classes of their columns."""

    probabilities: Array
    classes: list[Label]
    model: Any = None
    """That which answered."""
    strangers: Array | None = None
    """(n, 2) of a model that looks for strangers: the probability of being one, and 1 if it says so."""

    def part(self, first: int, last: int) -> Answered:
        """Return the answers for some of the rows."""
        strangers = None if self.strangers is None else self.strangers[first:last]
        return replace(self, probabilities=self.probabilities[first:last], strangers=strangers)


Score = Callable[[Array], Answered]


class Batcher:
    """Collects rows for a short while, scores all of them at once, and hands everyone their own.

    While a product is computed, in a thread of its own, the next rows gather: the busier the service,
    the larger its batches, with no setting to tune.

    Parameters
    ----------
    score : callable
        Rows → Answered.
    window : float
        Seconds that the first row waits for others.
    most : int
        Rows of a product. A request with more is scored alone.
    metrics : Metrics
    """

    def __init__(self, score: Score, window: float, most: int, metrics: Metrics) -> None:
        self._score, self._window, self._most, self._metrics = score, window, most, metrics
        self._waiting: list[tuple[Array, asyncio.Future[Answered]]] = []
        self._arrived = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "score")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to score; call it in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Score what waits, and end."""
        while self._waiting:
            await asyncio.sleep(0.001)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._thread.shutdown()

    async def __call__(self, X: Array) -> Answered:
        """Return the answers for the rows of X."""
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting.append((X, future))
        self._arrived.set()
        return await future

    async def _run(self) -> None:
        while True:
            await self._arrived.wait()
            if self._window and sum(len(X) for X, _ in self._waiting) < self._most:
                await asyncio.sleep(self._window)
            batch = self._take()
            try:
                await self._answer(batch)
            finally:
                for _, future in batch:
                    future.cancel()  # only if the task was cancelled; answered ones stay answered

    def _take(self) -> list[tuple[Array, asyncio.Future[Answered]]]:
        """Take what waits, in its order, as far as it fits; rows of one precision only.

        Rows in single precision that were scored beside double ones would get other last digits.
        """
        rows, count = 0, 0
        for X, _ in self._waiting:
            if count and (rows + len(X) > self._most or X.dtype != self._waiting[0][0].dtype):
                break
            rows, count = rows + len(X), count + 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        if not self._waiting:
            self._arrived.clear()
        return [(X, future) for X, future in batch if not future.cancelled()]

    async def _answer(self, batch: list[tuple[Array, asyncio.Future[Answered]]]) -> None:
        if not batch:
            return
        X = batch[0][0] if len(batch) == 1 else np.concatenate([X for X, _ in batch])
        self._metrics.batches.observe(len(X))
        self._metrics.shared.observe(len(batch))
        loop = asyncio.get_running_loop()
        try:
            answered = await loop.run_in_executor(self._thread, self._score, X)
        except Exception as error:  # every waiting request must hear of it
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        first = 0
        for X_part, future in batch:
            part = answered.part(first, first + len(X_part))
            first += len(X_part)
            if not future.done():
                future.set_result(part)
        self._metrics.rows.add(len(X))
