"""From labelled rows and a pool to class prototypes: the start, the rounds, a shift of domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.rows.chunks import summed
from unseen.rows.passes import gram
from unseen.statistics.gaussian_classes import (
    Adaptation,
    Assignment,
    Plan,
    Pool,
    Step,
    adapt,
    soft_sums,
)
from unseen.statistics.seen_model import PoolModel, SeenModel, pool_model, seen_model, start_of
from unseen.statistics.visual_space import SeenStatistics
from unseen.typing import Array

OnRound = Callable[[int, Assignment], None]

SHIFTED = 2.0
"""Errors of prediction this many times those foretold show a pool of another domain: its scatter then
counts in the covariance that whitens."""

SHIFT_REPEATS, SHIFT_ROUNDS = 2, 4
"""How often that covariance is estimated again, and rounds after each time."""


class Task(NamedTuple):
    """What a pool is to be labelled with."""

    statistics: SeenStatistics
    shrinkage: float | None
    """Of the covariance that whitens in the rounds."""
    seen_vectors: Array | None
    vectors: Array
    """Of the candidates, (L, q)."""
    own: Array
    """(L,) the place of a candidate among the seen classes, -1 for an unseen one."""
    dtype: Any

    def model(self, statistics: SeenStatistics) -> SeenModel:
        """Return what labelled rows tell of classes."""
        return seen_model(statistics, self.seen_vectors, self.shrinkage, self.dtype)


class Transduction(NamedTuple):
    """Where it ended."""

    model: SeenModel
    before: PoolModel
    """The candidates before the pool was seen, in the spaces of ``model``."""
    start: Assignment
    found: Adaptation
    steps: list[Step]


def transduce(
    task: Task,
    model: SeenModel,
    pool: Pool,
    plan: Plan,
    on_round: OnRound | None = None,
) -> Transduction:
    """Label a pool.

    Parameters
    ----------
    task : Task
    model : SeenModel
        Of the task.
    pool : Pool
        Its rows, in the space of the model.
    plan : Plan
    on_round : callable, optional
        Called with the number of each round, 0 for the start, and its assignment.
    """
    before = pool_model(model, task.vectors, task.own)
    start = start_of(model, before, pool, plan.shares)
    found = adapt(pool, before.prior, start, plan, on_round)
    steps = list(found.steps)
    if found.error_scale > SHIFTED:
        for _ in range(SHIFT_REPEATS):
            model = task.model(with_pool(task.statistics, pool, found.assignment))
            before = pool_model(model, task.vectors, task.own)
            pool = replace(pool, space=model.space)
            again = plan._replace(rounds=min(SHIFT_ROUNDS, plan.rounds))
            found = adapt(pool, before.prior, found.assignment, again, _later(on_round, len(steps) - 1))
            steps += found.steps[1:]
    return Transduction(model, before, start, found, steps)


def with_pool(statistics: SeenStatistics, pool: Pool, state: Assignment) -> SeenStatistics:
    """Return statistics in which the scatter of the pool about its classes counts, too."""
    mass, sums = summed(soft_sums, pool.X, state.labels)
    factor = sums.T / np.sqrt(np.maximum(mass, 1e-9))
    scatter = gram(pool.X) - factor @ factor.T
    return replace(statistics, pool_scatter=scatter, pool_rows=len(pool))


def _later(on_round: OnRound | None, taken: int) -> OnRound | None:
    """Number rounds from those that were taken before; their start was the end of the last one."""
    if on_round is None:
        return None
    return lambda number, state: on_round(number + taken, state) if number else None
