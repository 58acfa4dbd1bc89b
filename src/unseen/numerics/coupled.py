"""TASTE's inner problem: labelled rows and pseudo-labelled rows under one compatibility."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.bilinear import Choice
from unseen.numerics.chunks import Chunks
from unseen.numerics.folds import Rows
from unseen.numerics.rows import gram, labelled_sums, row_space
from unseen.numerics.sgd import semantic_coordinates
from unseen.numerics.structural import (
    StructuralSolution,
    frank_wolfe,
    one_domain,
    regularised,
    semantic_ridge,
    two_domains,
)

Array = npt.NDArray[Any]


class StructuralProblem:
    """The convex problem of :mod:`unseen.numerics.structural`, solved again as labels are trusted.

    Parameters
    ----------
    rows : Rows
        Labelled rows.
    A, B : arrays of shape (q, K) and (q, L)
        Semantics of their classes, and of the candidates.
    choice : Choice
        C, μ and the sums over X.
    metric : array of shape (p, p), optional
        Of the regulariser; the identity when not given.
    """

    def __init__(
        self,
        rows: Rows,
        A: Array,
        B: Array,
        choice: Choice,
        metric: Array | None = None,
    ) -> None:
        joint, self._span = semantic_coordinates(np.concatenate([A, B], axis=1))
        self._A, self._B = joint[:, : A.shape[1]], joint[:, A.shape[1] :]
        self._X, self._codes, self._weights = rows
        self._choice, self._metric = choice, metric
        self._dual: Array | None = None

    @property
    def total(self) -> float:
        """The number of labelled rows, or their weight."""
        return float(self._choice.sums.counts.sum())

    def labelled_only(self, tol: float, max_iter: int = 100) -> StructuralSolution:
        """Solve ASTE."""
        X, moments, metric, basis = self._coordinates(())[1:]
        solve = one_domain(
            regularised(moments, self._choice.C, metric),
            semantic_ridge(self._A, self._choice.mu),
        )
        found = frank_wolfe(
            X,
            self._codes,
            self._A,
            solve,
            weights=self._weights,
            labels=self._known(basis),
            tol=tol,
            max_iter=max_iter,
        )
        return self._finish(found, basis)

    def with_pseudo_labels(
        self, pool: Any, codes: Any, weights: Any, tol: float, max_iter: int = 100
    ) -> StructuralSolution:
        """Solve with rows of the pool, their candidate codes and their weights added."""
        pool, X, moments, metric, basis = self._coordinates(pool)
        C, mu = self._choice.C, self._choice.mu
        pseudo_moments, pseudo_labels, sizes = labelled_sums(pool, codes, self._B.shape[1], weights)
        solve = two_domains(
            regularised(moments, C, metric),
            semantic_ridge(self._A, mu),
            regularised(pseudo_moments, C, metric),
            semantic_ridge(self._B, mu),
        )
        found = frank_wolfe(
            X,
            self._codes,
            self._A,
            solve,
            weights=self._weights,
            labels=self._known(basis),
            start=self._dual if basis is None else None,
            pseudo_sums=2 * pseudo_labels @ self._B.T,
            pseudo_weight=float(sizes.sum()),
            tol=tol,
            max_iter=max_iter,
        )
        return self._finish(found, basis)

    def _known(self, basis: Array | None) -> tuple[Array, Array] | None:
        """Return the class sums that the choice took, unless the rows are written in their span."""
        sums = self._choice.sums
        return (sums.labels, sums.counts) if basis is None else None

    def _coordinates(self, pool: Any) -> tuple[Any, Any, Array, Array | None, Array | None]:
        """Write few rows in their own span, where the metric is the identity."""
        X = self._X
        if len(X) + len(pool) >= X.shape[1] or isinstance(X, Chunks) or isinstance(pool, Chunks):
            return pool, X, self._choice.sums.moments, self._metric, None
        both = np.concatenate([pool, X]) if len(pool) else X
        rows, basis = row_space(both, self._metric)
        pool, X = rows[: len(pool)], rows[len(pool) :]
        return pool, X, gram(X, self._weights), None, basis

    def _finish(self, found: StructuralSolution, basis: Array | None) -> StructuralSolution:
        self._dual = found.dual_sums if basis is None else None
        V = found.compatibility if basis is None else basis @ found.compatibility
        return replace(found, compatibility=V @ self._span.T)
