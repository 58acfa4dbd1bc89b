"""Whitening: features in which every direction varies alike within a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unseen.rows.passes import blocks
from unseen.solvers.cholesky import lower_factor, lower_inverse, lower_solver
from unseen.typing import Array

LEAST_SHRINKAGE = 0.2
"""Chosen on folds of seen classes of four data sets: the estimate of OAS alone is too small there,
because the classes to come do not share the covariance of those seen."""

FEWEST_FEATURES = 64
"""Columns below which rows keep their length: in few dimensions it tells classes apart."""


Scaling = Literal["none", "unit", "root"]
"""What becomes of rows first: nothing, unit length, or signed square roots at unit length."""


def scaled(X: Array, scaling: Scaling) -> Array:
    """Return scaled rows; a zero row stays zero."""
    if scaling == "none":
        return X
    if scaling == "root":
        return power_normalise(X)
    length = np.sqrt(np.einsum("ij,ij->i", X, X))
    return np.asarray(X / np.where(length > 0, length, 1)[:, None])


def power_normalise(X: Array) -> Array:
    """Return sgn(x)·√|x| of every entry, rows scaled to unit length; a zero row stays zero.

    >>> power_normalise(np.array([[9.0, -16.0], [0.0, 0.0]]))
    array([[ 0.6, -0.8],
           [ 0. ,  0. ]])
    """
    rooted = np.abs(X)
    np.sqrt(rooted, out=rooted)
    np.copysign(rooted, X, out=rooted)
    length = np.sqrt(np.einsum("ij,ij->i", rooted, rooted))
    rooted /= np.where(length > 0, length, 1)[:, None]
    return np.asarray(rooted)


def oas_shrinkage(scatter: Array, freedom: float) -> float:
    """Return how far a covariance should shrink to its mean variance, in [0, 1].

    Y. Chen, A. Wiesel, Y. Eldar and A. Hero, "Shrinkage algorithms for MMSE covariance estimation",
    IEEE Transactions on Signal Processing 2010, Eq. (23): the oracle approximating shrinkage.
    """
    p = len(scatter)
    square, trace = float(np.vdot(scatter, scatter)), float(np.trace(scatter)) ** 2
    spread = (max(freedom, 1.0) + 1 - 2 / p) * (square - trace / p)
    return 1.0 if spread <= 0 else min(1.0, ((1 - 2 / p) * square + trace) / spread)


@dataclass(frozen=True)
class Whitening:
    """The map x → L⁻¹(x − center), where LLᵀ is the shrunk within-class covariance."""

    center: Array
    lower: Array
    shrinkage: float

    @classmethod
    def of(
        cls, scatter: Array, freedom: float, center: Array, shrinkage: float | None, dtype: Any
    ) -> Whitening:
        """Factor (1 − α)S + α·(tr S/p)·I.

        Parameters
        ----------
        scatter : array of shape (p, p)
            The within-class scatter.
        freedom : float
            Rows less classes: S = scatter / freedom.
        center : array of shape (p,)
        shrinkage : float in [0, 1], optional
            α; None takes the larger of OAS and ``LEAST_SHRINKAGE``.
        dtype : dtype
            Of the factor, and so of the rows that it whitens.
        """
        p = len(scatter)
        if shrinkage is None:
            shrinkage = max(oas_shrinkage(scatter, freedom), LEAST_SHRINKAGE)
        S = scatter / max(freedom, 1.0)
        variance = float(np.trace(S)) / p
        if not variance > 0:  # every class has one row, or rows all alike
            S, variance, shrinkage = np.zeros_like(S), 1.0, 1.0
        S *= 1 - shrinkage
        S[np.diag_indices(p)] += max(shrinkage, 10 * np.finfo(dtype).eps) * variance
        return cls(center.astype(dtype), lower_factor(S.astype(dtype)), shrinkage)

    def inverse(self) -> Array:
        """Return L⁻¹, (p, p)."""
        return lower_inverse(self.lower)

    def __call__(self, X: Array) -> Array:
        """Return the whitened rows, (N, p)."""
        solve = lower_solver(self.lower)
        out = np.empty(X.shape, dtype=self.lower.dtype)
        for rows in blocks(len(X)):
            out[rows] = solve((X[rows] - self.center).T).T
        return out
