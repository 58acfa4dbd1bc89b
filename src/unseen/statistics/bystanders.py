"""A look for strangers: seen classes that are no candidates take the rows that are theirs.

Where rows of a pool may belong to no candidate, the detector of strangers labels the pool beside the
seen classes that are no candidates, its bystanders. They take what they explain better, and their share
is learned, with a prior near zero. Candidates have nearly equal shares, but none is imposed: equal ones
would make candidates take the rows of strangers. The answers of an estimator come from rounds without
bystanders: on folds of the seen classes of nine data sets, rounds beside them were 3.6 points less
accurate in pools without strangers, and 0.4 more accurate beside classes that nobody named
(``benchmarks/answers.py --folds --draws 2 --rows 60 --parts strangers``).
"""

from __future__ import annotations

import numpy as np

from unseen.statistics.adaptation import MIXED_SMOOTHING, Plan, adapt, start_of
from unseen.statistics.seen_model import Prior, SeenModel, candidates_of
from unseen.statistics.visual_space import Pool
from unseen.typing import Array, Codes

BYSTANDER_SHARE = 0.02
"""What all bystanders have together before any row is counted, as a share of the pool. Chosen, with
``MIXED_SMOOTHING`` for candidates, on three folds of the seen classes of eleven data sets, in pools
without strangers, with a fifth of unnamed classes and with a fifth of rows of seen classes (tried: 0.1
and 0.02 beside 0.3, 1 and 3, no bystanders, and equal shares)."""


def bystanders_of(classes: int, own: Codes) -> Codes:
    """Return the seen classes that are no candidates."""
    return np.setdiff1d(np.arange(classes), own)


def bystander_plan(candidates: int, bystanders: int) -> Plan:
    """Return rounds that learn the shares of candidates and of bystanders behind them."""
    total = candidates + bystanders
    smoothing = np.full(total, MIXED_SMOOTHING * total / candidates)
    smoothing[candidates:] = BYSTANDER_SHARE * total / max(bystanders, 1)
    return Plan(smoothing=smoothing)


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
    start = start_of(model, together, pool, plan)
    *_, end = adapt(pool, together.prior, start, plan)
    return prior, np.asarray(end.assignment.labels[:, :L], dtype=float)
