"""The squared hinge by repeated ridge regression: no step size, and the objective never rises.

    (1 − t·s)²₊ ≤ (t·max(1, t·s₀) − s)²      with equality at s = s₀, for t = ±1

so that a ridge regression on the stretched targets t·max(1, t·s₀) lowers the squared hinge. All rounds
share one factorisation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from unseen.typing import Array, Codes


def match_signs(codes: Codes, classes: int, dtype: npt.DTypeLike) -> Array:
    """Return +1 for the class of a row and −1 for all others, (N, classes)."""
    signs = np.full((len(codes), classes), -1, dtype=dtype)
    signs[np.arange(len(codes)), codes] = 1
    return signs


def stretched(signs: Array, scores: Array) -> Array:
    """Return targets that leave alone what is beyond the margin."""
    return np.where(signs * scores > 1, scores, signs)


def squared_hinge(signs: Array, scores: Array, weights: Array | None = None) -> float:
    """Return Σ (1 − t·s)²₊ over rows and classes."""
    lost = np.maximum(1 - signs * scores, 0) ** 2
    total = lost.sum(axis=1, dtype=float)
    return float(total.sum() if weights is None else total @ weights)


def fit_squared_hinge(
    signs: Array, regress: Callable[[Array], Array], score: Callable[[Array], Array], rounds: int
) -> Array:
    """Return the parameters after ``rounds`` regressions; ``regress`` maps targets to parameters."""
    parameters = regress(signs)
    for _ in range(rounds - 1):
        parameters = regress(stretched(signs, score(parameters)))
    return parameters
