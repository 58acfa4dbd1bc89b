"""PrototypeRidge: ridge regression from semantics to features."""

from __future__ import annotations

from collections.abc import Iterable

from unseen.advice import Advice
from unseen.base import ZeroShotClassifier
from unseen.citation import Citation
from unseen.inductive._tuning import Fold, class_wise_folds, search
from unseen.published import PAPER, choices, holds, sets
from unseen.rows.labelled import FEWEST_CLASSES, Rows
from unseen.rows.passes import class_sums, class_weights
from unseen.statistics.prototype_map import (
    RIDGE_GRID,
    nearest_scores,
    prototype_map,
)
from unseen.statistics.scorer import Scorer
from unseen.statistics.semantic_process import PrototypeMap
from unseen.typing import Array, CandidateClasses


class PrototypeRidge(ZeroShotClassifier):
    """Predict where a class lies among the features, and take the nearest prototype.

        min over B, b  Σₙ ‖xₙ − B aᵧₙ − b‖² + λ‖B‖²,   prototype of a class: B a + b
        score of a class: −‖x − B a − b‖²

    Y. Shigeto, I. Suzuki, K. Hara, M. Shimbo and Y. Matsumoto, "Ridge regression, hubness, and
    zero-shot learning", ECML-PKDD 2015. The paper on ASTE cites it for LR, but its equation is of the
    other direction: ``LinearRegressionZSL``. Regressing from semantics to features, as here, keeps a
    few prototypes from becoming hubs. Deviations: an intercept b; λ is chosen on class-wise folds in
    scale-free units unless it is given.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    lam : float or "auto"
        The ridge λ.

    Attributes
    ----------
    coef_ : array of shape (p, q)
        B.
    intercept_ : array of shape (p,)
        b.
    lam_ : float
        The ridge in use.

    Examples
    --------
    >>> from unseen import PrototypeRidge
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = PrototypeRidge(semantics, lam=0.1).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Ridge regression from class vectors to rows; the nearest prototype answers."),
        sets("lam", "auto", PAPER, "Chosen on held-out classes; the grid here is scale-free."),
    )

    citation = Citation(
        "Shigeto, Suzuki, Hara, Shimbo and Matsumoto",
        "Ridge regression, hubness, and zero-shot learning",
        "ECML-PKDD",
        2015,
        table_name="LR",
    )

    advice = Advice(
        cost="one pass over the rows for class sums and one ridge regression of q columns",
        take=(
            "features are strong and there are many classes, or you want the simplest prototype "
            "method to compare with"
        ),
        leave=(
            "features are weak and classes few, as with AwA's original descriptors: bilinear scores "
            "do better there"
        ),
    )

    coef_: Array
    intercept_: Array
    lam_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        lam: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.lam = lam

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        X, codes, weights = rows
        sums = class_sums(X, codes, len(vectors), weights)
        counts = class_weights(codes, len(vectors), weights)
        ridge, temperature = self._number("lam"), None
        one_hot = self.semantics is None
        if ridge is not None:
            fitted = prototype_map(sums, counts, vectors, ridge, absolute=True)
        elif one_hot or len(vectors) < FEWEST_CLASSES:
            fitted = prototype_map(sums, counts, vectors, 0.0 if one_hot else 0.1)
        else:
            judged = rows if held is None else held
            ridge, temperature = _choose(judged, vectors, sums, counts)
            fitted = prototype_map(sums, counts, vectors, ridge)
        self.coef_, self.intercept_, self.lam_ = fitted.coef, fitted.intercept, fitted.ridge
        return temperature

    def _chosen(self) -> dict[str, float]:
        return {"lam": self.lam_}

    def _scores(self, X: Array, vectors: Array) -> Array:
        return nearest_scores(X, PrototypeMap(self.coef_, self.intercept_, self.lam_)(vectors))

    def _scorer(self, vectors: Array) -> Scorer:
        return Scorer(self.coef_, self.intercept_, weights=(2.0, 1.0, 1.0))

    def _semantic_width(self) -> int:
        return int(self.coef_.shape[1])


def _choose(judged: Rows, vectors: Array, sums: Array, counts: Array) -> tuple[float, float]:
    """Return the scale-free ridge and the temperature that class-wise folds choose."""

    def answers(fold: Fold) -> Iterable[Array]:
        others = fold.others
        for ridge in RIDGE_GRID:
            fitted = prototype_map(sums[:, others], counts[others], vectors[others], ridge)
            yield nearest_scores(fold.rows.X, fitted(vectors[fold.held]))

    folds = class_wise_folds(judged, vectors, 5)
    chosen = search(folds, map(answers, folds))
    return RIDGE_GRID[chosen.best], chosen.temperature
