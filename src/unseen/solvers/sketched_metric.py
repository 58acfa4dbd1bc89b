"""A within-class covariance of wide rows in few directions: one thin product with the rows.

Fast training sees every row once, to sum its class. The whole covariance would cost XᵀX, which is what
fast training exists to avoid, so that of wide rows is known in the first directions alone:

    M = share·(Q diag(t) Qᵀ + τ(I − QQᵀ)) + rest·I

Q (p × d) are directions near the first principal ones of a sample of rows less their class means, t the
variances of all rows along the axes of that span, and τ the mean variance outside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.rows.labelled import Rows
from unseen.rows.passes import between_factor, gram, in_chunks
from unseen.solvers.cholesky import Solve
from unseen.solvers.moments import Sums
from unseen.solvers.row_space import first_directions
from unseen.typing import Array

SKETCHED_FROM = 2048
"""Columns from which the covariance is sketched; of fewer, the whole of it takes little time."""

SAMPLE_ROWS = 50
"""Rows of a class that directions are found from; variances along them are those of all rows."""


@dataclass(frozen=True)
class SketchedMetric:
    """M, of mean variance 1, as its inverse is needed."""

    basis: Array
    """Q, (p, d), along the axes of the covariance within its span."""
    inside: Array
    """The eigenvalues of M in that span, (d,)."""
    outside: float
    """The eigenvalue of M outside it."""

    def solver(self, columns: int) -> Solve:
        """Return the map R → M⁻¹R."""
        gain = 1 / self.inside - 1 / self.outside
        return lambda R: self.basis @ (gain[:, None] * (self.basis.T @ R)) + R / self.outside


def may_sketch(rows: Rows) -> bool:
    """Tell whether the covariance of these rows is sketched: they are wide, many, and in memory."""
    return not in_chunks(rows.X) and len(rows.X) > rows.X.shape[1] >= SKETCHED_FROM


def sketched_metric(rows: Rows, sums: Sums, shrinkage: float | None) -> SketchedMetric | None:
    """Return the shrunk within-class covariance of the rows; as :meth:`Sums.metric` with a sketch.

    Parameters
    ----------
    rows : Rows
        Labelled rows.
    sums : Sums
        Their class sums; XᵀX is not formed.
    shrinkage : float or None
        None means the plain norm.
    """
    if shrinkage is None:
        return None
    factor = between_factor(sums.labels, sums.counts)
    p, total = len(factor), sums.second.trace - float(np.square(factor).sum())
    if not total > 0:
        return None
    sample: Rows = rows.thinned(SAMPLE_ROWS)
    means = (sums.labels / np.maximum(sums.counts, 1e-300)).T.astype(sample.X.dtype)
    directions = first_directions(sample.X - means[sample.codes])
    between = directions.T @ factor
    scatter = gram(rows.X @ directions, rows.weights) - between @ between.T
    variances, axes = np.linalg.eigh((scatter + scatter.T) / 2)
    variances = np.maximum(variances, 0.0)
    rest = max(total - float(variances.sum()), 0.0) / (p - len(variances))
    share = (1.0 - shrinkage) * p / total
    basis = directions.astype(float) @ axes
    return SketchedMetric(basis, share * variances + shrinkage, share * rest + shrinkage)
