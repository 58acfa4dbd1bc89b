"""Losses on scores: the adaptive structural cost of ASTE, and the fixed-margin hinge of SJE.

Each takes scores S (n × K) and the codes of the true classes, and returns the cost of each row with
a subgradient of the same shape as S. Both are convex in S.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.rows import Codes

Array = npt.NDArray[Any]


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


def structured_hinge(scores: Array, codes: Codes, margin: float = 1.0) -> tuple[Array, Array]:
    """Cost of SJE: max over k of [ margin·1(k ≠ y) + F(x, k) − F(x, y) ]."""
    rows = np.arange(len(scores))
    violation = scores + np.asarray(margin, dtype=scores.dtype)
    violation[rows, codes] -= np.asarray(margin, dtype=scores.dtype)
    worst = violation.argmax(axis=1)
    cost = violation[rows, worst] - scores[rows, codes]
    gradient = np.zeros_like(scores)
    gradient[rows, worst] += 1
    gradient[rows, codes] -= 1
    return cost, gradient


def pseudo_label_loss(scores: Array, codes: Codes) -> Array:
    """Loss of Eq. (16): ‖f(x) − g(x)‖², for the labels f that ``codes`` gives."""
    rows = np.arange(len(scores))
    loss: Array = np.einsum("ij,ij->i", scores, scores) - 2 * scores[rows, codes] + 1
    return loss
