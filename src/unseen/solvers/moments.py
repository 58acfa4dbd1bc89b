"""Second moments of rows, formed only where the whole matrix is needed, and ridges made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from unseen.rows.passes import blocks, class_totals, gram, in_chunks, labelled_sums
from unseen.solvers.cholesky import SINGLE, Solve, solver
from unseen.solvers.images import Halves
from unseen.solvers.krylov import TOLERANCE, SlowConvergence, Subspace, System
from unseen.typing import Array

LEAST = SINGLE
"""Columns of the features from which a subspace may pay."""

FEW_COLUMNS = 48
"""It does where there is at most one right-hand side for so many columns."""

MOST = 6
"""A basis of more than this share of the columns, one in MOST, costs more than a factor."""

LABELLED, POOL, METRIC = 0, 1, 2
"""The places of operators in a :class:`Shared` space."""

CACHED = 2048
"""Rows that are multiplied twice while they are near."""


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

    @classmethod
    def given(cls, dense: Array) -> Self:
        """Return moments that are known as a matrix."""
        made = cls(dense[:0])
        made.dense = dense
        return made

    @cached_property
    def dense(self) -> Array:
        """The matrix, (p, p): in the precision of the rows where it is large, else in double.

        The rows, which may be gathered for this alone, are let go.
        """
        found = gram(self._X, self._weights, self.dtype if self.width >= LEAST else float)
        self._X, self._weights = np.empty((0, self.width), self.dtype), None
        return found

    def form(self) -> None:
        """Make the matrix now: products by it are cheaper than passes over the rows."""
        _ = self.dense

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
    def halves(self) -> Halves:
        """The product with the rows, then the one with their transpose, where weights enter."""
        return Halves(self._X.__matmul__, partial(_back, self._X, self._weights))

    def __matmul__(self, B: Array) -> Array:
        """Return the product with B (p, b): one pass over the rows where the matrix is not there."""
        if self.formed:
            return np.asarray(self.dense @ B)
        total = np.zeros(B.shape, dtype=B.dtype, order="F")
        for rows in blocks(len(self._X), CACHED):
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
class Metric:
    """M = share·(XᵀX − FFᵀ) + rest·I, by which a regulariser measures weights: a shrunk covariance."""

    moments: Moments
    factor: Array
    """F (p, K): class sums over the roots of class sizes, so that XᵀX − FFᵀ is the scatter."""
    share: float
    rest: float

    @property
    def scatter(self) -> Array:
        """share·(XᵀX − FFᵀ), (p, p); made anew, as what is below: the solvers keep what they need."""
        own = self.moments.dense
        factor = self.factor.astype(own.dtype, copy=False)
        M: Array = factor @ factor.T
        np.subtract(own, M, out=M)
        M *= own.dtype.type(self.share)
        return M

    @property
    def dense(self) -> Array:
        """The matrix, (p, p)."""
        M = self.scatter
        M[np.diag_indices_from(M)] += self.rest
        return M

    def spread(self, B: Array) -> Array:
        """Return FFᵀB."""
        F = self.factor.astype(B.dtype, copy=False)
        return np.asarray(F @ (F.T @ B))


@dataclass(frozen=True)
class Ridge:
    """G = 2XᵀX + C·M, with the identity for M where no metric is given."""

    moments: Moments
    C: float
    metric: Metric | None = None

    @property
    def dense(self) -> Array:
        """The matrix, (p, p)."""
        G: Array = 2 * self.moments.dense
        if self.metric is None:
            G[np.diag_indices_from(G)] += self.C
            return G
        M = self.metric.dense
        M *= G.dtype.type(self.C)
        G += M
        return G

    def coefficients(self, place: int) -> Array:
        """Return the factors of the operators of a :class:`Shared` space; G's own is at ``place``."""
        kappa = np.array([0.0, 0.0, 0.0, self.C])
        if self.metric is not None:
            share, rest = self.metric.share, self.metric.rest
            kappa = self.C * np.array([share, 0.0, -share, rest])
        kappa[place] += 2.0
        return kappa


class Shared:
    """One subspace for all systems of a fit: labelled rows, then a pool, then a metric.

    Parameters
    ----------
    moments : Moments
        Of the labelled rows.
    tol : float
        Of its solutions.
    """

    def __init__(self, moments: Moments, tol: float = TOLERANCE) -> None:
        self._space = Subspace(
            [moments.__matmul__, None, None], moments.width, moments.width // MOST, moments.dtype
        )
        self._tol = tol
        self._pool: Array | None = None

    def with_metric(self, metric: Metric | None) -> None:
        """Measure weights by this metric, over the same rows, from now on."""
        if metric is not None:
            self._space.replace(METRIC, metric.spread)

    def with_pool(self, pool: Moments, near: Array) -> None:
        """Take these moments for the pool's; look for solutions near this one, (p, k).

        Where the rows are those of the last pool, with other weights, what they made of it is used.
        """
        if pool.rows is not None and pool.rows is self._pool:
            self._space.renew(POOL, pool.halves, near)
        else:
            self._space.replace(POOL, pool.__matmul__ if pool.formed else pool.halves)
            self._space.restart(near)
        self._pool = pool.rows

    def without_pool(self) -> None:
        """Let the rows of the pool go."""
        self._space.replace(POOL, None)
        self._pool = None

    def system(self, system: System, tol: float | None = None) -> Solve:
        """Return the map R → Z of :meth:`Subspace.solve`, to another tolerance if one is given.

        A correction that is small against the largest solution need not be known to its last digit.
        """
        largest = 0.0

        def solve(R: Array) -> Array:
            nonlocal largest
            Z, length = self._space.solve(R, system, tol or self._tol, largest)
            largest = max(largest, length)
            return Z.astype(float)

        return solve


def pays(moments: Moments, columns: int) -> bool:
    """Tell whether so few right-hand sides are better solved in a subspace than by a factor."""
    return moments.width >= LEAST and columns * FEW_COLUMNS <= moments.width


def ridge_solver(G: Ridge, columns: int, space: Shared | None = None) -> Solve:
    """Return the map R → G⁻¹R for right-hand sides of about so many columns.

    In a subspace where that pays and converges, by a factor of G where not.
    """
    if space is None:
        if not pays(G.moments, columns):
            return solver(G.dense)
        space = Shared(G.moments)
        space.with_metric(G.metric)
    return first_of(space.system(System(G.coefficients(LABELLED))), lambda: solver(G.dense))


def metric_solver(metric: Metric, columns: int) -> Solve:
    """Return the map R → M⁻¹R for right-hand sides of about so many columns.

    The scatter is formed: of XᵀX·R − FFᵀR, in single precision, too little would be left.
    """
    solve = ridge_solver(Ridge(Moments.given(metric.scatter), 2 * metric.rest), columns)
    return lambda R: 2 * solve(R)


def ridge_path(moments: Moments, values: Sequence[float], R: Array, tol: float) -> list[Array]:
    """Return (2XᵀX + C·I)⁻¹R for every C, all from one subspace where that pays."""
    space = Shared(moments, tol=tol) if pays(moments, R.shape[1]) else None
    return [ridge_solver(Ridge(moments, C), R.shape[1], space)(R) for C in values]


def first_of(quick: Solve, make_safe: Callable[[], Solve]) -> Solve:
    """Return ``quick`` until it converges too slowly, and from then on the safe solver."""
    safe: list[Solve] = []

    def solve(R: Array) -> Array:
        if not safe:
            try:
                return quick(R)
            except SlowConvergence:
                safe.append(make_safe())
        return safe[0](R)

    return solve
