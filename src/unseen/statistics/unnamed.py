"""Classes without a name: clusters of a pool that no candidate should take.

Rounds are run again beside classes of which nothing is known, one for every four candidates. They start
at rows that lie close together and far from every class. A candidate may have drifted to such a cluster
by then, and a new class may hold the candidate's own rows. So names are given anew, by votes: how
likely the start found each name for the rows of each cluster, each name going to one cluster. On folds
of seen classes, votes name true clusters rightly where the tie of the means does not.

What the clusters without a name hold tells strangers. For the answers, soft labels of the rounds with
and without these classes are averaged, and one round follows: either alone is wrong more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from sklearn.utils.extmath import randomized_svd

from unseen.rows.labelled import sampled
from unseen.statistics.adaptation import Assignment, Plan, State, adapt
from unseen.statistics.bystanders import (
    beside_bystanders,
    bystanders_of,
    plan_beside,
    smoothing_beside,
    widened,
)
from unseen.statistics.seen_model import TEMPERATURE, Task
from unseen.statistics.transduction import Setting, Transduction, measured, opened, with_shift
from unseen.typing import Array, Codes, RowValues

UNNAMED_SHARE = 0.25
"""Classes without a name, for each candidate. On three folds of the seen classes of eleven data sets,
0.2 and 0.35 are within half a point."""

ROUNDS_AGAIN = 4
"""Rounds after names were given anew (8 gain nothing)."""

LEAD_TO_KEEP = 1.0
"""How much more likely, in logarithms, another cluster must be by its votes to take the name of a
candidate (tried: 0.3, 1, 2, 3, and no votes)."""

SAMPLE_ROWS = 2000
"""Rows of the pool among which clusters are looked for, at most."""

LEAST_NEIGHBOURS = 3
"""Rows that lie close together, at least."""

LEAST_VOTE = -50.0
"""The logarithm of a probability is this at least: a row that a person labelled has others of zero."""


class Unnamed(NamedTuple):
    """Where rounds beside classes without a name ended."""

    state: State
    """Of candidates, bystanders, and classes without a name."""
    named: int
    """How many candidates there are."""
    others: int
    """How many bystanders."""

    @property
    def labels(self) -> Array:
        """The soft labels of candidates and bystanders."""
        return np.asarray(self.state.assignment.labels[:, : self.named + self.others])


def transduce_among_strangers(task: Task, X: RowValues, plan: Plan) -> Iterator[Transduction]:
    """Label a pool in which rows may belong to no candidate; yield the start and each round's end.

    First beside bystanders, then beside classes without a name as well; the last one is the blend.
    """
    statistics, setting = opened(task, X, bystanders_of(task.classes, task.own))
    beside = plan_beside(setting, plan)
    for last in with_shift(task, statistics, setting, beside_bystanders(setting, plan), beside):
        yield last.of_candidates()
    setting, state = last
    end = blended(setting, state, beside_unnamed(setting, state, plan), plan)
    yield Transduction(setting, end).of_candidates()


def beside_unnamed(setting: Setting, state: State, plan: Plan) -> Unnamed:
    """Run rounds beside classes without a name, name clusters by votes, and run some more."""
    L, others = len(setting.candidates.start), len(setting.bystanders)
    assert setting.candidates.predictor is not None
    points = far_points(setting, state, max(1, round(UNNAMED_SHARE * L)))
    # An error that all candidates share is as large again as their own, and so for unknown classes.
    variance = 2 * (1 + setting.candidates.predictor.process.ridge)
    center = setting.model.space.of_means(setting.model.means).mean(axis=0)
    prior = setting.prior.with_unnamed(center, variance, len(points))
    smoothing = smoothing_beside(L, others, len(points))
    rounds = Plan(tie=plan.tie, smoothing=smoothing, rounds=plan.rounds)
    start = _with_points(setting, state, points, L)
    *_, found = adapt(setting.pool, prior, start, rounds)
    order = named_by_votes(setting, found, L)
    renamed = found.assignment._replace(labels=np.asarray(found.assignment.labels)[:, order])
    again = rounds._replace(rounds=min(ROUNDS_AGAIN, plan.rounds))
    *_, found = adapt(setting.pool, prior, renamed, again)
    return Unnamed(found, L, others)


def blended(setting: Setting, state: State, unnamed: Unnamed, plan: Plan) -> State:
    """Run one round from the mean of the soft labels with and without classes without a name."""
    labels = (np.asarray(state.assignment.labels) + unnamed.labels) / 2
    last = plan_beside(setting, plan._replace(shares=None, rounds=1))
    *_, end = adapt(setting.pool, setting.prior, state.assignment._replace(labels=labels), last)
    return end


def far_points(setting: Setting, state: State, count: int) -> Array:
    """Return points where rows lie close together and far from the candidates of a state.

    A point is the mean of a row's nearest neighbours, half as many as a class has rows. The next one is
    that with the largest distance from all points so far, as a multiple of the neighbours' radius.
    """
    L = len(setting.candidates.start)
    X = np.asarray(sampled(setting.pool.X, SAMPLE_ROWS))
    space = replace(measured(setting.model.space, state.metric), scaling="none")
    Z = np.asarray(space(X), dtype=float)
    middle = Z.mean(axis=0)
    directions = min(2 * L, *Z.shape)
    _, _, basis = randomized_svd(Z - middle, directions, random_state=0)
    few, candidates = (Z - middle) @ basis.T, (state.points[:L] - middle) @ basis.T
    distances = cdist(few, few)
    size = min(max(LEAST_NEIGHBOURS, len(few) // (2 * (L + count))), len(few))
    neighbours = np.argsort(distances, axis=1, kind="stable")[:, :size]
    radius = np.take_along_axis(distances, neighbours[:, -1:], axis=1).ravel()
    local = few[neighbours].mean(axis=1)
    nearest, points = cdist(local, candidates).min(axis=1), []
    for _ in range(count):
        row = int((nearest / np.maximum(radius, 1e-9)).argmax())
        points.append(Z[neighbours[row]].mean(axis=0))
        nearest = np.minimum(nearest, cdist(local, local[row, None]).ravel())
    return np.array(points)


def named_by_votes(setting: Setting, state: State, candidates: int) -> Codes:
    """Return the order of classes in which each candidate comes first that rows voted for.

    A vote is the logarithm of a name's probability in the start; those of the rows of a cluster are
    averaged. Bystanders keep their places; clusters without a name follow them.
    """
    votes = np.maximum(log_softmax(np.asarray(setting.start_scores, dtype=float), axis=1), LEAST_VOTE)
    total, L = len(state.points), candidates
    hard = (np.asarray(state.assignment.scores) + state.assignment.biases).argmax(axis=1)
    rows = np.bincount(hard, minlength=total)
    sums = np.stack([np.bincount(hard, own, total) for own in votes.T])
    means = np.where(rows > 0, sums / np.maximum(rows, 1), 2 * LEAST_VOTE)
    bystanders = np.arange(L, L + len(setting.bystanders))
    clusters = np.setdiff1d(np.arange(total), bystanders)
    gain = means[:, clusters] + LEAD_TO_KEEP * np.eye(L, len(clusters))
    _, taken = linear_sum_assignment(-gain)
    return np.concatenate([clusters[taken], bystanders, np.delete(clusters, taken)])


def _with_points(setting: Setting, state: State, points: Array, candidates: int) -> Assignment:
    """Return soft labels of the classes of a state and, behind them, of new ones at these points."""
    start, metric = widened(state.assignment, len(points)), state.metric
    together = np.vstack([state.points, points])
    scores = setting.pool.scores(together, metric.root(together) / np.sqrt(TEMPERATURE))
    biases = np.log(state.totals[0] + 1e-9)
    biases = np.append(biases, np.full(len(points), np.median(biases[:candidates])))
    return start._replace(labels=softmax(np.asarray(scores, dtype=float) + biases, axis=1))
