"""Predicted prototypes: class means foretold by semantics, and how far off they will be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.prototypes import PrototypeMap

Array = npt.NDArray[Any]

RIDGES = 10.0 ** np.arange(-2.5, 0.6, 0.25)
"""Ridges tried, in units of the mean squared length of the centred semantics."""

RESIDUAL_SHRINKAGE = 0.5
"""How far the covariance of residuals shrinks to its mean. Chosen on folds of seen classes."""


@dataclass(frozen=True)
class Predictor:
    """Ridge regression from semantics to class means, and the law of its errors.

    The error of a class with vector a is normal with covariance c(a)·Σ, c being the variance of
    the equivalent Gaussian process: small among the seen classes, large far from them.
    """

    prototypes: PrototypeMap
    center: Array
    scale: float
    vectors: Array
    """The standardised semantics of the seen classes, (K, q)."""
    inverse: Array
    """(AAᵀ + λI)⁻¹ of those, (K, K)."""
    ridge: float
    basis: Array
    """V (p, r), orthonormal."""
    variances: Array
    """s (r,): Σ = V diag(s) Vᵀ + rest·(I − VVᵀ)."""
    rest: float

    def class_covariance(self, vectors: Array) -> Array:
        """Return C (L, L): the covariance, over classes, of the errors of prediction."""
        A = (vectors - self.center) / self.scale
        cross = A @ self.vectors.T
        C = A @ A.T - cross @ self.inverse @ cross.T + self.ridge / len(self.vectors)
        return np.asarray(C + self.ridge * np.eye(len(A)))


def fit_predictor(means: Array, counts: Array, vectors: Array) -> Predictor:
    """Fit the ridge with the least leave-one-class-out error, in closed form.

    Parameters
    ----------
    means : array of shape (K, p)
        Whitened class means.
    counts : array of shape (K,)
        Rows behind each mean, whose sampling error is no error of prediction.
    vectors : array of shape (K, q)
    """
    K = len(means)
    center = vectors.mean(axis=0).astype(float)
    A = vectors - center
    scale = float(np.sqrt(np.einsum("ij,ij->", A, A) / K)) or 1.0
    A = A / scale
    middle = means.mean(axis=0, dtype=float)
    M = means - middle
    values, U = np.linalg.eigh(A @ A.T)
    ridge, loo = _least_error(np.maximum(values, 0), U, M @ M.T)
    inverse = (U / (np.maximum(values, 0) + ridge)) @ U.T
    coef = (A.T @ (inverse @ M)).T / scale
    spread = 1 / np.diag(inverse)
    residuals = (loo @ M) / np.sqrt(spread)[:, None]
    noise = float(np.mean(1 / np.maximum(counts, 1))) / float(spread.mean())
    law = _residual_law(residuals, noise, means.dtype)
    affine = PrototypeMap(coef, middle - coef @ center, ridge)
    return Predictor(affine, center, scale, A, inverse, ridge, *law)


def _least_error(values: Array, U: Array, gram: Array) -> tuple[float, Array]:
    """Return the best ridge, and the matrix that takes class means to leave-one-out residuals."""
    K = len(values)
    best: tuple[float, float, Array] | None = None
    for ridge in RIDGES:
        R = np.eye(K) - (U * (values / (values + ridge))) @ U.T - 1 / K
        R /= np.maximum(np.diag(R), 1e-12)[:, None]
        error = float(((R @ gram) * R).sum())
        if best is None or error < best[0]:
            best = (error, float(ridge), R)
    assert best is not None
    return best[1], best[2]


def _residual_law(residuals: Array, noise: float, dtype: Any) -> tuple[Array, Array, float]:
    """Return V, s and rest: the shrunk covariance of residuals, less the sampling error."""
    K, p = residuals.shape
    values, U = np.linalg.eigh(residuals @ residuals.T)
    keep = values > 1e-9 * max(values[-1], 1e-300)
    values, U = values[keep], U[:, keep]
    V = (residuals.T @ U) / np.sqrt(values)
    mean = float(values.sum()) / K / p or 1.0
    shrunk = (1 - RESIDUAL_SHRINKAGE) * values / K + RESIDUAL_SHRINKAGE * mean
    rest = RESIDUAL_SHRINKAGE * mean
    return (
        V.astype(dtype),
        np.maximum(shrunk - noise, 0.1 * shrunk).astype(dtype),
        max(rest - noise, 0.1 * rest),
    )
