"""A visual space: how a row, or a pool, is transformed before it is compared with prototypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from unseen.rows import kernels
from unseen.rows.kernels import Scaling
from unseen.rows.known import Known
from unseen.rows.labelled import Rows
from unseen.rows.passes import between_factor, blocks, kept, mapped, summed
from unseen.solvers.moments import MOST_NUMPY_COLUMNS
from unseen.statistics.scorer import Affine, SignedRoot, Step, UnitLength
from unseen.typing import Array, RowValues

LEAST_OAS_SHRINKAGE = 0.2
"""Chosen on folds of seen classes of four data sets: the estimate of OAS alone is too small there,
because the classes to come do not share the covariance of those seen."""

FEWEST_FEATURES = 64
"""Columns below which rows keep their length: in few dimensions it tells classes apart."""

SCALED_ROWS = 1024
"""Rows of a block that is scaled: that makes several copies of it."""

MATRIX_ROWS = 512
"""Rows or columns of a p × p matrix that are worked on at a time: a second one in double precision may
be too much."""

NEGATIVE_SHARE = 0.2
"""The share of negative entries in the sum of absolute values from which features count as signed.
Embeddings and principal components have about a half, activations and counts nearly none."""


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
    inverse: Array
    """L⁻¹, (p, p)."""
    shrinkage: float

    @classmethod
    def of(
        cls,
        scatter: Array,
        freedom: float,
        center: Array,
        shrinkage: float | None,
        dtype: npt.DTypeLike,
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
            α; None takes the larger of OAS and ``LEAST_OAS_SHRINKAGE``.
        dtype : dtype
            Of the factor, and so of the rows that it whitens.
        """
        p, dtype = len(scatter), np.dtype(dtype)
        if shrinkage is None:
            shrinkage = max(oas_shrinkage(scatter, freedom), LEAST_OAS_SHRINKAGE)
        diagonal = scatter.diagonal() / max(freedom, 1.0)
        variance = float(diagonal.sum()) / p
        if not variance > 0:  # every class has one row, or rows all alike
            scatter, diagonal, variance, shrinkage = np.zeros_like(scatter), np.zeros(p), 1.0, 1.0
        S = np.empty((p, p), dtype)
        for rows in blocks(p, MATRIX_ROWS):
            S[rows] = scatter[rows] / max(freedom, 1.0) * (1 - shrinkage)
        ridge = max(shrinkage, 10 * float(np.finfo(dtype).eps)) * variance
        S[np.diag_indices(p)] = diagonal * (1 - shrinkage) + ridge
        return cls(center.astype(dtype), inverse_factor(S), shrinkage)


def inverse_factor(G: Array) -> Array:
    """Return L⁻¹, where L is the Cholesky factor of G = LLᵀ; a large G is overwritten."""
    if len(G) <= MOST_NUMPY_COLUMNS:
        return np.linalg.inv(np.linalg.cholesky(G))
    L = linalg.cholesky(G, lower=True, check_finite=False, overwrite_a=True)
    eye = np.eye(len(L), dtype=L.dtype, order="F")  # LAPACK's order, so that it can be overwritten
    solved = linalg.solve_triangular(L, eye, lower=True, check_finite=False, overwrite_b=True)
    return np.asarray(solved)


@dataclass(frozen=True)
class Space:
    """The map x → (x − center) M, of rows that are scaled first."""

    FILE_KEY = "space"

    scaling: Scaling
    center: Array
    matrix: Array | None
    """M (p, d); None is the identity."""

    @property
    def full_matrix(self) -> Array:
        """M, also where it is the identity."""
        return np.eye(len(self.center)) if self.matrix is None else self.matrix

    def __call__(self, X: Array) -> Array:
        """Return the rows in this space, (N, d), in their dtype."""
        width = X.shape[1] if self.matrix is None else self.matrix.shape[1]
        out = np.empty((len(X), width), dtype=X.dtype)
        center = self.center.astype(X.dtype)
        matrix = None if self.matrix is None else self.matrix.astype(X.dtype)
        for rows in blocks(len(X), SCALED_ROWS):
            block = scaled_rows(X[rows], self.scaling) - center
            out[rows] = block if matrix is None else block @ matrix
        return out

    def turned_in_double(self, A: Array) -> Array:
        """Return AM in double precision; M is converted some columns at a time."""
        if self.matrix is None:
            return A
        out = np.empty((len(A), self.matrix.shape[1]))
        for columns in blocks(self.matrix.shape[1], MATRIX_ROWS):
            out[:, columns] = A @ self.matrix[:, columns]
        return out

    def of_means(self, means: Array) -> Array:
        """Return class means of scaled rows, in this space."""
        return self._turned(means - self.center)

    def of_sums(self, sums: Array, mass: Array) -> Array:
        """Return sums of scaled rows, one for each class with its mass, in this space, (L, d)."""
        return self._turned(sums - mass[:, None] * self.center)

    def weights(self, directions: Array) -> Array:
        """Return w with x·w = z·direction up to a constant, (L, p)."""
        if self.matrix is None:
            return directions
        return np.asarray(directions.astype(self.matrix.dtype) @ self.matrix.T, dtype=float)

    def _turned(self, centred: Array) -> Array:
        """Multiply by M; in the precision of M, since a copy of it costs more than the product."""
        if self.matrix is None:
            return np.asarray(centred)
        return np.asarray(centred.astype(self.matrix.dtype) @ self.matrix, dtype=float)

    def then(self, matrix: Array) -> Space:
        """Return the space with another matrix."""
        return Space(self.scaling, self.center, matrix)

    def steps(self) -> tuple[Step, ...]:
        """Return the same as steps of a scorer."""
        ones = np.ones(len(self.center))
        affine = Affine(self.center, ones if self.matrix is None else self.matrix)
        return *scaling_steps(self.scaling), affine


@dataclass(frozen=True)
class Pool:
    """Unlabelled rows, in memory or in chunks; only sums and scores are computed from them."""

    X: RowValues
    """Rows, scaled as those of the space."""
    space: Space
    """The whitened space of z; rows never enter it, class means are brought out of it."""
    known: Known | None = None

    def __len__(self) -> int:
        return len(self.X)

    def scores(self, points: Array, directions: Array | None = None) -> Any:
        """Return scores z·direction − ½‖point‖², (N, L); known rows have that of their class alone."""
        weights = self.space.weights(points if directions is None else directions)
        constant = -(weights @ self.space.center) - 0.5 * np.einsum("ij,ij->i", points, points)
        dtype = self.X.dtype
        given = weights.T.astype(dtype), constant.astype(dtype)
        S = mapped(kernels.affine, self.X, given=given)
        return kept(S if self.known is None else self.known.clamp_scores(S))

    def totals(self, labels: object) -> tuple[Array, Array]:
        """Return the mass of each class and its sum Qᵀz."""
        mass, sums = summed(kernels.soft_sums, self.X, labels)
        return mass, self.space.of_sums(sums, mass)


def space_scores(space: Space, X: Array, points: Array, offsets: Array) -> Array:
    """Return the scores z·μ − ½‖μ‖² + offset of rows that are not in the space yet, block by block."""
    out = np.empty((len(X), len(points)), dtype=X.dtype)
    for rows in blocks(len(X), SCALED_ROWS):
        out[rows] = prototype_scores(space(X[rows]), points) + offsets
    return out


def prototype_scores(Z: Array, prototypes: Array) -> Array:
    """Return z·μ − ½‖μ‖², the log-likelihood of each class up to a constant that all classes share."""
    return np.asarray(Z @ prototypes.T - 0.5 * np.einsum("ij,ij->i", prototypes, prototypes))


def within_class_scatter(second_moments: Array, sums: Array, counts: Array) -> Array:
    """Turn XᵀX into Σₖ Σₙ∈ₖ (xₙ − mₖ)(xₙ − mₖ)ᵀ, by the class sums (p, K) and the class sizes."""
    return less_square(second_moments, between_factor(sums, counts))


def less_square(M: Array, factor: Array) -> Array:
    """Turn M into M − FFᵀ."""
    for rows in blocks(len(M), MATRIX_ROWS):
        M[rows] -= factor[rows] @ factor.T
    return M


@dataclass(frozen=True)
class SeenStatistics:
    """The sums over labelled rows that spaces and predictors are computed from."""

    scaling: Scaling
    scatter: Array
    """Within classes, (p, p)."""
    sums: Array
    """(p, K)."""
    counts: Array
    pool_rows: int = 0
    """Rows of the pool whose scatter about their classes is in it."""

    @property
    def means(self) -> Array:
        """The class means, (K, p)."""
        return np.asarray((self.sums / self.counts).T)

    @property
    def freedom(self) -> float:
        """Rows less classes."""
        return float(self.counts.sum()) - len(self.counts) + self.pool_rows

    def whitened(self, shrinkage: float | None, dtype: npt.DTypeLike) -> Space:
        """Return the space in which every direction varies alike within a class."""
        center = self.means.mean(axis=0)
        whitening = Whitening.of(self.scatter, self.freedom, center, shrinkage, dtype)
        return Space(self.scaling, whitening.center, np.ascontiguousarray(whitening.inverse.T))

    def plain(self, dtype: npt.DTypeLike) -> Space:
        """Return the features as they are, about the mean of the class means."""
        return Space(self.scaling, self.means.mean(axis=0).astype(dtype), None)


def seen_statistics(rows: Rows, classes: int, scaling: Scaling) -> SeenStatistics:
    """Take the sums block by block, in one pass: nothing of the size of X is copied."""
    moments, sums, counts = summed(
        kernels.scaled_sums, *rows, given=(classes, scaling), size=SCALED_ROWS
    )
    return SeenStatistics(scaling, within_class_scatter(moments, sums.T, counts), sums.T, counts)


def scaled_rows(X: object, scaling: Scaling) -> Any:
    """Return rows, in memory or in chunks, scaled."""
    return X if scaling == "none" else mapped(kernels.scaled, X, given=(scaling,))


def usual_scaling(X: RowValues) -> Scaling:
    """Return the scaling that suits rows: by their columns and their signs.

    In few dimensions, length tells classes apart: rows stay as they are. Elsewhere it says more of the
    example than of its class, so rows get unit length. Counts and activations, which are hardly ever
    negative, have a few large entries that drown the others: their roots are taken first.
    """
    if X.shape[1] < FEWEST_FEATURES:
        return "none"
    negative, total = summed(kernels.magnitudes, X)
    return "root" if float(negative) <= NEGATIVE_SHARE * float(total) else "unit"


def scaling_steps(scaling: Scaling) -> tuple[Step, ...]:
    """Return a scaling as steps of a scorer."""
    return {"none": (), "unit": (UnitLength(),), "root": (SignedRoot(), UnitLength())}[scaling]


def to_be_powered(columns: int) -> bool:
    """Tell whether rows are powered by default: in few dimensions, length tells classes apart."""
    return columns >= FEWEST_FEATURES
