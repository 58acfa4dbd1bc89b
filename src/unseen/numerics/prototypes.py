"""Class prototypes: where a class with given semantics lies among the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RIDGE_GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class PrototypeMap:
    """The affine map from semantics to features: vectors @ coefᵀ + intercept."""

    coef: Array
    intercept: Array
    ridge: float
    """λ in the units of the problem."""

    def __call__(self, vectors: Array) -> Array:
        """Return the prototypes of classes, (L, p)."""
        return np.asarray(vectors @ self.coef.T + self.intercept)


def prototype_map(
    sums: Array, counts: Array, vectors: Array, ridge: float, absolute: bool = False
) -> PrototypeMap:
    """Solve min Σₙ ‖xₙ − B aᵧₙ − b‖² + λ‖B‖² from class sums.

    Parameters
    ----------
    sums : array of shape (p, K)
        The sum of the rows of each class.
    counts : array of shape (K,)
    vectors : array of shape (K, q)
    ridge : float
        λ; in units of the mean eigenvalue of the weighted semantic scatter unless ``absolute``.
    """
    total = counts.sum()
    center = counts @ vectors / total
    mean = sums.sum(axis=1) / total
    A = (vectors - center).astype(float)
    weighted = A * counts[:, None]
    H = A.T @ weighted
    scale = max(float(np.trace(H)) / len(H), np.finfo(float).tiny)
    lam = ridge if absolute else ridge * scale
    H[np.diag_indices_from(H)] += max(lam, 1e-10 * scale)
    coef = np.linalg.solve(H, (sums - np.outer(mean, counts)).dot(A).T).T
    return PrototypeMap(coef, mean - coef @ center, lam)


def nearest_scores(X: Array, prototypes: Array) -> Array:
    """Return −‖x − m‖² for each row and prototype, (N, L), in the dtype of X."""
    M = prototypes.astype(X.dtype)
    scores = X @ (2 * M.T)
    scores -= np.einsum("ij,ij->i", M, M)
    scores -= np.einsum("ij,ij->i", X, X)[:, None]
    return np.asarray(scores)
