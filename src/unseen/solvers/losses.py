"""Losses on scores: the adaptive structural cost of ASTE, and the ranking losses of the hinge family.

Each takes scores S (n × K) and the codes of the true classes, and returns the cost of each row with
a subgradient of the same shape as S. All but the weighted ranking are convex in S. The objective of
ASTE sums its cost over the rows.
"""

from __future__ import annotations

import numpy as np

from unseen.rows.passes import summed
from unseen.typing import Array, Codes, RowValues


def adaptive_structural_cost(scores: Array, codes: Codes) -> tuple[Array, Array]:
    """Cost of Eq. (12) and (13): Δ + F(x, f(x)) − F(x, y), with Δ = ‖g(x) − y‖² of Eq. (9).

    Examples
    --------
    The paper's Fig. 2: two rows that are right, one that is wrong.

    >>> g = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]])
    >>> cost, _ = adaptive_structural_cost(g, np.array([0, 0, 0]))
    >>> cost.round(12)
    array([0.14, 0.38, 1.16])
    """
    rows = np.arange(len(scores))
    error = scores.copy()
    error[rows, codes] -= 1
    best = scores.argmax(axis=1)
    cost = np.einsum("ij,ij->i", error, error) + scores[rows, best] - scores[rows, codes]
    gradient = 2 * error
    gradient[rows, best] += 1
    gradient[rows, codes] -= 1
    return cost, gradient


def structural_objective(
    X: RowValues,
    codes: object,
    A: Array,
    V: Array,
    C: float,
    mu: float,
    weights: object = None,
) -> float:
    """Return Eq. (11) for labelled rows, with the semantic ridge μ, in one pass.

    It is J(V) of :mod:`unseen.solvers.structural` without pseudo-labelled rows.
    """
    norm = float(np.square(V @ A).sum() + mu * np.square(V).sum())
    given = V.astype(X.dtype), A.astype(X.dtype), mu
    return C / 2 * norm + float(summed(_costs, X, codes, weights, given=given)[0])


def _costs(
    X: Array, codes: Codes, weights: Array | None, V: Array, A: Array, mu: float
) -> tuple[float]:
    embedded = X @ V
    cost, _ = adaptive_structural_cost(embedded @ A, codes)
    cost = cost + mu * np.square(embedded).sum(axis=1)
    return (float(cost.sum(dtype=float) if weights is None else cost @ weights),)


def structured_hinge(scores: Array, codes: Codes, margin: float | Array = 1.0) -> tuple[Array, Array]:
    """Cost of SJE: max over k of [ margin·1(k ≠ y) + F(x, k) − F(x, y) ].

    A table of margins (K × K, zero on its diagonal) gives each pair of classes its own: SynC's.
    """
    rows = np.arange(len(scores))
    violation = _augmented(scores, codes, margin)
    worst = violation.argmax(axis=1)
    cost = violation[rows, worst]
    gradient = np.zeros_like(scores)
    gradient[rows, worst] += 1
    gradient[rows, codes] -= 1
    return cost, gradient


def ranking_hinge(scores: Array, codes: Codes, margin: float = 1.0) -> tuple[Array, Array]:
    """Cost of DeViSE and LatEm: the sum over k ≠ y of max(0, margin + F(x, k) − F(x, y))."""
    violation = np.maximum(_augmented(scores, codes, margin), 0)
    return violation.sum(axis=1), _pulled((violation > 0).astype(scores.dtype), codes)


def weighted_ranking(scores: Array, codes: Codes, margin: float = 1.0) -> tuple[Array, Array]:
    """Cost of ALE: (β_r / r) Σ_{k ≠ y} max(0, margin + F(x, k) − F(x, y)), β_r = 1 + ½ + … + 1/r.

    r, the rank of y, is the number of classes that violate the margin. It is counted, not drawn, and
    held fixed in the gradient.
    """
    violation = np.maximum(_augmented(scores, codes, margin), 0)
    wrong = violation > 0
    rank = wrong.sum(axis=1)
    harmonic = np.cumsum(1 / np.arange(1, scores.shape[1] + 1))
    weight = np.where(rank > 0, harmonic[rank - 1] / np.maximum(rank, 1), 0).astype(scores.dtype)
    return violation.sum(axis=1) * weight, _pulled(weight[:, None] * wrong, codes)


def _augmented(scores: Array, codes: Codes, margin: float | Array) -> Array:
    """Return margin + F(x, k) − F(x, y); 0 for k = y."""
    rows = np.arange(len(scores))
    table = np.asarray(margin, dtype=scores.dtype)
    violation: Array = scores - scores[rows, codes][:, None]
    violation += table[codes] if table.ndim else table
    violation[rows, codes] = 0
    return violation


def _pulled(push: Array, codes: Codes) -> Array:
    """Return a gradient that pushes violators down and the true class up by as much."""
    push[np.arange(len(push)), codes] -= push.sum(axis=1)
    return push
