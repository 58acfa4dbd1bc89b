"""Where classes lie in a space that items and class texts share, and how rows are scored there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from unseen.rows.kernels import scaled
from unseen.rows.passes import blocks
from unseen.statistics.visual_space import inverse_factor
from unseen.typing import Array

SHRINKAGE = 0.9
"""Of the scatter W, at least (tried: 0.8, 0.9, 0.95, 0.97)."""

LEAST_SLOPE, LEAST_TIE = 0.05, 0.02
"""b and c at least."""

TIE_FACTOR = 2.0
"""c, in units of its estimate by moments."""

TEXT_TIE = 0.3
"""The start's scores weigh TEXT_TIE/(TEXT_TIE + c): the less, the more the pool corrects the texts
(tried: 0.1, 0.3, 1 and a constant weight)."""


@dataclass(frozen=True)
class Sums:
    """What means and scatter are computed from: sums over rows, as signed roots at unit length."""

    FILE_KEY: ClassVar[str] = "shared-space-sums"

    mass: Array
    """n, of every class."""
    sums: Array
    """QᵀX, (classes, p)."""
    moments: Array
    """XᵀX."""
    rows: float

    @classmethod
    def of(cls, roots: Array, labels: sparse.csr_matrix, moments: Array | None = None) -> Sums:
        """Take the sums of rows with soft labels; XᵀX need not be taken again where it is known."""
        p = roots.shape[1]
        sums, products = np.zeros((labels.shape[1], p)), np.zeros((p, p))
        for rows in blocks(len(roots)):
            sums += labels[rows].T @ roots[rows]
            if moments is None:
                products += roots[rows].T @ roots[rows]
        mass = np.asarray(labels.sum(axis=0), dtype=float).ravel()
        return cls(mass, sums, products if moments is None else moments, float(labels.sum()))

    def plus(self, other: Sums) -> Sums:
        """Add other rows; those of classes that only ``other`` has follow."""
        more = len(other.mass) - len(self.mass)
        mass, sums = np.pad(self.mass, (0, more)), np.pad(self.sums, ((0, more), (0, 0)))
        moments, rows = self.moments + other.moments, self.rows + other.rows
        return Sums(mass + other.mass, sums + other.sums, moments, rows)


@dataclass(frozen=True)
class SharedModel:
    """What labels a row: softmax(f·(g·S + u·τ·cos + what neighbours say) + log shares)."""

    FILE_KEY: ClassVar[str] = "shared-space-model"

    scale: float
    """τ."""
    whitening: Array
    """B (p, p), with BBᵀ the inverse of the shrunk scatter."""
    means: Array
    """M (classes, p)."""
    center: Array
    """x̄ − b·t̄."""
    slope: float
    """b."""
    tie: float
    """c."""
    log_shares: Array
    """Of the candidates."""
    gaussian_weight: float = 1.0
    """g."""
    sharpness: float = 1.0
    """f."""

    @classmethod
    def of(cls, total: Sums, vectors: Array, scale: float, tie: float) -> SharedModel:
        """Estimate means and scatter from soft labels; ``tie`` is c of the round before."""
        n, p = total.mass, total.sums.shape[1]
        T, means = scaled(vectors, "root"), total.sums / np.maximum(n, 1e-9)[:, None]
        text_mean, row_mean = n @ T / total.rows, total.sums.sum(axis=0) / total.rows
        away = T - text_mean
        slope = float((away * total.sums).sum()) / max(float(n @ (away**2).sum(axis=1)), 1e-12)
        slope = max(slope, LEAST_SLOPE)
        center = row_mean - slope * text_mean
        P = center + slope * T
        error = means - P
        M = P + (n * tie / (1 + n * tie))[:, None] * error
        cross = total.sums.T @ M
        W = (total.moments - cross - cross.T + (M.T * n) @ M) / total.rows
        variance = max(float(np.trace(W)) / p, 1e-12)
        shrinkage = max(SHRINKAGE, p / (p + total.rows))
        W *= 1 - shrinkage
        W[np.diag_indices(p)] += shrinkage * variance
        B = inverse_factor(W).T
        squares = ((error @ B) ** 2).sum(axis=1) - p / np.maximum(n, 1e-9)
        weight = n / (n + 5)
        tie = max(TIE_FACTOR * float(weight @ squares) / (p * float(weight.sum())), LEAST_TIE)
        M = P + (n * tie / (1 + n * tie))[:, None] * error
        return cls(scale, B, M, center, slope, tie, np.zeros(1))

    def predicted(self, vectors: Array) -> Array:
        """Return where texts say that classes lie."""
        return np.asarray(self.center + self.slope * scaled(vectors, "root"))

    def gaussian_scores(self, roots: Array, means: Array) -> Array:
        """Return S = z·m − ½‖m‖² in whitened space, for the signed roots of rows at unit length."""
        weights, lengths = self._gaussian_weights(means)
        return np.asarray(roots @ weights.astype(roots.dtype) - lengths.astype(roots.dtype))

    def _gaussian_weights(self, means: Array) -> tuple[Array, Array]:
        turned = means @ self.whitening
        return self.whitening @ turned.T, 0.5 * np.einsum("ij,ij->i", turned, turned)

    def scorer(self, vectors: Array, means: Array, dtype: npt.DTypeLike) -> RowScorer:
        """Return what scores rows by these classes before class shares count."""
        weights, lengths = self._gaussian_weights(means)
        texts = scaled(vectors, "unit").T * (self.scale * TEXT_TIE / (TEXT_TIE + self.tie))
        both = np.vstack([weights * self.gaussian_weight, texts]) * self.sharpness
        offsets = -lengths * (self.gaussian_weight * self.sharpness)
        return RowScorer(both.astype(dtype), offsets.astype(dtype), self.sharpness)


class RowScorer(NamedTuple):
    """f·(g·S + u·τ·cos + what neighbours say), in one product."""

    weights: Array
    """(2p, classes), for the signed roots of a row and for the row, both at unit length."""
    offsets: Array
    sharpness: float

    def __call__(self, X: Array, roots: Array, said: sparse.csr_matrix | None = None) -> Array:
        """Return the scores of rows; ``said`` is what their neighbours say."""
        both = np.concatenate([roots, scaled(X, "unit")], axis=1)
        A = np.asarray(both @ self.weights)
        A += self.offsets
        if said is not None:
            A += said.toarray() * A.dtype.type(self.sharpness)
        return A


def cosines(X: Array, vectors: Array) -> Array:
    """Return the cosine of each row and class vector."""
    return np.asarray(scaled(X, "unit") @ scaled(vectors, "unit").T.astype(X.dtype))
