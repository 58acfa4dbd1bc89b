"""TASTE's inner problem: labelled rows and pseudo-labelled rows under one compatibility."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.rows.labelled import Rows
from unseen.rows.passes import in_chunks
from unseen.solvers.moments import (
    Moments,
    Sums,
    moments_of,
    one_domain,
    pays,
)
from unseen.solvers.row_space import row_space
from unseen.solvers.structural import (
    Metric,
    StructuralSolution,
    covariance_metric,
    frank_wolfe,
    ridge_by,
    two_domains,
)
from unseen.typing import Array, RowValues, Solve

ROUND_ERROR = 4e-3
"""Bound on the relative error of solutions in a subspace. The error of scores is a tenth of it,
that of the objective its square, far less than the certified gap."""

ROUGH_ERROR = 5e-2
"""The same for rounds before the last, which only decide which rows are trusted next. In 8 fits to
simulated pools of 618 rows, 43 of 4,944 rows were first trusted in another round than with exact
solutions, and 3 ended with another label; with 1e-2 these were 14 and 0."""

SHARE_NOT_GATHERED = 0.5
"""From this share of trusted rows the whole pool is used: rows of weight 0 cost less than a copy."""


class Domain(NamedTuple):
    """The classes of the labelled rows, or those of the pool."""

    vectors: Array
    """A (r, K), in coordinates of the span of both domains."""
    ridge: Array
    """H = AAᵀ + μI."""


class StructuralProblem:
    """The convex problem of :mod:`unseen.solvers.structural`, solved again as labels are trusted.

    Parameters
    ----------
    rows : Rows
        Labelled rows.
    seen, candidates : Domain
        Their classes, and those of the pool.
    span : array of shape (q, r)
        The orthonormal basis of the coordinates of both.
    sums : Sums
        Of the labelled rows.
    C : float
    """

    def __init__(
        self, rows: Rows, seen: Domain, candidates: Domain, span: Array, sums: Sums, C: float
    ) -> None:
        self._seen, self._candidates, self._span = seen, candidates, span
        self._X, self._codes, self._weights = rows
        self._sums, self._C = sums, C
        self._metric: Metric | None = None
        self._inverse: Solve | None = None
        self._solved: Array = np.empty((0, 0))
        self._dual: Array | None = None
        self._near: Array | None = None
        second = sums.second
        many = len(rows.X) >= second.width and pays(second, len(seen.vectors))
        self._space = second.subspace(ROUND_ERROR) if many else None

    def measure(self, C: float, shrinkage: float | None, sums: Sums | None = None) -> None:
        """Take another C from now on, and measure weights by a within-class covariance.

        Parameters
        ----------
        C : float
        shrinkage : float, optional
            How far the covariance is shrunk to its mean variance; None keeps the identity.
        sums : Sums, optional
            Of the rows whose covariance it is, when they are not those of the problem.
        """
        metric = covariance_metric(self._sums if sums is None else sums, shrinkage)
        self._C, self._metric, self._dual = C, metric, None
        if self._space is not None and metric is not None:
            self._space.with_metric(metric.spread)

    @property
    def total(self) -> float:
        """The number of labelled rows, or their weight."""
        return float(self._sums.counts.sum())

    def labelled_only(self, tol: float, last: bool = True, max_iter: int = 100) -> StructuralSolution:
        """Solve ASTE; its gap is certified unless rounds follow."""
        nothing = np.empty((0, self._X.shape[1]), dtype=self._X.dtype)
        X, moments, metric, basis = self._coordinates(nothing)[1:]
        solve = one_domain(ridge_by(metric, moments, self._C), self._seen.ridge, self._space)
        return self._frank_wolfe(X, basis, solve, tol=tol, max_iter=max_iter, certified=last)

    def with_pseudo_labels(
        self, rows: Rows, tol: float, last: bool = True, max_iter: int = 100
    ) -> StructuralSolution:
        """Solve with the pool added: its rows, their candidate codes and their weights.

        A row of weight 0 is not trusted. Rounds before the ``last`` may be solved less exactly.
        """
        whole = self._space is not None and not in_chunks(rows.X)
        gathered = not whole or (rows.weights > 0).mean() < SHARE_NOT_GATHERED
        if gathered:
            rows = rows.trusted()
        pool, X, moments, metric, basis = self._coordinates(rows.X)
        B = self._candidates.vectors
        second, labels, sizes = moments_of(pool, rows.codes, B.shape[1], rows.weights)
        solve = two_domains(
            ridge_by(metric, moments, self._C),
            self._seen.ridge,
            ridge_by(metric, second, self._C),
            self._candidates.ridge,
            self._space,
            self._near,
            ROUND_ERROR if last else ROUGH_ERROR,
        )
        solution = self._frank_wolfe(
            X,
            basis,
            solve,
            start=self._dual if basis is None else None,
            pseudo_sums=2 * labels @ B.T,
            pseudo_weight=float(sizes.sum()),
            tol=tol,
            max_iter=max_iter,
            certified=last,
        )
        if self._space is not None and gathered:  # release these rows before the next are gathered
            self._space.without_pool()
        return solution

    def _coordinates(self, pool: Any) -> tuple[Any, Any, Moments, Metric | None, Array | None]:
        """Write few rows in their own span, where the metric is the identity."""
        X = self._X
        if len(X) + len(pool) >= X.shape[1] or in_chunks(X) or in_chunks(pool):
            return pool, X, self._sums.second, self._metric, None
        rows, solved = np.concatenate([pool, X]), None
        if self._metric is not None and self._inverse is None:
            self._inverse = self._metric.solver(len(rows))
            solved = self._inverse(rows.T)
            self._solved = solved[:, len(pool) :]
        elif self._inverse is not None:
            solved = np.concatenate([self._inverse(pool.T), self._solved], axis=1)
        rows, basis = row_space(rows, solved)
        pool, X = rows[: len(pool)], rows[len(pool) :]
        return pool, X, Moments(X, self._weights), None, basis

    def _frank_wolfe(
        self, X: RowValues, basis: Array | None, solve: Solve, **options: object
    ) -> StructuralSolution:
        """Solve for the labelled rows, in the coordinates of a basis or as they are."""
        labels = self._sums.labels if basis is None else None
        given = {"weights": self._weights, "labels": labels, **options}
        solution = frank_wolfe(X, self._codes, self._seen.vectors, solve, **given)
        V = solution.compatibility
        self._dual = solution.dual_sums if basis is None else None
        self._near = V if basis is None else None
        V = V if basis is None else basis @ V
        return replace(solution, compatibility=V @ self._span.T)
