"""MetricZSL: metric learning with attribute consistency."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import semantic_coordinates, span_sums
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.hinge import match_signs
from unseen.solvers.lbfgs import Objective, minimise
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import Bank, ridge_bank
from unseen.statistics.prototype_map import nearest_scores
from unseen.typing import Array, CandidateClasses

Prepared: TypeAlias = tuple[Rows, Sums, Array | None, Array, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""


class MetricZSL(TunedClassifier):
    """Predict the attributes of a row, and learn a metric that tells which class they belong to.

        D(x, a) = ‖(Wᵀx + b − a)ᵀM‖²
        min over W, b, M, τ   Σₙ Σₖ ωₙₖ max(0, 1 − tₙₖ(τ − D(xₙ, aₖ))) + λ Σₙ ‖Wᵀxₙ + b − aᵧₙ‖² + γλ‖W‖²

    xₙ is a row, aₖ the vector of class k (centred, of unit deviation, in coordinates of the span of
    the seen classes), Wᵀx + b the predicted attributes, M (r×r) the metric, τ the threshold of a
    match; tₙₖ = +1 for the class of row n and −1 for the others, whose weights ω together equal that
    of the one. The score of a class is −D(x, a).

    M. Bucher, S. Herbin and F. Jurie, "Improving semantic embedding consistency by metric learning for
    zero-shot classification", ECCV 2016. Deviations:

    - All pairs of rows and seen classes take part, with balanced weights; the original draws pairs.
    - A few steps of L-BFGS from the ridge regression (W, b) and the identity (M) take the place of
      stochastic descent from a random start; stopping early takes the place of the penalty on M.
    - Coordinates of the span of the seen classes: M and W are learned only where seen classes vary;
      D ignores what lies outside of it.
    - γ and λ are chosen on class-wise folds unless they are given.

    Not verified: the original's number of columns of M and its weights on each data set.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.
    consistency : float or "auto"
        λ, the weight of predicting attributes.
    max_iter : int
        Steps of L-BFGS. 0 leaves the start as it is.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, r) and (r,)
        W and b.
    metric_ : array of shape (r, r)
        M.
    semantic_center_, semantic_map_ : arrays of shape (q,) and (q, r)
        A vector a has the coordinates (a − center) @ map.
    ridge_, consistency_ : float
    n_iter_ : int
        Steps that were taken.

    Examples
    --------
    >>> from unseen import MetricZSL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = MetricZSL(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Predicted attributes and a metric, learned together with a hinge on matches."),
        sets("consistency", 1.0, UNVERIFIED, "Its weights differ by data set and were not read."),
        sets("max_iter", 15, UNVERIFIED, "The original descends from a random start."),
    )

    citation = Citation(
        "Bucher, Herbin and Jurie",
        "Improving semantic embedding consistency by metric learning for zero-shot classification",
        "ECCV",
        2016,
        table_name="Bucher et al.",
    )

    advice = Advice(
        cost="one ridge regression, then a few steps of L-BFGS over rows and classes",
        take="attributes are correlated, and a metric between them should be learned",
        leave="features are weak and classes few",
    )

    _tuning_rows_at_most = 2000
    n_iter_: int
    coef_: Array
    intercept_: Array
    metric_: Array
    semantic_center_: Array
    semantic_map_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        ridge: float | str = "auto",
        consistency: float | str = "auto",
        max_iter: int = 15,
    ) -> None:
        super().__init__(semantics, candidates)
        self.ridge = ridge
        self.consistency = consistency
        self.max_iter = max_iter

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ and λ that "auto" tries."""
        return {"ridge": (0.1, 1.0), "consistency": (0.1, 1.0)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        in_span, sums, basis = span_sums(rows, len(vectors))
        self.semantic_center_ = vectors.mean(axis=0)
        coordinates, E = semantic_coordinates((vectors - self.semantic_center_).T)
        length = max(float(np.sqrt((coordinates**2).sum(axis=0).mean())), np.finfo(float).tiny)
        self.semantic_map_ = E / length
        return in_span, sums, basis, coordinates.T / length, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        rows, sums, basis, A, dtype = prepared
        total = sums.counts.sum()
        mean = sums.labels.sum(axis=1) / total
        bank = ridge_bank(sums, A, setting["ridge"])
        centred = rows._replace(X=rows.X - mean.astype(rows.X.dtype))
        decay = setting["ridge"] * max(float(np.trace(sums.moments) - total * mean @ mean), 0.0)
        start = [bank.coef, bank.intercept + mean @ bank.coef, *_metric_start(bank, sums, A)]
        taken = 0
        if self.max_iter > 0:
            weight = setting["consistency"]
            objective = _objective(centred, A, weight, decay / sums.width)
            start, taken = minimise(objective, start, int(self.max_iter))
        self.n_iter_ = max(1, taken)
        W, b, self.metric_, _ = start
        self.intercept_ = (b - mean @ W).astype(dtype)
        self.coef_ = (W if basis is None else basis @ W).astype(dtype)

    def _scores(self, X: Array, vectors: Array) -> Array:
        A = (vectors - self.semantic_center_) @ self.semantic_map_
        mapped = Bank(self.coef_, self.intercept_)(X) @ self.metric_.astype(X.dtype)
        return nearest_scores(mapped, A @ self.metric_)

    def _semantic_width(self) -> int:
        return len(self.semantic_center_)


def _metric_start(bank: Bank, sums: Sums, A: Array) -> tuple[Array, Array]:
    """Return M = scale·I and τ, such that a mean row is nearer than τ to its class only."""
    means = (sums.labels / sums.counts).T @ bank.coef + bank.intercept
    distance = ((means[:, None] - A[None]) ** 2).sum(axis=2)
    to_class = float(np.diag(distance).mean())
    others = float((distance.sum() - np.trace(distance)) / max(1, distance.size - len(A)))
    gap = max(others - to_class, 1e-6 * (others + to_class), np.finfo(float).tiny)
    scale = 2 / gap
    return np.sqrt(scale) * np.eye(A.shape[1]), np.array(scale * (to_class + others) / 2)


def _objective(rows: Rows, A: Array, consistency: float, decay: float) -> Objective:
    X, codes, weights = rows
    signs = match_signs(codes, len(A), X.dtype)
    balance = np.where(signs > 0, 1.0, 1.0 / max(1, len(A) - 1)).astype(X.dtype)
    if weights is not None:
        balance *= weights.astype(X.dtype)[:, None]
    share = balance[np.arange(len(X)), codes][:, None]
    total = float(share.sum(dtype=float))
    wanted = A.astype(X.dtype)[codes]

    def value(parts: list[Array]) -> tuple[float, list[Array]]:
        W, b, M, tau = (part.astype(X.dtype) for part in parts)
        E = X @ W + b
        P, Q = E @ M, A.astype(X.dtype) @ M
        slack = 1 - signs * (tau + nearest_scores(P, Q))
        active = balance * (slack > 0)
        error = E - wanted
        loss = float((active * slack).sum(dtype=float))
        loss += consistency * float((share * error * error).sum(dtype=float))
        loss += consistency * decay * float((parts[0] ** 2).sum())
        g = active * signs  # of the distances
        dP = 2 * (g.sum(axis=1)[:, None] * P - g @ Q)
        dQ = 2 * (g.sum(axis=0)[:, None] * Q - g.T @ P)
        dE = dP @ M.T + 2 * consistency * share * error
        gradients = [
            X.T @ dE + 2 * consistency * decay * parts[0],
            dE.sum(axis=0),
            E.T @ dP + A.T @ dQ,
            -g.sum(dtype=float),
        ]
        return loss / total, [np.asarray(v) / total for v in gradients]

    return value
