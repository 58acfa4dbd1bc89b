"""A sketch: rows scaled and, where they are wide, in a few of their principal directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unseen.rows.kernels import Scaling
from unseen.solvers.row_space import SKETCH_COLUMNS, first_directions
from unseen.statistics.visual_space import Space, scaled_rows, usual_scaling
from unseen.typing import Array, RowValues


class Sketch(NamedTuple):
    """How rows are brought into a sketch, and class vectors that are rows of features."""

    scaling: Scaling
    basis: Array | None
    """(p, d), orthonormal; None: rows keep their coordinates."""

    @classmethod
    def of(cls, rows: RowValues, examples: Array) -> Sketch:
        """Choose the scaling by all rows, and the directions by examples of them."""
        scaling, basis = usual_scaling(rows), None
        if min(rows.shape) > SKETCH_COLUMNS:
            basis = first_directions(scaled_rows(examples, scaling))
        return cls(scaling, basis)

    def __call__(self, X: Array) -> Array:
        """Return rows in the sketch, block by block."""
        return Space(self.scaling, np.zeros(X.shape[1]), self.basis)(X)

    def rows_of_classes(self, vectors: Array) -> Array:
        """Return class vectors as rows of the sketch, in double precision."""
        rows = np.asarray(scaled_rows(np.asarray(vectors, dtype=float), self.scaling))
        return rows if self.basis is None else np.asarray(rows @ self.basis)

    def then(self, center: Array, matrix: Array) -> Space:
        """Return the space of rows as they were: into the sketch, and from there by (x − center) M."""
        if self.basis is None:
            return Space(self.scaling, center, matrix)
        # The basis is orthonormal, so that (x − basis·c)·basis = x·basis − c.
        return Space(self.scaling, self.basis @ center, self.basis @ matrix)
