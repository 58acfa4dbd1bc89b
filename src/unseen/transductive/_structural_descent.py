"""TASTE's inner problem by the paper's descent: Eq. (13) on labelled rows, Eq. (21) on the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.inductive._paper_descent import (
    descent_coordinates,
    descent_generator,
    descent_schedule,
    descent_start,
)
from unseen.inductive.bilinear import BilinearClassifier
from unseen.rows.labelled import Rows
from unseen.solvers.gradient_descent import lipschitz
from unseen.solvers.losses import structural_objective
from unseen.solvers.scheduled_descent import scheduled_descent, two_domain_cost
from unseen.solvers.structural import StructuralSolution
from unseen.typing import Array


class StructuralDescent:
    """The problem of a round, descended from the V of the round before.

    Parameters
    ----------
    model : estimator
        With the parameters of the descent, as :class:`~unseen.ASTE` has them.
    rows : Rows
        Labelled rows.
    A, B : arrays of shape (q, K) and (q, L)
        Semantics of their classes, and of the candidates.
    C, mu : float
    held : Rows, optional
        Rows on which a start at ESZSL's solution chooses its ridges.
    """

    def __init__(
        self,
        model: BilinearClassifier,
        rows: Rows,
        A: Array,
        B: Array,
        C: float,
        mu: float,
        held: Rows | None = None,
    ) -> None:
        joint = np.concatenate([A, B], axis=1)
        self._rows, self._A, self._seen, self._C, self._mu = rows, A, A.shape[1], C, mu
        self._schedule = descent_schedule(model)
        self._random = descent_generator(model.get_params(deep=False)["random_state"])
        self._joint, self._span = descent_coordinates(joint, self._schedule)
        curvature = 2 * lipschitz(rows.X, A, mu)
        start = model, rows, A, self._span, self._schedule, curvature, self._random, held
        self._V = descent_start(*start)

    @property
    def total(self) -> float:
        """The number of labelled rows, or their weight."""
        weights = self._rows.weights
        return float(len(self._rows.X) if weights is None else weights.sum())

    def labelled_only(self, tol: float, last: bool = True) -> StructuralSolution:
        """Descend on the labelled rows: ASTE. Neither argument matters to a descent."""
        seen = self._joint[:, : self._seen]
        return self._descend(self._rows, self._joint, np.einsum("ij,ij->i", seen, seen))

    def with_pseudo_labels(self, rows: Rows, tol: float, last: bool = True) -> StructuralSolution:
        """Descend on labelled rows and on the trusted rows of the pool, drawn by their weights."""
        trusted = rows.trusted()
        labelled = self._rows
        weights = np.ones(len(labelled.X)) if labelled.weights is None else labelled.weights
        together = Rows(
            np.concatenate([labelled.X, np.asarray(trusted.X)]),
            np.concatenate([labelled.codes, trusted.codes + self._seen]),
            np.concatenate([weights, trusted.weights]),
        )
        squares = np.einsum("ij,ij->i", self._joint, self._joint)
        return self._descend(together, self._joint, squares)

    def _descend(self, rows: Rows, joint: Array, squares: Array) -> StructuralSolution:
        X, codes, weights = rows
        total = float(len(X) if weights is None else weights.sum())
        self._V, rounds = scheduled_descent(
            X,
            codes,
            joint,
            two_domain_cost(self._seen),
            self._V,
            self._schedule,
            2 * lipschitz(X, joint, self._mu),
            random=self._random,
            weights=weights,
            decay=self._C / total * (squares + self._mu),
            ridge=self._mu,
        )
        V = self._V.astype(float) @ self._span.T
        labelled: Any = self._rows
        value = structural_objective(
            labelled.X, labelled.codes, self._A, V, self._C, self._mu, labelled.weights
        )
        return StructuralSolution(V, np.empty((0, 0)), value, float("nan"), rounds, certified=False)
