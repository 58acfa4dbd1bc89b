"""Sums over labelled rows, second moments that are formed where they are needed, and ridge systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from unseen.rows.labelled import Rows
from unseen.rows.passes import between_factor, blocks, class_totals, gram, in_chunks, labelled_sums
from unseen.solvers.cholesky import LEAST_SINGLE_COLUMNS, Solve, solver
from unseen.solvers.images import Halves, Operator
from unseen.solvers.krylov import TOLERANCE, Subspace, System
from unseen.solvers.shared_subspace import LABELLED, MOST, SharedSubspace, first_of
from unseen.typing import Array, Codes

LEAST_SUBSPACE_COLUMNS = LEAST_SINGLE_COLUMNS
"""Columns of the features from which a subspace may pay."""

COLUMNS_PER_RIGHT_SIDE = 48
"""A subspace pays where there is at most one right-hand side for so many columns."""

CACHED_ROWS = 2048
"""Rows of a block that is multiplied twice while it is in the cache."""

METRIC_ERROR = 0.3
"""Bound on the relative error of M⁻¹R for the first right-hand sides R where XᵀX is not formed. What M
is in the span that this takes is then the metric. On folds of seen classes of AwA1 (two draws),
Fast-TASTE has 36.2 % with it, 37.2 % with the whole of M, 33.1 % with the first 256 directions of M."""

FORMED_AFTER = 0.18
"""Passes over the rows for so many columns, as a share of p, take as long as forming XᵀX: 0.065 of
that for 48 of 4,096 columns, 0.138 for 128. Whoever has made so many passes, and needs another, forms
it: that takes at most twice as long as the better way, known beforehand."""


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
        """The product: with the matrix, or with the rows and then, where weights enter, back."""
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
class Metric:
    """M = share·(XᵀX − FFᵀ) + rest·I, by which a regulariser measures weights: a shrunk covariance."""

    moments: Moments
    factor: Array
    """F (p, K): class sums over the roots of class sizes, so that XᵀX − FFᵀ is the scatter."""
    share: float
    rest: float

    @property
    def scatter(self) -> Array:
        """share·(XᵀX − FFᵀ), (p, p); computed at each call, since solvers keep what they need."""
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

    def solver(self, columns: int) -> Solve:
        """Return the map R → M⁻¹R for right-hand sides of about so many columns, given all at once.

        Of few right-hand sides of many wide rows whose XᵀX is not formed, in a subspace of few passes.
        """
        rows, width, dtype = self.moments.rows, self.moments.width, self.moments.dtype
        if rows is None or len(rows) < width or not pays(self.moments, columns):
            return self._formed_solver(columns)
        space = Subspace([self.moments.__matmul__, self.spread], width, width // MOST, dtype)
        system = System(np.array([self.share, -self.share, self.rest]))

        def solve(R: Array) -> Array:
            tol = np.inf if space.rank else METRIC_ERROR  # the first right-hand sides decide the span
            return space.solve(R, system, tol)[0].astype(float)

        return first_of(solve, lambda: self._formed_solver(columns))

    def _formed_solver(self, columns: int) -> Solve:
        """Solve with the scatter: of XᵀX·R − FFᵀR, in single precision, too little would be left."""
        solve = ridge_solver(Ridge(Moments.given(self.scatter), 2 * self.rest), columns)
        return lambda R: 2 * solve(R)

    def spread(self, B: Array) -> Array:
        """Return FFᵀB."""
        F = self.factor.astype(B.dtype, copy=False)
        return np.asarray(F @ (F.T @ B))


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

    def without(self, moments: Array, kept: Codes) -> Sums:
        """Take XᵀX of held-out classes away; keep the columns of the other classes."""
        return replace(
            self,
            second=Moments.given(self.moments - moments),
            labels=self.labels[:, kept],
            counts=self.counts[kept],
        )

    def metric(self, shrinkage: float | None) -> Metric | None:
        """Return the within-class covariance, shrunk to its mean variance and of mean variance 1.

        ``None`` means the identity: the plain ridge of the paper.
        """
        if shrinkage is None:
            return None
        factor = between_factor(self.labels, self.counts)
        mean = (self.second.trace - float(np.square(factor).sum())) / len(factor)
        if not mean > 0:
            return None
        return Metric(self.second, factor, (1.0 - shrinkage) / mean, shrinkage)

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
        """Return the factors of the operators of a shared subspace; G's own is at ``place``."""
        kappa = np.array([0.0, 0.0, 0.0, self.C])
        if self.metric is not None:
            share, rest = self.metric.share, self.metric.rest
            kappa = self.C * np.array([share, 0.0, -share, rest])
        kappa[place] += 2.0
        return kappa


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
        space = G.moments.subspace()
        if G.metric is not None:
            space.with_metric(G.metric.spread)
    return first_of(space.system(System(G.coefficients(LABELLED))), lambda: solver(G.dense))


def one_domain(G: Ridge, H: Array, space: SharedSubspace | None = None) -> Solve:
    """Return the map R → V with G V H = R."""
    left, right = ridge_solver(G, len(H), space), solver(H)
    return lambda R: right(left(R).T).T


def ridge_path(moments: Moments, values: Sequence[float], R: Array, tol: float) -> list[Array]:
    """Return (2XᵀX + C·I)⁻¹R for every C, all from one subspace where that pays."""
    space = moments.subspace(tol) if pays(moments, R.shape[1]) else None
    return [ridge_solver(Ridge(moments, C), R.shape[1], space)(R) for C in values]
