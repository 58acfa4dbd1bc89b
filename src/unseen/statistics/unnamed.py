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

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from sklearn.utils.extmath import randomized_svd

from unseen.rows.labelled import sampled
from unseen.statistics.adaptation import (
    Assignment,
    Plan,
    State,
    Transduction,
    adapt,
    measured,
    transduce,
)
from unseen.statistics.bystanders import Bystanders, alone, smoothing_beside, widened
from unseen.statistics.seen_model import TEMPERATURE, Prior, Task
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


def transduce_among_strangers(task: Task, X: RowValues, plan: Plan) -> Iterator[Transduction]:
    """Label a pool in which rows may belong to no candidate; yield the start and each round's end.

    First alone, then beside bystanders, then beside classes without a name too; the last is the blend.
    """
    bystanders = Bystanders.of(task.classes, task.own)
    for last in transduce(task, X, alone(plan)):
        yield last
    for state in bystanders.join(last, plan):
        last = last._replace(state=state)
        yield of_candidates(last)
    yield of_candidates(blended(last, beside_unnamed(last, bystanders, plan), bystanders, plan))


def of_candidates(at: Transduction) -> Transduction:
    """Return the same without the classes beside the candidates."""
    L, state = len(at.candidates.start), at.state
    (scores, biases, labels, energy), (mass, sums) = state.assignment, state.totals
    few = Assignment(scores[:, :L], biases[:L], labels[:, :L], energy)
    totals = mass[:L], sums[:L]
    return at._replace(state=state._replace(points=state.points[:L], assignment=few, totals=totals))


def beside_unnamed(at: Transduction, bystanders: Bystanders, plan: Plan) -> State:
    """Run rounds beside classes without a name, name clusters by votes, and run some more.

    The state that is returned has the candidates, the bystanders, and then the classes without a name.
    """
    L, others = len(at.candidates.start), len(bystanders.classes)
    points = far_points(at, max(1, round(UNNAMED_SHARE * L)))
    prior = with_unnamed(bystanders.prior(at.model, at.candidates), at, len(points))
    smoothing = smoothing_beside(L, others, len(points))
    rounds = Plan(tie=plan.tie, smoothing=smoothing, rounds=plan.rounds)
    *_, found = adapt(at.pool, prior, _with_points(at, points), rounds)
    labels = np.asarray(found.assignment.labels)[:, named_by_votes(at, found, others)]
    again = rounds._replace(rounds=min(ROUNDS_AGAIN, plan.rounds))
    *_, found = adapt(at.pool, prior, found.assignment._replace(labels=labels), again)
    return found


def with_unnamed(prior: Prior, at: Transduction, count: int) -> Prior:
    """Return the prior of these classes and, behind them, of others of which nothing is known.

    They lie about the middle of the seen classes. As an error that all candidates share is taken to be
    as large again as those of each, so is the spread of classes.
    """
    predictor, L = at.candidates.predictor, len(prior.covariance)
    ridge = 0.0 if predictor is None else predictor.process.ridge
    center = at.model.space.of_means(at.model.means).mean(axis=0)
    covariance = np.diag(np.full(L + count, 2 * (1 + ridge)))
    covariance[:L, :L] = prior.covariance
    prototypes = np.vstack([prior.prototypes, np.tile(center, (count, 1))])
    own = np.append(prior.own, np.zeros(count))
    return replace(prior, prototypes=prototypes, own=own, covariance=covariance)


def blended(at: Transduction, unnamed: State, bystanders: Bystanders, plan: Plan) -> Transduction:
    """Run one round from the mean of the soft labels with and without classes without a name."""
    before = at.state.assignment
    classes = np.asarray(before.labels).shape[1]
    labels = (np.asarray(before.labels) + unnamed.assignment.labels[:, :classes]) / 2
    last = bystanders.plan(plan._replace(shares=None, rounds=1), len(at.candidates.start))
    prior = bystanders.prior(at.model, at.candidates)
    *_, end = adapt(at.pool, prior, before._replace(labels=labels), last)
    return at._replace(state=end)


def far_points(at: Transduction, count: int) -> Array:
    """Return points where rows lie close together and far from the candidates of a state.

    A point is the mean of a row's nearest neighbours, half as many as a class has rows. The next one is
    that with the largest distance from all points so far, as a multiple of the neighbours' radius.
    """
    L, state = len(at.candidates.start), at.state
    X = np.asarray(sampled(at.pool.X, SAMPLE_ROWS))
    space = replace(measured(at.model.space, state.metric), scaling="none")
    Z = np.asarray(space(X), dtype=float)
    middle = Z.mean(axis=0)
    directions = min(2 * L, *Z.shape)
    # Not transposed, so that what is random belongs to columns: rows may come in any order.
    _, _, basis = randomized_svd(Z - middle, directions, transpose=False, random_state=0)
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


def named_by_votes(at: Transduction, state: State, bystanders: int) -> Codes:
    """Return the order of classes in which each candidate comes first that rows voted for.

    A vote is the logarithm of a name's probability in the start; those of the rows of a cluster are
    averaged. As two clusters may be sure of one name, a candidate prefers that where its scores are
    highest: from the vote of a cluster is taken how far below they are, in units of the median.
    Bystanders keep their places; clusters without a name follow them.
    """
    start = replace(at.pool, space=at.model.start_space).scores(at.candidates.start)
    scores, total = np.asarray(start, dtype=float), len(state.points)
    hard = (np.asarray(state.assignment.scores) + state.assignment.biases).argmax(axis=1)
    L, rows = scores.shape[1], np.bincount(hard, minlength=total)
    beside = np.arange(L, L + bystanders)
    clusters = np.setdiff1d(np.arange(total), beside)
    filled = np.flatnonzero(rows[clusters])
    if not len(filled):
        return np.arange(total)

    def means(values: Array) -> Array:
        sums = np.stack([np.bincount(hard, own, total) for own in values.T])
        return np.asarray((sums / np.maximum(rows, 1))[:, clusters[filled]])

    votes, fits = means(np.maximum(log_softmax(scores, axis=1), LEAST_VOTE)), means(scores)
    fits -= fits.max(axis=1, keepdims=True)
    votes += fits / max(-float(np.median(fits)), 1e-9)
    gain = np.full((L, len(clusters)), votes.min() + LEAST_VOTE)
    gain[:, filled] = votes
    _, taken = linear_sum_assignment(-gain - LEAD_TO_KEEP * np.eye(L, len(clusters)))
    return np.concatenate([clusters[taken], beside, np.delete(clusters, taken)])


def _with_points(at: Transduction, points: Array) -> Assignment:
    """Return soft labels of the classes of a state and, behind them, of new ones at these points."""
    state, metric = at.state, at.state.metric
    together = np.vstack([state.points, points])
    scores = at.pool.scores(together, metric.root(together) / np.sqrt(TEMPERATURE))
    biases = np.log(state.totals[0] + 1e-9)
    middle = np.median(biases[: len(at.candidates.start)])
    biases = np.append(biases, np.full(len(points), middle))
    labels = softmax(np.asarray(scores, dtype=float) + biases, axis=1)
    return widened(state.assignment, len(points))._replace(labels=labels)
