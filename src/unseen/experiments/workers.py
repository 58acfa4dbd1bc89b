"""Processes that run cells. Each ends when its pipe closes, so none outlives the run."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from unseen.experiments.execute import Outcome
from unseen.experiments.plan import Cell
from unseen.experiments.run import Loader, attempt

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext
    from multiprocessing.process import BaseProcess

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    cell: Cell | None = None


def in_processes(
    cells: Sequence[Cell], folder: Path | None, jobs: int, threads: int
) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells in ``jobs`` processes; a process that dies fails its cell and is replaced."""
    context = multiprocessing.get_context("spawn")
    queue = list(reversed(cells))
    workers = [_start(context, folder, threads) for _ in range(jobs)]
    try:
        for worker in workers:
            _give(worker, queue)
        while busy := [w for w in workers if w.cell is not None]:
            ready = wait([w.pipe for w in busy])
            for worker in [w for w in busy if w.pipe in ready]:
                cell = worker.cell
                outcome = _receive(worker)
                if outcome.status == "failed" and not worker.process.is_alive():
                    workers[workers.index(worker)] = worker = _start(context, folder, threads)
                _give(worker, queue)
                assert cell is not None
                yield cell, outcome
    finally:
        for worker in workers:
            worker.pipe.close()
        for worker in workers:
            if worker.cell is not None:
                worker.process.terminate()
            worker.process.join(timeout=10)


def _start(context: SpawnContext, folder: Path | None, threads: int) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, folder, threads), daemon=True)
    with blas_environment(threads):
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextmanager
def blas_environment(threads: int) -> Iterator[None]:
    """Let processes that start meanwhile have so many threads of linear algebra.

    A limit of ``threadpoolctl`` holds for the libraries that are loaded, and SciPy brings one of its
    own that a fit may load later. More threads than a process has cores wait for each other, and spin.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _give(worker: _Worker, queue: list[Cell]) -> None:
    worker.cell = queue.pop() if queue else None
    if worker.cell is not None:
        worker.pipe.send(worker.cell)


def _receive(worker: _Worker) -> Outcome:
    try:
        outcome: Outcome = worker.pipe.recv()
    except (EOFError, ConnectionError):
        worker.process.join(timeout=10)
        code = worker.process.exitcode
        return Outcome("failed", error=f"The process ended with code {code}: out of memory, or killed.")
    return outcome


def _serve(pipe: Connection, folder: Path | None, threads: int) -> None:
    """Answer cells with outcomes until the other end of the pipe closes."""
    load = Loader(folder)
    with threadpool_limits(limits=threads):
        while True:
            try:
                cell = pipe.recv()
                pipe.send(attempt(cell, load))
            except (EOFError, ConnectionError):
                return
