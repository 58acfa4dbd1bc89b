"""What ESZSL, ASTE and SJE share: a bilinear score xᵀVa, and parameters chosen on folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.inductive._bilinear_folds import (
    C_GRID,
    MU_GRID,
    Choice,
    Path,
    choose,
    semantic_scale,
)
from unseen.rows.labelled import FEWEST_CLASSES, Rows
from unseen.rows.passes import in_chunks, mapped
from unseen.solvers.row_space import row_space
from unseen.solvers.sums import Sums
from unseen.statistics.scorer import Scorer
from unseen.typing import Array

ONE_HOT_C = 1e-3
"""The scale-free C of an ordinary linear classifier (``semantics=None``)."""


class BilinearClassifier(ZeroShotClassifier):
    """A classifier with score xᵀVa.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)
        The matrix V.
    """

    rehearses_in_directions = True

    compatibility_: Array

    def _scores(self, X: Array, vectors: Array) -> Array:
        W = self.compatibility_ @ vectors.T
        return np.asarray(X @ W.astype(X.dtype, copy=False))

    def _shows_bad_values(self) -> bool:
        return True

    def _scorer(self, vectors: Array) -> Scorer:
        return Scorer(self.compatibility_)

    def _semantic_width(self) -> int:
        return int(self.compatibility_.shape[1])

    def _label_embedding(self, X: Any) -> Any:
        return self._candidate_scores(X)

    def _choose_ridges(
        self,
        rows: Rows,
        A: Array,
        C: float | None,
        mu: float | None,
        *,
        held: Rows | None = None,
        width: int | None = None,
    ) -> Choice:
        """Choose by class-wise folds what was not given by hand, and take the sums of all rows."""
        by_hand = C is not None and mu is not None
        one_hot = self.semantics is None
        if not one_hot and not by_hand and A.shape[1] >= FEWEST_CLASSES:
            paths = Path.of(C, C_GRID), Path.of(mu, MU_GRID)
            return choose(rows, A, *paths, held=held, width=width)
        sums = Sums.of(rows, A.shape[1], width)
        if C is None:
            C = 2 * (ONE_HOT_C if one_hot else 0.3) * sums.scale
        if mu is None:
            mu = 0.0 if one_hot else 0.3 * semantic_scale(A)
        return Choice(C, mu, None, sums)


def in_own_span(rows: Rows, held: Rows | None) -> tuple[Rows, Rows | None, Array | None]:
    """Write few rows of many columns in coordinates of their span; the basis leads back."""
    if len(rows.X) >= rows.X.shape[1] or in_chunks(rows.X):
        return rows, held, None
    Z, basis = row_space(rows.X)
    if held is not None:
        held = held._replace(X=mapped(np.matmul, held.X, given=(basis.astype(held.X.dtype),)))
    return rows._replace(X=Z), held, basis


def semantic_coordinates(A: Array) -> tuple[Array, Array]:
    """Return A in an orthonormal basis of its column span: A = E @ coordinates.

    Returns
    -------
    coordinates : array of shape (r, K), r = rank(A)
        Its rows are orthogonal, so that AAᵀ is diagonal in these coordinates.
    E : array of shape (q, r)
    """
    E, s, right = np.linalg.svd(A, full_matrices=False)
    rank = max(1, int((s > s[0] * max(A.shape) * np.finfo(float).eps).sum()))
    return s[:rank, None] * right[:rank], E[:, :rank]
