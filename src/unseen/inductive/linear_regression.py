"""LinearRegressionZSL: ridge regression from features to semantics, the forward LR."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import span_sums
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_patterns
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import Bank, ridge_bank
from unseen.statistics.prototype_map import nearest_scores
from unseen.typing import Array, CandidateClasses, DType

Prepared: TypeAlias = tuple[Sums, Array, Array | None, DType]
"""What ``_prepare`` computes once, for all settings."""


class LinearRegressionZSL(TunedClassifier):
    """Predict the semantics of a row by ridge regression; the nearest class vector answers.

        min over W, b  Σₙ ‖aᵧₙ − Wᵀxₙ − b‖² + γ‖W‖²,   score of class k = −‖aₖ − Wᵀx − b‖²

    xₙ is a row, aₖ the vector of class k, W (p×q) and b the regression.

    This is most likely the "LR" of the paper on ASTE: its Eq. (26) maps a row x to y, and its Table V
    gives it the time of a p × p solve, as ESZSL's. The paper cites Y. Shigeto, I. Suzuki, K. Hara,
    M. Shimbo and Y. Matsumoto, "Ridge regression, hubness, and zero-shot learning", ECML-PKDD 2015,
    who compare this direction with the reverse one, :class:`~unseen.PrototypeRidge`, and propose that.
    Deviations: an intercept; γ is chosen on class-wise folds in scale-free units unless it is given.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, q) and (q,)
        W and b.
    ridge_ : float

    Examples
    --------
    >>> from unseen import LinearRegressionZSL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = LinearRegressionZSL(semantics).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Ridge regression from rows to class vectors; the nearest vector answers."),
        sets("ridge", "auto", UNVERIFIED, "The weight of the paper on ASTE is not stated."),
    )

    citation = Citation(
        "Shigeto, Suzuki, Hara, Shimbo and Matsumoto",
        "Ridge regression, hubness, and zero-shot learning",
        "ECML-PKDD",
        2015,
        table_name="LR",
    )

    advice = Advice(
        cost="one pass over the rows and one p × p solve",
        take="you compare with the LR of the paper on ASTE",
        leave=(
            "accuracy counts: mapping to the semantic space makes some class vectors the nearest of "
            "too many rows (hubs)"
        ),
    )

    coef_: Array
    intercept_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        ridge: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.ridge = ridge

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ that "auto" tries."""
        return {"ridge": (0.001, 0.01, 0.1, 1.0)}

    def training_errors(self, rows: Rows, vectors: Array) -> tuple[float, float]:
        """Return ε of Eq. (26), with 1/N, and ε̄ of Eq. (27), with 1/K, both against class vectors."""
        bank = Bank(self.coef_, self.intercept_)
        error = bank(rows.X) - vectors[rows.codes].astype(rows.X.dtype)
        means, present = class_patterns(*rows.totals(len(vectors)), rows.X.dtype)
        of_means = bank(means) - vectors[present].astype(rows.X.dtype)
        per_row, per_class = (np.square(e, dtype=float).sum(axis=1).mean() for e in (error, of_means))
        return float(per_row), float(per_class)

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        _, sums, basis = span_sums(rows, len(vectors))
        return sums, vectors, basis, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, vectors, basis, dtype = prepared
        bank = ridge_bank(sums, vectors, setting["ridge"])
        self.coef_, self.intercept_ = bank.for_columns(basis, dtype)

    def _scores(self, X: Array, vectors: Array) -> Array:
        return nearest_scores(Bank(self.coef_, self.intercept_)(X), vectors)

    def _semantic_width(self) -> int:
        return len(self.intercept_)
