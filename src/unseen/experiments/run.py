"""The runner: run the cells that are pending, store them, report progress."""

from __future__ import annotations

import logging
import math
import os
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import fmean

from threadpoolctl import threadpool_limits

from unseen.datasets import ZeroShotDataset
from unseen.exceptions import DivergenceError
from unseen.experiments import registry
from unseen.experiments.execute import NotApplicable, Outcome, execute
from unseen.experiments.plan import Cell, Plan
from unseen.experiments.result_store import Store

logger = logging.getLogger(__name__)


@dataclass
class Progress:
    """How far a run is."""

    total: int
    before: int
    """Cells that the store held already."""
    done: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)
    last: Cell | None = None
    best: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Data set → best accuracy so far and its method."""
    waiting: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Data set and method → cells that are not finished."""
    spent: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Data set and method → seconds of the fits that are."""
    sizes: Mapping[str, float] = field(default_factory=dict)
    """Data set → numbers that it holds, where known."""

    @property
    def seconds_left(self) -> float:
        """An estimate from fits of the same method so far; NaN before the first cell.

        A cell that waits takes as long as the same method on the same data set, else as that method
        on others, else as the mean, by the sizes of data sets. What processes share and what is beside
        fits is in the ratio of the time that has passed to the seconds of fits.
        """
        if not self.done:
            return float("nan")
        passed, fits = time.monotonic() - self.started, sum(map(sum, self.spent.values()))
        if not fits:
            return (self.total - self.before - self.done) * passed / self.done
        of_method: dict[str, list[float]] = defaultdict(list)
        for (dataset, method), seconds in self.spent.items():
            of_method[method] += [duration / self._duration(dataset) for duration in seconds]
        every = list(chain.from_iterable(of_method.values()))

        def expected(dataset: str, method: str) -> float:
            same = self.spent.get((dataset, method))
            return fmean(same) if same else self._duration(dataset) * fmean(of_method[method] or every)

        left = sum(count * expected(*kind) for kind, count in self.waiting.items() if count)
        return left * passed / fits

    def _duration(self, dataset: str) -> float:
        """Return how long fits to a data set take in proportion to others.

        From letters to simulated AwA, of 39 times as many numbers, fits take 1.5 to 8 times as long.
        """
        return math.sqrt(self.sizes.get(dataset, 1.0))

    def note(self, cell: Cell, outcome: Outcome) -> None:
        """Count one cell."""
        self.last = cell
        self.done += 1
        self.failed += outcome.status == "failed"
        self.waiting[cell.dataset, cell.method] -= 1
        if math.isfinite(outcome.seconds):
            self.spent[cell.dataset, cell.method].append(outcome.seconds)
        value = outcome.metrics.get("accuracy")
        if value is not None and cell.setting == "zsl":
            self.best[cell.dataset] = max(self.best.get(cell.dataset, (-1.0, "")), (value, cell.method))


def run(
    plan: Plan,
    store: Store,
    *,
    jobs: int = 1,
    retry: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run the cells that the store does not hold.

    Parameters
    ----------
    plan : Plan
    store : Store
    jobs : int
        Processes. The cores are shared among them: two jobs on two cores use one thread each.
    retry : bool
        Run the cells again that failed before.
    on_progress : callable, optional
        Told of every finished cell.

    Returns
    -------
    Progress
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise ValueError(f"jobs must be an integer >= 1. Got {jobs!r} instead.")
    todo = pending(plan, store, retry)
    waiting = Counter((cell.dataset, cell.method) for cell in todo)
    sizes = {cell.dataset: registry.size(cell.dataset, plan.data) for cell in todo}
    # Large data sets first, and of each the authors' forms, some of which descend for a minute: the
    # last cells are short, and no process waits long.
    todo.sort(key=lambda cell: (-sizes[cell.dataset], cell.preset == "default"))
    before = len(plan.cells) - len(todo)
    progress = Progress(len(plan.cells), before, waiting=waiting, sizes=sizes)
    for cell, outcome in _outcomes(todo, plan.data, jobs):
        store.write(cell, outcome)
        progress.note(cell, outcome)
        if outcome.status == "failed":
            logger.warning("%s: %s", cell.label, outcome.error.strip().split("\n")[-1])
        if on_progress is not None:
            on_progress(progress)
    return progress


def _outcomes(cells: list[Cell], folder: Path | None, jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells here, or in processes that share the cores."""
    from unseen.experiments.workers import in_processes

    threads = max(1, (os.cpu_count() or 1) // jobs)
    jobs = min(jobs, len(cells))
    if jobs <= 1:
        return in_this_process(cells, folder, threads)
    return in_processes(cells, folder, jobs, threads)


def pending(plan: Plan, store: Store, retry: bool = False) -> list[Cell]:
    """Return the cells that have no row yet; with ``retry`` also those that failed."""
    statuses = store.statuses()
    again = (None, "failed") if retry else (None,)
    return [cell for cell in plan.cells if statuses.get(cell.key) in again]


class Loader:
    """Loads data sets and keeps the last one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: tuple[str, ZeroShotDataset] | None = None

    def __call__(self, name: str) -> ZeroShotDataset:
        """Return the data set."""
        if self._held is None or self._held[0] != name:
            self._held = None
            self._held = (name, registry.load(name, self._folder))
        return self._held[1]


def attempt(cell: Cell, load: Callable[[str], ZeroShotDataset]) -> Outcome:
    """Run a cell; what goes wrong is its outcome."""
    try:
        return execute(cell, load(cell.dataset))
    except NotApplicable as error:
        return Outcome("skipped", error=str(error))
    except DivergenceError as error:  # what the settings do to these data: a result, not a fault
        return Outcome("diverged", error=str(error))
    except Exception:
        return Outcome("failed", error=traceback.format_exc(limit=-8))


def in_this_process(
    cells: Sequence[Cell], folder: Path | None, threads: int
) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells one after the other."""
    load = Loader(folder)
    with threadpool_limits(limits=threads):
        for cell in cells:
            yield cell, attempt(cell, load)
