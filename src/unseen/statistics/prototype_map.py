"""Class prototypes: where a class with given semantics lies among the features."""

from __future__ import annotations

import numpy as np

from unseen.statistics.semantic_process import PrototypeMap
from unseen.typing import Array

RIDGE_GRID = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

LEAVE_ONE_OUT_RIDGES = 10.0 ** np.arange(-2.5, 0.6, 0.25)
"""Ridges tried, in units of the mean squared length of the centred semantics."""


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


def least_error_map(means: Array, vectors: Array) -> PrototypeMap:
    """Return the ridge regression of class means on semantics with the least leave-one-out error."""
    K = len(means)
    center, middle = vectors.mean(axis=0, dtype=float), means.mean(axis=0, dtype=float)
    A, M = vectors - center, means - middle
    scale = float(np.sqrt(np.einsum("ij,ij->", A, A) / K)) or 1.0
    A = A / scale
    values, U = np.linalg.eigh(A @ A.T)
    values, gram = np.maximum(values, 0), M @ M.T
    errors = []
    for ridge in LEAVE_ONE_OUT_RIDGES:
        R = np.eye(K) - (U * (values / (values + ridge))) @ U.T - 1 / K
        R /= np.maximum(np.diag(R), 1e-12)[:, None]
        errors.append(float(((R @ gram) * R).sum()))
    ridge = float(LEAVE_ONE_OUT_RIDGES[int(np.argmin(errors))])
    coef = (A.T @ ((U / (values + ridge)) @ (U.T @ M))).T / scale
    return PrototypeMap(coef, middle - coef @ center, ridge)


def nearest_scores(X: Array, prototypes: Array) -> Array:
    """Return −‖x − m‖² for each row and prototype, (N, L), in the dtype of X."""
    M = prototypes.astype(X.dtype)
    scores = X @ (2 * M.T)
    scores -= np.einsum("ij,ij->i", M, M)
    scores -= np.einsum("ij,ij->i", X, X)[:, None]
    return np.asarray(scores)
