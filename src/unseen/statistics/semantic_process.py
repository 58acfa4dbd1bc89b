"""A Gaussian process from the semantics of a class to its mean.

    mₖ = b·tₖ + f(aₖ) + εₖ,    f ~ GP(0, κ ⊗ Σ),    ε ~ N(0, λ·I ⊗ Σ)

a is the vector of a class, m the mean of its rows, Σ a covariance over directions. κ is linear or
Gaussian, centred on the seen classes. t is the class vector itself as a row of features, where both
share one space; b is 0 where they do not. Kernel, ridge λ and b are those with the least
leave-one-class-out error, which has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from unseen.rows.kernels import Scaling, scaled
from unseen.typing import Array

WIDTHS: tuple[float | None, ...] = (None, 0.1, 0.3, 1.0)
"""γ of the Gaussian kernels exp(−γ‖a − a'‖²) that are tried, for vectors of unit mean square; None is
the linear kernel."""

RIDGES = 10.0 ** np.arange(-2.5, 0.76, 0.25)
"""Ridges that are tried, in units of the mean variance of the kernel."""

RIDGE_FACTOR = 0.7
"""The ridge taken, as a share of the one with the least error: it is chosen for one class left out, and
all seen classes are there in the end."""

RESIDUAL_SHRINKAGE = 0.8
"""How far the covariance of residuals shrinks to its mean. Chosen on folds of seen classes of nine data
sets (tried: 0.2, 0.5, 0.8, 0.9, 1)."""

LEAST_VARIANCE = 0.1
"""The share of a residual variance that is left when the sampling error of class means is taken off."""


@dataclass(frozen=True)
class ClassFeatures:
    """φ(a), of which predicted prototypes are an affine function.

    The entries of a for the linear kernel, or κ(a, anchor) for every seen class; then, in a shared
    space, the class vector as a row of features.
    """

    FILE_KEY = "class-features"

    anchors: Array | None
    """The vectors of the seen classes, (K, q); None for the linear kernel."""
    width: float
    """γ, for vectors as they are."""
    shared: bool
    scaling: Scaling
    """Of rows of features."""

    def __call__(self, vectors: Array) -> Array:
        """Return the features of classes, (L, f)."""
        first = np.asarray(vectors, dtype=float)
        if self.anchors is not None:
            first = np.exp(-self.width * cdist(first, self.anchors, "sqeuclidean"))
        return np.hstack([first, self.rows(vectors)]) if self.shared else first

    def rows(self, vectors: Array) -> Array:
        """Return class vectors as rows of features, (L, q)."""
        return scaled(np.asarray(vectors, dtype=float), self.scaling)


@dataclass(frozen=True)
class PrototypeMap:
    """The map from semantics to features: φ(vectors) @ coefᵀ + intercept."""

    FILE_KEY = "prototype-map"

    coef: Array
    intercept: Array
    ridge: float
    """λ in the units of the problem."""
    features: ClassFeatures | None = None
    """φ; None is the identity, and the map affine."""

    def __call__(self, vectors: Array) -> Array:
        """Return the prototypes of classes, (L, p)."""
        phi = vectors if self.features is None else self.features(vectors)
        return np.asarray(phi @ self.coef.T + self.intercept)


@dataclass(frozen=True)
class _Kernel:
    """A kernel on the seen classes, centred and of unit mean variance."""

    width: float | None
    row_means: Array
    mean: float
    variance: float
    values: Array
    basis: Array

    @classmethod
    def of(cls, A: Array, width: float | None) -> _Kernel | None:
        raw = _similarity(A, A, width)
        row_means, mean = raw.mean(axis=0), float(raw.mean())
        centred = raw - row_means - row_means[:, None] + mean
        variance = float(np.trace(centred)) / len(A)
        if not variance > 1e-12 * max(abs(mean), 1e-12):
            return None
        values, basis = np.linalg.eigh(centred / variance)
        return cls(width, row_means, mean, variance, np.maximum(values, 0), basis)

    def residual_maker(self, ridge: float) -> Array:
        """Return R with RM = the leave-one-class-out residuals of class means M, (K, K)."""
        R = (self.basis * (-self.values / (self.values + ridge))) @ self.basis.T
        R += np.eye(len(R)) - 1 / len(R)
        return np.asarray(R / np.maximum(np.diag(R), 1e-12)[:, None])


@dataclass(frozen=True)
class ErrorLaw:
    """Σ = V diag(s) Vᵀ + rest·(I − VVᵀ): how errors of prediction spread over directions."""

    basis: Array
    """V (p, r), orthonormal."""
    variances: Array
    """s (r,)."""
    rest: float


@dataclass(frozen=True)
class SemanticProcess:
    """The process, fitted to the seen classes."""

    features: ClassFeatures
    center: Array
    scale: float
    vectors: Array
    """The standardised vectors of the seen classes, (K, q)."""
    kernel: _Kernel
    ridge: float
    slope: float
    """b."""

    @property
    def inverse(self) -> Array:
        """(κ + λI)⁻¹ on the seen classes, (K, K)."""
        basis = self.kernel.basis
        return np.asarray((basis / (self.kernel.values + self.ridge)) @ basis.T)

    def coefficients(
        self, means: Array, rows: Array | None, basis: Array | None = None
    ) -> tuple[Array, Array]:
        """Return B and c of the prototypes m = φ(a)B + c, in the coordinates of ``means``.

        Parameters
        ----------
        means : array of shape (K, p)
            Class means.
        rows : array of shape (K, q), optional
            The seen class vectors as rows of features; used in a shared space.
        basis : array of shape (q, p), optional
            Brings rows of features into these coordinates; None: they are in them.
        """
        target = means if rows is None else means - self.slope * rows
        middle = target.mean(axis=0)
        G = self.inverse @ (target - middle) / self.kernel.variance
        constant = middle - self.kernel.row_means @ G
        if self.features.anchors is None:  # κ = ((a − center)/scale)·Aᵀ
            G = self.vectors.T @ G / self.scale
            constant = constant - self.center @ G
        if self.features.shared:
            turn = np.eye(means.shape[1]) if basis is None else basis
            G = np.vstack([G, self.slope * turn])
        return G, constant

    def covariance(self, vectors: Array) -> Array:
        """Return C (L, L): the covariance of the errors of prediction, over classes."""
        A, kernel = (vectors - self.center) / self.scale, self.kernel
        cross = _similarity(A, self.vectors, kernel.width)
        row_means = cross.mean(axis=1, keepdims=True)
        cross = (cross - row_means - kernel.row_means + kernel.mean) / kernel.variance
        C = (_similarity(A, A, kernel.width) - row_means - row_means.T + kernel.mean) / kernel.variance
        C = C - cross @ self.inverse @ cross.T + self.ridge / len(self.vectors)
        return np.asarray(C + self.ridge * np.eye(len(A)))

    def error_law(self, means: Array, rows: Array | None, counts: Array) -> ErrorLaw:
        """Estimate Σ from leave-one-class-out residuals, in the coordinates of ``means``.

        Shrunk towards isotropic, less the sampling error of means of so many rows.
        """
        target = means if rows is None else means - self.slope * rows
        spread = 1 / np.diag(self.inverse)
        residuals = self.kernel.residual_maker(self.ridge) @ target / np.sqrt(spread)[:, None]
        noise = float(np.mean(1 / np.maximum(counts, 1))) / float(spread.mean())
        K, p = residuals.shape
        values, U = np.linalg.eigh(residuals @ residuals.T)
        nonzero = values > 1e-9 * max(values[-1], 1e-300)
        values, U = values[nonzero], U[:, nonzero]
        mean = float(values.sum()) / K / p or 1.0
        shrunk = (1 - RESIDUAL_SHRINKAGE) * values / K + RESIDUAL_SHRINKAGE * mean
        rest = RESIDUAL_SHRINKAGE * mean
        return ErrorLaw(
            (residuals.T @ U) / np.sqrt(values),
            np.maximum(shrunk - noise, LEAST_VARIANCE * shrunk),
            max(rest - noise, LEAST_VARIANCE * rest),
        )


class Predictor(NamedTuple):
    """Prototypes m = φ(a)B + c in the coordinates of scaled rows, and the law of their errors."""

    process: SemanticProcess
    coef: Array
    """B (f, p)."""
    constant: Array
    law: ErrorLaw

    def __call__(self, vectors: Array) -> Array:
        """Return the prototypes of classes, (L, p)."""
        return np.asarray(self.process.features(vectors) @ self.coef + self.constant)

    def class_covariance(self, vectors: Array) -> Array:
        """Return the covariance of errors over classes; all may be shifted alike."""
        C = self.process.covariance(vectors)
        return np.asarray(C + float(np.diag(C).mean()))


def fit_process(vectors: Array, means: Array, rows: Array | None, scaling: Scaling) -> SemanticProcess:
    """Choose kernel, ridge and b by the leave-one-class-out error.

    Parameters
    ----------
    vectors : array of shape (K, q)
    means : array of shape (K, p)
        Class means in the metric in which errors count.
    rows : array of shape (K, p), optional
        The class vectors as rows of features, in the same coordinates, where features and semantics may
        share one space.
    scaling : {"none", "unit", "root"}
        Of rows of features.
    """
    center = vectors.mean(axis=0, dtype=float)
    A = vectors - center
    scale = float(np.sqrt(np.einsum("ij,ij->", A, A) / len(A))) or 1.0
    A = A / scale
    slopes = [0.0]
    if rows is not None:
        M, T = means - means.mean(axis=0), rows - rows.mean(axis=0)
        slopes.append(float((M * T).sum() / max(float((T * T).sum()), 1e-300)))
    targets = [means if rows is None else means - b * rows for b in slopes]
    grams = [target @ target.T for target in targets]
    best: tuple[float, _Kernel, float, float] | None = None
    kernels = [kernel for kernel in (_Kernel.of(A, width) for width in WIDTHS) if kernel is not None]
    for kernel in kernels:
        for ridge in RIDGES:
            R = kernel.residual_maker(float(ridge))
            for slope, gram in zip(slopes, grams, strict=True):
                error = float(((R @ gram) * R).sum())
                if best is None or error < best[0]:
                    best = error, kernel, float(ridge), slope
    if best is None:  # all classes have one vector: nothing can be predicted but the mean
        eye = np.eye(len(A))
        flat = _Kernel(None, np.zeros(len(A)), 0.0, 1.0, np.zeros(len(A)), eye)
        best = 0.0, flat, 1.0, 0.0
    _, kernel, ridge, slope = best
    chosen = ClassFeatures(
        None if kernel.width is None else np.asarray(vectors, dtype=float),
        0.0 if kernel.width is None else kernel.width / scale**2,
        slope != 0,
        scaling,
    )
    return SemanticProcess(chosen, center, scale, A, kernel, ridge * RIDGE_FACTOR, slope)


def _similarity(A: Array, B: Array, width: float | None) -> Array:
    if width is None:
        return np.asarray(A @ B.T)
    return np.asarray(np.exp(-width * cdist(A, B, "sqeuclidean")))
