"""Ridge systems: sums over labelled rows, second moments formed where they are needed, and solutions.

A system is solved in a subspace where right-hand sides are few, else by Cholesky's factorisation: in
single precision, refined to double, where that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy import linalg

from unseen.rows.labelled import Rows
from unseen.rows.passes import blocks, class_totals, gram, in_chunks, labelled_sums
from unseen.solvers.images import Halves, Operator
from unseen.solvers.krylov import TOLERANCE, System
from unseen.solvers.shared_subspace import LABELLED, SharedSubspace, first_of
from unseen.typing import Array, Codes, Solve

MOST_NUMPY_COLUMNS = 512
"""Columns up to which NumPy factors a matrix, and SciPy beyond. Each brings a BLAS with threads of its
own, and waiting threads keep a core busy: a loop that alternates between them takes twice as long. So
small systems, which are solved often, use NumPy's, which is as quick as SciPy's there."""

LEAST_SINGLE_COLUMNS = 1024
"""Columns from which a factor in single precision is worth its refinement."""

REFINEMENTS = 8

LEAST_SUBSPACE_COLUMNS = LEAST_SINGLE_COLUMNS
"""Columns of the features from which a subspace may pay."""

COLUMNS_PER_RIGHT_SIDE = 48
"""A subspace pays where there is at most one right-hand side for so many columns."""

CACHED_ROWS = 2048
"""Rows of a block that is multiplied twice while it is in the cache."""

FORMED_AFTER = 0.18
"""Passes over the rows for so many columns, as a share of p, take as long as forming XᵀX: 0.065 of
that for 48 of 4,096 columns, 0.138 for 128. After so many passes the matrix is formed when another is
needed: that takes at most twice as long as the better of both ways."""


class Moments:
    """XᵀX, or XᵀwX: a symmetric operator, and a matrix once it is asked for.

    Parameters
    ----------
    X : array of shape (N, p)
    weights : array of shape (N,), optional
    """

    def __init__(self, X: Array, weights: Array | None = None) -> None:
        self._X, self._weights = X, weights
        self.width = int(X.shape[1])
        self.dtype = X.dtype
        self._columns_multiplied = 0

    @classmethod
    def given(cls, dense: Array) -> Self:
        """Return moments that are known as a matrix."""
        moments = cls(dense[:0])
        moments.dense = dense
        return moments

    @cached_property
    def dense(self) -> Array:
        """The matrix, (p, p): in the precision of the rows where it is large, else in double.

        The rows, which may be gathered for this alone, are let go.
        """
        dense = gram(
            self._X, self._weights, self.dtype if self.width >= LEAST_SUBSPACE_COLUMNS else float
        )
        self._X, self._weights = np.empty((0, self.width), self.dtype), None
        return dense

    @property
    def formed(self) -> bool:
        """Whether the matrix is there."""
        return "dense" in vars(self)

    @cached_property
    def trace(self) -> float:
        """The sum of the diagonal."""
        if self.formed:
            return float(np.trace(self.dense))
        total = 0.0
        for rows in blocks(len(self._X)):
            squares = np.einsum("ij,ij->i", self._X[rows], self._X[rows])
            weights = None if self._weights is None else self._weights[rows]
            total += float(squares.sum(dtype=float) if weights is None else squares @ weights)
        return total

    @property
    def rows(self) -> Array | None:
        """The rows behind the matrix, as long as that has not been formed."""
        return None if self.formed else self._X

    @property
    def operator(self) -> Operator:
        """The product with the matrix; or with the rows, then with their weighted transpose."""
        if self.formed:
            return self.__matmul__
        return Halves(self._X.__matmul__, partial(_back, self._X, self._weights))

    def subspace(self, tol: float = TOLERANCE) -> SharedSubspace:
        """Return a subspace in which systems with this operator are solved."""
        return SharedSubspace(self.__matmul__, self.width, self.dtype, tol)

    def __matmul__(self, B: Array) -> Array:
        """Return the product with B (p, b): a pass over the rows, or with the matrix after many."""
        if self.formed or self._columns_multiplied > FORMED_AFTER * self.width:
            return np.asarray(self.dense @ B)
        self._columns_multiplied += B.shape[1]
        total = np.zeros(B.shape, dtype=B.dtype, order="F")
        for rows in blocks(len(self._X), CACHED_ROWS):
            X = self._X[rows]
            total += _back(X, None if self._weights is None else self._weights[rows], X @ B)
        return total


def _back(X: Array, weights: Array | None, image: Array) -> Array:
    """Return Xᵀ diag(weights) image; the product is a tenth quicker this way round."""
    if weights is not None:
        image = image * weights[:, None].astype(image.dtype, copy=False)
    return np.asarray((image.T @ X).T)


def moments_of(X: Any, codes: Any, classes: int, weights: Any) -> tuple[Moments, Array, Array]:
    """Return the second moments, the class sums and the class weights; of chunks, in one pass."""
    if in_chunks(X):
        moments, sums, counts = labelled_sums(X, codes, classes, weights)
        return Moments.given(moments), sums, counts
    return Moments(X, weights), *class_totals(X, codes, classes, weights)


@dataclass(frozen=True)
class Sums:
    """All that a ridge needs of labelled rows."""

    second: Moments
    """XᵀX, formed only where it is needed."""
    labels: Array
    """XᵀY, of shape (p, K)."""
    counts: Array
    """Rows (or weight) a class, of shape (K,)."""
    width: int
    """Columns of the features, which are more than p when few rows are written in their span."""

    @classmethod
    def of(cls, rows: Rows, classes: int, width: int | None = None) -> Sums:
        """Take the sums in one pass over the rows."""
        X, codes, weights = rows
        return cls(*moments_of(X, codes, classes, weights), X.shape[1] if width is None else width)

    def without(self, moments: Array, others: Codes) -> Sums:
        """Take XᵀX of held-out classes away; keep the columns of the other classes."""
        return replace(
            self,
            second=Moments.given(self.moments - moments),
            labels=self.labels[:, others],
            counts=self.counts[others],
        )

    @property
    def moments(self) -> Array:
        """XᵀX, of shape (p, p)."""
        return self.second.dense

    @property
    def scale(self) -> float:
        """The mean diagonal of XᵀX: the unit in which C is searched."""
        return max(self.second.trace / self.width, np.finfo(float).tiny)


@dataclass(frozen=True)
class Ridge:
    """G = 2XᵀX + C·I."""

    moments: Moments
    C: float

    @property
    def dense(self) -> Array:
        """The matrix, (p, p)."""
        G: Array = 2 * self.moments.dense
        G[np.diag_indices_from(G)] += self.C
        return G

    def coefficients(self, place: int) -> Array:
        """Return the factors of the operators of a shared subspace; XᵀX of G is at ``place``."""
        kappa = np.array([0.0, 0.0, 0.0, self.C])
        kappa[place] += 2.0
        return kappa

    def subspace(self) -> SharedSubspace:
        """Return a subspace in which systems with G are solved."""
        return self.moments.subspace()


def pays(moments: Moments, columns: int) -> bool:
    """Tell whether so few right-hand sides are better solved in a subspace than by a factor."""
    return moments.width >= LEAST_SUBSPACE_COLUMNS and columns * COLUMNS_PER_RIGHT_SIDE <= moments.width


def ridge_solver(G: Ridge, columns: int, space: SharedSubspace | None = None) -> Solve:
    """Return the map R → G⁻¹R for right-hand sides of about so many columns.

    In a subspace where that pays and converges, by a factor of G where not.
    """
    if space is None:
        if not pays(G.moments, columns):
            return solver(G.dense)
        space = G.subspace()
    return first_of(space.system(System(G.coefficients(LABELLED))), lambda: solver(G.dense))


def one_domain(G: Ridge, H: Array, space: SharedSubspace | None = None) -> Solve:
    """Return the map R → V with G V H = R."""
    left, right = ridge_solver(G, len(H), space), solver(H)
    return lambda R: right(left(R).T).T


def ridge_path(moments: Moments, values: Sequence[float], R: Array, tol: float) -> list[Array]:
    """Return (2XᵀX + C·I)⁻¹R for every C, all from one subspace where that pays."""
    space = moments.subspace(tol) if pays(moments, R.shape[1]) else None
    return [ridge_solver(Ridge(moments, C), R.shape[1], space)(R) for C in values]


def solver(G: Array, tol: float = 1e-8) -> Solve:
    """Return the map R → G⁻¹R, of relative residual ``tol``.

    A large G is factored in single precision, which takes half the time, and each solution is refined
    by its residual in double precision; where that does not settle, G is factored again in double.
    """
    if len(G) < LEAST_SINGLE_COLUMNS:
        return _double(G)
    rough = rough_solver(G)
    G = G.astype(float, copy=False)

    def solve(R: Array) -> Array:
        R = R.astype(float, copy=False)
        solution = rough(R)
        wanted = tol * np.linalg.norm(R, axis=0)
        for _ in range(REFINEMENTS):
            residual = R - G @ solution
            if (np.linalg.norm(residual, axis=0) <= wanted).all():
                return solution
            solution += rough(residual)
        return _double(G)(R)

    return solve


def rough_solver(G: Array) -> Solve:
    """Return a map near R → G⁻¹R, good as a preconditioner; single precision where G is large."""
    if len(G) < LEAST_SINGLE_COLUMNS:
        return _double(G)
    try:
        factor = linalg.cho_factor(G.astype(np.float32), check_finite=False, overwrite_a=True)
    except linalg.LinAlgError:  # too near to singular for single precision
        return _double(G)
    return lambda R: np.asarray(
        linalg.cho_solve(factor, R.astype(np.float32), check_finite=False).astype(R.dtype)
    )


def _double(G: Array) -> Solve:
    if len(G) <= MOST_NUMPY_COLUMNS:
        inverse = np.linalg.inv(np.linalg.cholesky(G.astype(float, copy=False)))
        return lambda R: np.asarray(inverse.T @ (inverse @ R))
    factor = linalg.cho_factor(G.astype(float), check_finite=False, overwrite_a=True)
    return lambda R: np.asarray(linalg.cho_solve(factor, R, check_finite=False))
