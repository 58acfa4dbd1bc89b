"""A visual space: what becomes of a row before it is compared with class points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.chunks import mapped, summed
from unseen.numerics.folds import Rows
from unseen.numerics.rows import Codes, block_sums, blocks, within_class_scatter
from unseen.numerics.scorer import Affine, SignedRoot, Step, UnitLength
from unseen.numerics.whitening import FEWEST_FEATURES, Whitening, power_normalise

Array = npt.NDArray[Any]

FEW = 1024
"""Rows of a block: powering makes several copies of it."""


@dataclass(frozen=True)
class Space:
    """The map x → (x − center) M; with ``powered``, of signed roots at unit length."""

    powered: bool
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
        for rows in blocks(len(X), FEW):
            block = (power_normalise(X[rows]) if self.powered else X[rows]) - center
            out[rows] = block if matrix is None else block @ matrix
        return out

    def of_means(self, means: Array) -> Array:
        """Return class means, taken over rows that were powered if rows are, in this space."""
        centred = means - self.center
        return np.asarray(centred if self.matrix is None else centred @ self.matrix)

    def of_sums(self, sums: Array, mass: Array) -> Array:
        """Return sums of rows that were powered if rows are, each of a class of some mass, (L, d)."""
        centred = sums - mass[:, None] * self.center
        return np.asarray(centred if self.matrix is None else centred @ self.matrix)

    def then(self, matrix: Array) -> Space:
        """Return the space with another matrix in the place of its own."""
        return Space(self.powered, self.center, matrix)

    def steps(self) -> tuple[Step, ...]:
        """Return the same as steps of a scorer."""
        ones = np.ones(len(self.center))
        affine = Affine(self.center, ones if self.matrix is None else self.matrix)
        return (SignedRoot(), UnitLength(), affine) if self.powered else (affine,)


@dataclass(frozen=True)
class SeenStatistics:
    """The sums over labelled rows that spaces and predictors are made of."""

    powered: bool
    moments: Array
    """XᵀX, (p, p)."""
    sums: Array
    """(p, K)."""
    counts: Array
    pool_scatter: Array | float = 0.0
    """Scatter of pool rows about their classes, which counts beside that of labelled rows."""
    pool_rows: int = 0

    @property
    def means(self) -> Array:
        """The class means, (K, p)."""
        return np.asarray((self.sums / self.counts).T)

    @property
    def freedom(self) -> float:
        """Rows less classes."""
        return float(self.counts.sum()) - len(self.counts) + self.pool_rows

    def scatter(self) -> Array:
        """Return the within-class scatter, (p, p)."""
        return within_class_scatter(self.moments, self.sums, self.counts) + self.pool_scatter

    def whitened(self, shrinkage: float | None, dtype: Any) -> Space:
        """Return the space in which every direction varies alike within a class."""
        center = self.means.mean(axis=0)
        whitening = Whitening.of(self.scatter(), self.freedom, center, shrinkage, dtype)
        return Space(self.powered, whitening.center, np.ascontiguousarray(whitening.inverse().T))

    def plain(self, dtype: Any) -> Space:
        """Return the features as they are, about the mean of the class means."""
        return Space(self.powered, self.means.mean(axis=0).astype(dtype), None)


def seen_statistics(rows: Rows, classes: int, powered: bool) -> SeenStatistics:
    """Take the sums block by block, in one pass: nothing of the size of X is copied."""
    moments, sums, counts = summed(
        _statistics, rows.X, rows.codes, rows.weights, given=(classes, powered), size=FEW
    )
    return SeenStatistics(powered, moments, sums.T, counts)


def _statistics(
    X: Array, codes: Codes, weights: Array | None, classes: int, powered: bool
) -> tuple[Array, Array, Array]:
    return block_sums(power_normalise(X) if powered else X, codes, weights, classes)


def powered_rows(X: Any, powered: bool) -> Any:
    """Return rows, in memory or in chunks, as signed roots at unit length if asked for."""
    return mapped(power_normalise, X) if powered else X


def to_be_powered(columns: int) -> bool:
    """Tell whether rows are powered by default: in few dimensions, length tells classes apart."""
    return columns >= FEWEST_FEATURES
