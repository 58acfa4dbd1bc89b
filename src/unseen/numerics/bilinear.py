"""The regularisation path of the bilinear ridge, by class-wise folds that share their sums.

    V(C, μ) = 2 (2XᵀX + C·I)⁻¹ XᵀYAᵀ (AAᵀ + μI)⁻¹

is ESZSL's closed form, the start of ASTE (its dual point α = Y) and of TASTE. One Gram matrix is
computed for each fold; the training sums of the others are differences from the total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from unseen.numerics.evaluation import fit_temperature, per_class_accuracy
from unseen.numerics.folds import Rows, class_folds
from unseen.numerics.moments import Metric, Moments, ridge_path
from unseen.numerics.rows import Codes, class_sums, class_weights
from unseen.numerics.structural import semantic_ridge

Array = npt.NDArray[Any]

C_GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MU_GRID = (0.03, 0.1, 0.3, 1.0, 3.0)

FOLD_ERROR = 1e-2
"""Bound on the relative error of solutions in folds, which only rank values; scores have a tenth."""


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
        return cls(
            Moments(X, weights),
            class_sums(X, codes, classes, weights),
            class_weights(codes, classes, weights),
            X.shape[1] if width is None else width,
        )

    def formed(self) -> Sums:
        """Return the sums with XᵀX as a matrix, so that the rows may go."""
        return replace(self, second=Moments.given(self.moments))

    @classmethod
    def total(cls, parts: Sequence[Sums]) -> Sums:
        """Return the sum of the sums of several sets of rows."""
        moments = parts[0].moments.copy()
        for part in parts[1:]:
            moments += part.moments
        labels, counts = sum(p.labels for p in parts), sum(p.counts for p in parts)
        return cls(Moments.given(moments), np.asarray(labels), np.asarray(counts), parts[0].width)

    def without(self, other: Sums, kept: Codes) -> Sums:
        """Take the rows of held-out classes away; keep the columns of the other classes."""
        return replace(
            self,
            second=Moments.given(self.moments - other.moments),
            labels=self.labels[:, kept],
            counts=self.counts[kept],
        )

    def metric(self, shrinkage: float | None) -> Metric | None:
        """Return the within-class covariance, shrunk to its mean variance and of mean variance 1.

        ``None`` means the identity: the plain ridge of the paper.
        """
        if shrinkage is None:
            return None
        present = self.counts > 0
        factor = self.labels[:, present] / np.sqrt(self.counts[present])
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


def semantic_scale(A: Array) -> float:
    """Return the mean eigenvalue of AAᵀ: the unit in which μ is searched."""
    return max(float(np.einsum("ij,ij->", A, A)) / len(A), np.finfo(float).tiny)


@dataclass(frozen=True)
class Choice:
    """What the folds chose."""

    C: float
    mu: float
    temperature: float | None
    """Fitted on the scores of held-out classes; None when there were no folds."""
    sums: Sums
    """Over all rows, for the fit that follows."""


@dataclass(frozen=True)
class Path:
    """Values of one parameter to try: in scale-free units, or one number given by hand."""

    values: tuple[float, ...]
    absolute: bool = False

    @classmethod
    def of(cls, by_hand: float | None, grid: tuple[float, ...]) -> Path:
        """Return the grid, or the one number given by hand."""
        return cls(grid) if by_hand is None else cls((by_hand,), absolute=True)

    def at(self, index: int, scale: float) -> float:
        """Return the value in the units of the problem."""
        return self.values[index] * (1.0 if self.absolute else scale)


def choose(
    rows: Rows,
    A: Array,
    C: Path,
    mu: Path,
    *,
    held: Rows | None = None,
    width: int | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Choice:
    """Choose C and μ by mean per-class accuracy on class-wise folds.

    Parameters
    ----------
    rows : Rows
        Labelled rows to learn from.
    A : array of shape (q, K)
        The semantics of their classes.
    C, mu : Path
        Values to try.
    held : Rows, optional
        Rows on which a held-out class is judged, when they are not the rows to learn from.
    width : int, optional
        Columns of the features, when the rows are written in fewer.
    """
    classes = A.shape[1]
    parts = class_folds(classes, min(folds, classes // 2), seed)
    sums = []
    for part in parts:
        own = rows.of_classes(part)
        sums.append(Sums.of(own._replace(codes=part[own.codes]), classes, width).formed())
    total = Sums.total(sums)
    judged = rows if held is None else held
    folded = [_Fold.of(judged.of_classes(part), part, total, sums.pop(0), A, C) for part in parts]
    accuracy = np.mean([fold.accuracies(mu) for fold in folded], axis=0)
    i, j = (int(v) for v in np.unravel_index(int(accuracy.argmax()), accuracy.shape))
    return Choice(
        C.at(i, 2 * total.scale),
        mu.at(j, semantic_scale(A)),
        float(np.exp(np.mean([fold.log_temperature(i, mu, j) for fold in folded]))),
        total,
    )


@dataclass(frozen=True)
class _Fold:
    """Held-out rows under the ridges that all other classes give."""

    codes: Codes
    weights: Array | None
    embedded: list[Array]
    """For each value of C, X · 2(2XᵀX + C·I)⁻¹XᵀY, which all values of μ share."""
    seen: Array
    unseen: Array

    @classmethod
    def of(cls, held: Rows, part: Codes, total: Sums, own: Sums, A: Array, C: Path) -> _Fold:
        """Take the held-out classes away from the total."""
        kept = np.setdiff1d(np.arange(A.shape[1]), part)
        train = total.without(own, kept)
        values = [C.at(i, 2 * train.scale) for i in range(len(C.values))]
        halves = np.concatenate(ridge_path(train.second, values, 2 * train.labels, FOLD_ERROR), axis=1)
        embedded = np.hsplit(held.X @ halves.astype(held.X.dtype), len(values))
        return cls(held.codes, held.weights, embedded, A[:, kept], A[:, part])

    def accuracies(self, mu: Path) -> Array:
        """Return the per-class accuracy on the held-out classes for each pair of values."""
        out = np.empty((len(self.embedded), len(mu.values)))
        for i, j in np.ndindex(out.shape):
            hits = self._scores(i, mu, j).argmax(axis=1) == self.codes
            classes = self.unseen.shape[1]
            out[i, j] = np.nanmean(per_class_accuracy(self.codes, hits, classes, self.weights))
        return out

    def log_temperature(self, i: int, mu: Path, j: int) -> float:
        """Return the log-temperature of the held-out rows."""
        scores = self._scores(i, mu, j)
        return float(np.log(fit_temperature(scores, self.codes, self.unseen.shape[1], self.weights)))

    def _scores(self, i: int, mu: Path, j: int) -> Array:
        H = semantic_ridge(self.seen, mu.at(j, semantic_scale(self.seen)))
        right = self.seen.T @ linalg.solve(H, self.unseen, assume_a="pos")
        return np.asarray(self.embedded[i] @ right.astype(self.embedded[i].dtype))
