"""The sums over labelled rows that ridge regressions are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unseen.rows.labelled import Rows
from unseen.rows.passes import between_factor
from unseen.solvers.moments import Metric, Moments, moments_of
from unseen.typing import Array, Codes


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
