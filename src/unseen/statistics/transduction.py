"""A pool is labelled: classes and rows are set up, and rounds are run on them.

Where the errors of prediction are much larger than foretold, the pool is of another domain. The scatter
of its rows about the classes found then counts in the covariance that whitens, and more rounds follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.rows import kernels
from unseen.rows.passes import gram, summed
from unseen.statistics.adaptation import Assignment, Plan, State, adapt, assign, learned_biases
from unseen.statistics.seen_model import (
    TEMPERATURE,
    Answer,
    Candidates,
    Metric,
    Prior,
    SeenModel,
    Task,
    candidates_of,
)
from unseen.statistics.visual_space import Pool, SeenStatistics, Space, less_square, scaled_rows
from unseen.typing import Array, Codes, RowValues

SHIFTED = 2.0
"""Errors this many times as large as predicted show a pool of another domain: its scatter then
counts in the covariance that whitens."""

SHIFT_REPEATS, SHIFT_ROUNDS = 2, 4
"""How often that covariance is estimated again, and rounds after each time."""

NOBODY = np.empty(0, dtype=np.intp)
"""No bystanders."""


class Setting(NamedTuple):
    """What rounds are run on: classes, and a pool."""

    model: SeenModel
    candidates: Candidates
    """The candidates before the pool was seen."""
    pool: Pool
    bystanders: Codes = NOBODY
    """Seen classes beside the candidates: rows of the pool may be theirs."""

    @classmethod
    def of(
        cls, model: SeenModel, vectors: Array, own: Codes, pool: Pool, bystanders: Codes = NOBODY
    ) -> Setting:
        """Bring the pool into the space of the model."""
        candidates = candidates_of(model, vectors, own)
        return cls(model, candidates, replace(pool, space=model.space), bystanders)

    @property
    def prior(self) -> Prior:
        """Of the candidates and, behind them, the bystanders."""
        if not len(self.bystanders):
            return self.candidates.prior
        return self.candidates.prior.beside(
            self.model.space.of_means(self.model.means[self.bystanders])
        )

    @property
    def start_scores(self) -> Any:
        """Of the candidates, in the strongly shrunk space."""
        return replace(self.pool, space=self.model.start_space).scores(self.candidates.start)

    def start(self, plan: Plan) -> Assignment:
        """Return the first soft labels, among the candidates; no share has been learned yet."""
        biases = learned_biases(np.zeros(len(self.candidates.start)), plan.smoothing)
        learned = biases if plan.halfway else None
        return assign(self.start_scores, plan.shares, biases, plan.smoothing, learned)


class Transduction(NamedTuple):
    """Where a round ended."""

    setting: Setting
    state: State

    def of_candidates(self) -> Transduction:
        """Return the same state without the classes beside the candidates."""
        return self._replace(state=self.state.first(len(self.setting.candidates.start)))

    def answer(self) -> Answer:
        """Return the prototypes of the candidates in this state, in the metric of its rounds."""
        model, state = self.setting.model, self.of_candidates().state
        space = measured(model.space, state.metric)
        biases = state.assignment.biases
        return Answer.of(space, model, self.setting.candidates, state.points, biases)


def inductive_answer(task: Task) -> Answer:
    """Return the prototypes that labelled rows and semantics give, without a pool."""
    model = task.model(task.statistics())
    candidates = candidates_of(model, task.vectors, task.own)
    return Answer.of(model.start_space, model, candidates, candidates.start)


def opened(task: Task, X: RowValues, bystanders: Codes = NOBODY) -> tuple[SeenStatistics, Setting]:
    """Return the sums over labelled rows, and what the first rounds are run on."""
    statistics = task.statistics()
    model = task.model(statistics)
    pool = Pool(scaled_rows(X, task.scaling), model.space, task.known)
    return statistics, Setting.of(model, task.vectors, task.own, pool, bystanders)


def transduce(task: Task, X: RowValues, plan: Plan) -> Iterator[Transduction]:
    """Label the rows of a pool; yield the start and where each round ended."""
    statistics, setting = opened(task, X)
    rounds = adapt(setting.pool, setting.prior, setting.start(plan), plan)
    yield from with_shift(task, statistics, setting, rounds, plan)


def with_shift(
    task: Task, statistics: SeenStatistics, setting: Setting, rounds: Iterable[State], plan: Plan
) -> Iterator[Transduction]:
    """Run the rounds and, in a pool of another domain, more in which its scatter counts."""
    for state in rounds:
        yield Transduction(setting, state)
    if state.step.error_scale <= SHIFTED:
        return
    again = plan._replace(rounds=min(SHIFT_ROUNDS, plan.rounds))
    for _ in range(SHIFT_REPEATS):
        model = task.model(with_pool(statistics, setting.pool, state.assignment))
        setting = Setting.of(model, task.vectors, task.own, setting.pool, setting.bystanders)
        rounds = adapt(setting.pool, setting.prior, state.assignment, again)
        state = next(rounds)  # its labels are those of the last round
        for state in rounds:
            yield Transduction(setting, state)


def with_pool(statistics: SeenStatistics, pool: Pool, state: Assignment) -> SeenStatistics:
    """Return statistics that include the scatter of the pool about its classes."""
    mass, sums = summed(kernels.soft_sums, pool.X, state.labels)
    factor = sums.T / np.sqrt(np.maximum(mass, 1e-9))
    scatter = less_square(gram(pool.X), factor)
    scatter += statistics.scatter
    return replace(statistics, scatter=scatter, pool_rows=len(pool))


def measured(space: Space, metric: Metric) -> Space:
    """Return the space of the points: Euclidean distance there is the metric, at temperature τ."""
    return space.then(metric.root(space.full_matrix) / np.sqrt(TEMPERATURE))
