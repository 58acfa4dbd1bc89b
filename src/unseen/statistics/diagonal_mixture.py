"""Gaussian classes with diagonal covariances, fitted to rows with soft labels beside class texts.

What TransCLIP and StatA share. Rows x and class vectors t have unit length. Given Gaussian classes,
the soft labels of all rows are moved, a few sweeps in turn, to

    z ∝ exp(u·τ·cos(x, t) + (1/s)·log N(x; μ, Σ) + v/(2k)·Σⱼ (w + wᵀ)ⱼ·zⱼ),

where w are the cosines of a row with its k nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.rows.kernels import scaled
from unseen.rows.passes import score_blocks
from unseen.statistics.entropy import soft_labels
from unseen.statistics.neighbours import nearest
from unseen.typing import Array, Codes

LEAST_VARIANCE = 1e-8
"""Of a feature of rows at unit length."""

GROUPS = 2
"""Best classes of a row among whose rows its neighbours are sought, where rows are many."""


@dataclass(frozen=True)
class DiagonalGaussians:
    """Means (L, p), and variances of the features: (p,) for all classes or (L, p)."""

    FILE_KEY: ClassVar[str] = "diagonal-gaussians"

    means: Array
    variances: Array
    determinant: bool = True
    """Whether the density has its factor det(Σ)^(−½)."""

    def scores(self, X: Array) -> Array:
        """Return log N of rows and classes, less what is the same for all classes."""
        precision = 1 / np.maximum(self.variances, LEAST_VARIANCE)
        lengths = 0.5 * (self.means**2 * precision).sum(axis=1)
        if precision.ndim == 2 and self.determinant:
            lengths -= 0.5 * np.log(precision).sum(axis=1)
        S = X @ (self.means * precision).T.astype(X.dtype)
        if precision.ndim == 2:
            S -= (0.5 * X * X) @ precision.T.astype(X.dtype)
        return np.asarray(S - lengths.astype(X.dtype))


@dataclass(frozen=True)
class MixtureWeights:
    """How the three scores are weighed."""

    text: float = 1.0
    """u."""
    density_scale: float = 50.0
    """s."""
    neighbours: float = 1.0
    """v."""
    sweeps: int = 5


class MixturePool:
    """Unlabelled rows at unit length, their start and their nearest neighbours.

    Parameters
    ----------
    X : array of shape (N, p)
    vectors : array of shape (L, p)
    scale : float
        τ.
    neighbours : int
        k.
    """

    def __init__(self, X: Array, vectors: Array, scale: float, neighbours: int) -> None:
        self.X = scaled(X, "unit")
        self.T = scaled(np.asarray(vectors, dtype=float), "unit")
        self.scale, self.neighbours = scale, max(neighbours, 1)
        parts, best = [], []
        for rows in self.blocks():
            S = self.first(rows)
            groups = np.argpartition(S, -min(GROUPS, S.shape[1]), axis=1)[:, -GROUPS:]
            order = np.argsort(-np.take_along_axis(S, groups, axis=1), axis=1, kind="stable")
            best.append(np.take_along_axis(groups, order, axis=1))
            parts.append(soft_labels(S))
        self.start = sparse.vstack(parts, format="csr")
        W = nearest(self.X, neighbours, np.concatenate(best))
        self._graph = (W + W.T).tocsr()

    def blocks(self) -> Iterator[slice]:
        """Cut the rows so that a block of scores stays small."""
        return score_blocks(len(self.X), len(self.T))

    def first(self, rows: slice) -> Array:
        """Return τ·cos."""
        number = self.X.dtype
        return np.asarray(self.X[rows] @ (self.T.T * self.scale).astype(number))

    def relabelled(
        self, gaussians: DiagonalGaussians, labels: sparse.csr_matrix, weights: MixtureWeights
    ) -> sparse.csr_matrix:
        """Sweep over all rows; each sweep reads the labels of the one before."""
        number = self.X.dtype.type
        near = number(weights.neighbours / (2 * self.neighbours))
        for _ in range(weights.sweeps):
            parts = []
            for rows in self.blocks():
                S = self.first(rows) * number(weights.text)
                S += gaussians.scores(self.X[rows]) * number(1 / weights.density_scale)
                S += (self._graph[rows] @ labels).toarray() * near
                parts.append(soft_labels(S))
            labels = sparse.vstack(parts, format="csr")
        return labels

    def means(self, labels: sparse.csr_matrix, before: Array) -> tuple[Array, Array, Array]:
        """Return masses n, sums zᵀX and the directions of the means; an empty class stays."""
        mass = np.asarray(labels.sum(axis=0), dtype=float).ravel()
        sums = np.asarray(labels.T @ self.X, dtype=float)
        means = np.where(mass[:, None] > 0, scaled(sums, "unit"), before)
        return mass, sums, means

    def shared_variances(self, mass: Array, sums: Array, means: Array) -> Array:
        """Return (1/N) Σᵢₖ zᵢₖ(xᵢ − μₖ)²."""
        squares = np.einsum("ij,ij->j", self.X, self.X, dtype=float)
        return np.asarray(squares - 2 * (means * sums).sum(axis=0) + mass @ means**2) / len(self.X)

    def class_variances(
        self, labels: sparse.csr_matrix, mass: Array, sums: Array, means: Array
    ) -> Array:
        """Return Σᵢ zᵢₖ(xᵢ − μₖ)²/nₖ for each class; 0 for an empty one."""
        squares = np.zeros_like(sums)
        for rows in self.blocks():
            squares += labels[rows].T @ self.X[rows] ** 2
        mass = np.maximum(mass, np.finfo(float).tiny)[:, None]
        return np.asarray(np.maximum(squares / mass - 2 * means * sums / mass + means**2, 0))

    def most_confident(self, count: int) -> tuple[Codes, Array]:
        """Return rows and start probabilities, (count, L), of the surest rows of each class."""
        count, L = min(count, len(self.X)), len(self.T)
        places, values = np.zeros((count, L), dtype=np.intp), np.full((count, L), -1.0)
        for rows in self.blocks():
            S = self.first(rows)
            P = np.exp(S - S.max(axis=1, keepdims=True))
            P /= P.sum(axis=1, keepdims=True)
            top = np.argpartition(-P, min(count, len(P)) - 1, axis=0)[:count]
            values = np.concatenate([values, np.take_along_axis(P, top, axis=0)])
            places = np.concatenate([places, top + rows.start])
            best = np.argpartition(-values, count - 1, axis=0)[:count]
            values = np.take_along_axis(values, best, axis=0)
            places = np.take_along_axis(places, best, axis=0)
        return places, values
