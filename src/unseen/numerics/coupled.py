"""TASTE's inner problem: labelled rows and pseudo-labelled rows under one compatibility."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.bilinear import Choice
from unseen.numerics.folds import Rows
from unseen.numerics.rows import Codes, class_sums, class_weights, gram, row_space
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
        X, moments, metric, basis = self._coordinates(self._X[:0])[1:]
        solve = one_domain(
            regularised(moments, self._choice.C, metric),
            semantic_ridge(self._A, self._choice.mu),
        )
        found = frank_wolfe(
            X, self._codes, self._A, solve, weights=self._weights, tol=tol, max_iter=max_iter
        )
        return self._finish(found, basis)

    def with_pseudo_labels(
        self, pool: Array, codes: Codes, weights: Array, tol: float, max_iter: int = 100
    ) -> StructuralSolution:
        """Solve with rows of the pool, their candidate codes and their weights added."""
        pool, X, moments, metric, basis = self._coordinates(pool)
        C, mu = self._choice.C, self._choice.mu
        solve = two_domains(
            regularised(moments, C, metric),
            semantic_ridge(self._A, mu),
            regularised(gram(pool, weights), C, metric),
            semantic_ridge(self._B, mu),
        )
        found = frank_wolfe(
            X,
            self._codes,
            self._A,
            solve,
            weights=self._weights,
            start=self._dual if basis is None else None,
            pseudo_sums=2 * class_sums(pool, codes, self._B.shape[1], weights) @ self._B.T,
            pseudo_weight=float(class_weights(codes, self._B.shape[1], weights).sum()),
            tol=tol,
            max_iter=max_iter,
        )
        return self._finish(found, basis)

    def _coordinates(self, pool: Array) -> tuple[Array, Array, Array, Array | None, Array | None]:
        """Write few rows in their own span, where the metric is the identity."""
        X = self._X
        if len(X) + len(pool) >= X.shape[1]:
            return pool, X, self._choice.sums.moments, self._metric, None
        rows, basis = row_space(np.concatenate([pool, X]), self._metric)
        pool, X = rows[: len(pool)], rows[len(pool) :]
        return pool, X, gram(X, self._weights), None, basis

    def _finish(self, found: StructuralSolution, basis: Array | None) -> StructuralSolution:
        self._dual = found.dual_sums if basis is None else None
        V = found.compatibility if basis is None else basis @ found.compatibility
        return replace(found, compatibility=V @ self._span.T)
