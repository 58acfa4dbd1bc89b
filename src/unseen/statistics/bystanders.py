"""Rounds beside bystanders: seen classes that are no candidates take the rows that are theirs.

Where rows of a pool may belong to no candidate, the seen classes that are no candidates stand beside
the candidates, where their labelled rows put them. They take what they explain better, and their share
is learned, with a prior near zero. Candidates have nearly equal shares, but none is imposed: equal ones
would make candidates take the rows of strangers.

Such rounds tell strangers. They also answer better on many pools, and worse where only imposed shares
keep uncertain names apart, or where unseen classes are hard to tell from seen ones: rehearsals choose
(:mod:`unseen.statistics.strangers`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unseen.statistics.adaptation import (
    MIXED_SMOOTHING,
    ROUNDS,
    Assignment,
    Plan,
    State,
    Transduction,
    adapt,
    start_of,
    transduce,
)
from unseen.statistics.seen_model import Prior, SeenModel, Task, candidates_of
from unseen.statistics.visual_space import Pool
from unseen.typing import Array, Codes, RowValues

BYSTANDER_SHARE = 0.02
"""What all bystanders have together before any row is counted, as a share of the pool. Chosen, with
``MIXED_SMOOTHING`` for candidates, on three folds of the seen classes of eleven data sets, in pools
without strangers, with a fifth of unnamed classes and with a fifth of rows of seen classes (tried: 0.1
and 0.02 beside 0.3, 1 and 3, no bystanders, and equal shares)."""


def bystanders_of(classes: int, own: Codes) -> Codes:
    """Return the seen classes that are no candidates."""
    return np.setdiff1d(np.arange(classes), own)


def bystander_plan(candidates: int, bystanders: int, rounds: int = ROUNDS) -> Plan:
    """Return rounds that learn the shares of candidates and of bystanders behind them."""
    total = candidates + bystanders
    smoothing = np.full(total, MIXED_SMOOTHING * total / candidates)
    smoothing[candidates:] = BYSTANDER_SHARE * total / max(bystanders, 1)
    return Plan(smoothing=smoothing, rounds=rounds)


def labels_beside_bystanders(
    model: SeenModel, pool: Pool, vectors: Array, own: Codes
) -> tuple[Prior, Array]:
    """Label a pool; return the prior of the candidates and their soft labels, (N, L).

    The labels of a row sum to its probability of belonging to no bystander.
    """
    assert model.vectors is not None
    others, L = bystanders_of(len(model.vectors), own), len(own)
    prior = candidates_of(model, vectors, own).prior
    all_vectors = np.concatenate([vectors, model.vectors[others]])
    together = candidates_of(model, all_vectors, np.concatenate([own, others]))
    plan = bystander_plan(L, len(others))
    start = start_of(model, together, pool, None, plan.smoothing)
    *_, end = adapt(pool, together.prior, start, plan)
    return prior, np.asarray(end.assignment.labels[:, :L], dtype=float)


def transduce_beside_bystanders(task: Task, X: RowValues, plan: Plan) -> Iterator[Transduction]:
    """Label the rows of a pool in memory; yield the start and where each round ended.

    Of the plan, the number of rounds counts alone.
    """
    assert task.seen_vectors is not None
    others, L = bystanders_of(task.classes, task.own), len(task.own)
    vectors = np.concatenate([task.vectors, task.seen_vectors[others]])
    together = task._replace(vectors=vectors, own=np.concatenate([task.own, others]))
    for stage in transduce(together, X, bystander_plan(L, len(others), plan.rounds)):
        yield stage._replace(state=among_candidates(stage.state, L))


def among_candidates(state: State, candidates: int) -> State:
    """Return a state without the bystanders: soft labels are those among the candidates."""
    scores, biases, labels, energy = state.assignment
    labels = labels[:, :candidates]
    labels = labels / np.maximum(labels.sum(axis=1, keepdims=True), np.finfo(labels.dtype).tiny)
    own = Assignment(scores[:, :candidates], biases[:candidates], labels, energy)
    mass, sums = (total[:candidates] for total in state.totals)
    step = replace(state.step, covered=int((mass >= 0.5).sum()))
    return State(state.points[:candidates], state.metric, own, (mass, sums), step)
