"""What ESZSL, ASTE and SJE share: a bilinear score xᵀVa, and its two ridges chosen on class-wise folds.

    V(C, μ) = 2 (2XᵀX + C·I)⁻¹ XᵀYAᵀ (AAᵀ + μI)⁻¹

is ESZSL's closed form, the start of ASTE (its dual point α = Y) and of TASTE. One Gram matrix is
computed for each fold; the training sums of the others are differences from the total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.base import ZeroShotClassifier
from unseen.rows import kernels
from unseen.rows.chunks import BLOCK_ROWS
from unseen.rows.labelled import FEWEST_CLASSES, FoldOf, Rows, class_folds
from unseen.rows.passes import class_weights, mapped
from unseen.solvers.moments import Moments, Ridge, Sums, one_domain, ridge_path
from unseen.solvers.row_space import row_space
from unseen.statistics.held_out import first_best, fit_temperature, mean_temperature
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, Codes, RowValues, Solve

C_GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
MU_GRID = (0.03, 0.1, 0.3, 1.0, 3.0)

FOLD_ERROR = 1e-2
"""Bound on the relative error of solutions in folds, which only rank values of C and μ."""

TEMPERATURE_ROWS = 2000
"""The most rows of each held-out class on which a temperature is fitted."""

ONE_HOT_C = 1e-3
"""The scale-free C of an ordinary linear classifier (``semantics=None``)."""


@dataclass(frozen=True)
class Choice:
    """What the folds chose."""

    C: float
    mu: float
    temperature: float | None
    """Fitted on the scores of held-out classes; None when there were no folds."""
    sums: Sums
    """Over all rows, for the fit that follows."""

    @property
    def unit(self) -> float:
        """The unit in which C is searched: the mean diagonal of 2XᵀX."""
        return 2 * self.sums.scale

    def solver(self, A: Array) -> Solve:
        """Return the map R → V with (2XᵀX + C·I) V (AAᵀ + μI) = R."""
        return one_domain(Ridge(self.sums.second, self.C), semantic_ridge(A, self.mu))


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


class BilinearClassifier(ZeroShotClassifier):
    """A classifier with score xᵀVa.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)
        The matrix V.
    """

    rehearses_in_directions = True
    _shows_bad_values = True

    compatibility_: Array

    def _scores(self, X: Array, vectors: Array) -> Array:
        W = self.compatibility_ @ vectors.T
        return np.asarray(X @ W.astype(X.dtype, copy=False))

    def _scorer(self, vectors: Array) -> Scorer:
        return Scorer(self.compatibility_)

    def _semantic_width(self) -> int:
        return int(self.compatibility_.shape[1])

    def _label_embedding(self, X: object) -> RowValues:
        scores: RowValues = self._candidate_scores(X)
        return scores

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
        by_hand, one_hot = C is not None and mu is not None, self.semantics is None
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
    """Write few rows of many columns in coordinates of their span; the basis maps them back."""
    if len(rows.X) >= rows.X.shape[1] or rows.in_chunks:
        return rows, held, None
    Z, basis = row_space(rows.X)
    if held is not None:
        held = held._replace(X=mapped(np.matmul, held.X, given=(basis.astype(held.X.dtype),)))
    return rows._replace(X=Z), held, basis


def span_sums(rows: Rows, classes: int) -> tuple[Rows, Sums, Array | None]:
    """Return rows in coordinates of their span, as :func:`in_own_span`, and their sums; the basis."""
    in_span, _, basis = in_own_span(rows, None)
    return in_span, Sums.of(in_span, classes, rows.X.shape[1]), basis


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


def semantic_scale(A: Array) -> float:
    """Return the mean eigenvalue of AAᵀ: the unit in which μ is searched."""
    return max(float(np.einsum("ij,ij->", A, A)) / len(A), np.finfo(float).tiny)


def semantic_ridge(A: Array, mu: float) -> Array:
    """Return AAᵀ + μI, or with μ = 0 a positive definite stand-in for AAᵀ.

    With μ = 0 and AAᵀ singular, V is determined on span(A) only; the tiny ridge selects the
    solution of minimum norm there, to rounding.
    """
    H: Array = A @ A.T
    floor = np.finfo(float).eps * len(H) * max(float(np.trace(H)), np.finfo(float).tiny)
    H[np.diag_indices_from(H)] += max(mu, floor)
    return H


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
    parts = class_folds(A.T, min(folds, classes // 2), seed)
    table = FoldOf.of(parts, classes)
    moments, labels, counts = fold_sums(rows, table)
    whole = moments[0].copy()
    for fold_moments in moments[1:]:
        whole += fold_moments
    p = rows.X.shape[1] if width is None else width
    total = Sums(Moments.given(whole), labels, counts, p)
    judged = rows if held is None else held
    dtype = judged.X.dtype
    folded = [_Fold(part, total, moments.pop(0), A, C, mu, dtype) for part in parts]
    left, right = [fold.left for fold in folded], [fold.right for fold in folded]
    hits = judged.summed(kernels.fold_hits, (table, left, right))
    sizes = counts if held is None else class_weights(held.codes, classes, held.weights)
    shares = [
        fold_hits / np.where(sizes[part] > 0, sizes[part], np.nan)[:, None, None]
        for fold_hits, part in zip(hits, parts, strict=True)
    ]
    accuracy = np.array([np.nanmean(fold_shares, axis=0) for fold_shares in shares])
    best = first_best(accuracy.reshape(len(parts), -1))
    i, j = (int(v) for v in np.unravel_index(best, accuracy.shape[1:]))
    temperatures = fold_temperatures(
        judged, table, [half[:, i] for half in left], [half[j] for half in right]
    )
    return Choice(
        C.at(i, 2 * total.scale),
        mu.at(j, semantic_scale(A)),
        mean_temperature(temperatures),
        total,
    )


class _Fold:
    """The ridges that all classes but those of one fold give, in two factors.

    ``left[:, i]`` is 2(2XᵀX + C·I)⁻¹XᵀY, which all values of μ share; ``left[:, i] @ right[j]`` scores
    the held-out classes. With fewer attributes than classes it is 2(2XᵀX + C·I)⁻¹XᵀYAᵀ: the factors
    then meet in the attributes, and no product is of classes with classes.
    """

    def __init__(
        self, part: Codes, total: Sums, held: Array, A: Array, C: Path, mu: Path, dtype: npt.DTypeLike
    ) -> None:
        others = np.setdiff1d(np.arange(A.shape[1]), part)
        train = total.without(held, others)
        values = [C.at(i, 2 * train.scale) for i in range(len(C.values))]
        seen, unseen = A[:, others], A[:, part]
        few_attributes = len(A) < len(others)
        targets = 2 * (train.labels @ seen.T if few_attributes else train.labels)
        halves = ridge_path(train.second, values, targets, FOLD_ERROR)
        self.left = np.stack([half.astype(dtype) for half in halves], axis=1)
        ridges = [semantic_ridge(seen, mu.at(j, semantic_scale(seen))) for j in range(len(mu.values))]
        rights = [np.linalg.solve(H, unseen) for H in ridges]
        if not few_attributes:
            rights = [seen.T @ right for right in rights]
        self.right = np.stack(rights).astype(dtype)


def fold_sums(rows: Rows, table: FoldOf) -> tuple[list[Array], Array, Array]:
    """Return XᵀX of the rows of each fold, and XᵀY (p, K) and the class weights of all."""
    if not rows.in_chunks:  # in memory it is quicker to gather the rows of one fold at a time
        moments = []
        for part in table.parts:
            fold = rows.of_classes(part)
            moments.append(Moments(fold.X, fold.weights).dense)
        return moments, *rows.totals(len(table.fold))
    *moments, labels, counts = rows.summed(kernels.fold_sums, (table,), 4 * BLOCK_ROWS)
    return moments, labels.T, counts


def fold_temperatures(rows: Rows, table: FoldOf, left: list[Array], right: list[Array]) -> list[float]:
    """Return the temperature of the scores X·left·right of the rows of each fold."""
    parts = rows.drawn(TEMPERATURE_ROWS).gathered(kernels.fold_scores, (table, left, right))
    temperatures = []
    for of_fold in zip(*parts, strict=True):
        scores, codes, weights = zip(*of_fold, strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        stacked = np.concatenate(scores), np.concatenate(codes)
        temperatures.append(fit_temperature(*stacked, weight))
    return temperatures
