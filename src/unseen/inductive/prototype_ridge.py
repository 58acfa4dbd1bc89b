"""PrototypeRidge: the paper's LR, ridge regression from semantics to features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.inductive.bilinear import FEWEST_CLASSES
from unseen.rows.labelled import Rows, class_folds
from unseen.rows.passes import class_sums, class_weights
from unseen.statistics.evaluation import fit_temperature, per_class_accuracy
from unseen.statistics.prototype_map import (
    RIDGE_GRID,
    nearest_scores,
    prototype_map,
)
from unseen.statistics.scorer import Scorer
from unseen.statistics.semantic_process import PrototypeMap
from unseen.typing import Array


class PrototypeRidge(ZeroShotClassifier):
    """Predict where a class lies among the features, and take the nearest prototype.

        min over B, b  Σₙ ‖xₙ − B aᵧₙ − b‖² + λ‖B‖²,   prototype of a class: B a + b
        score of a class: −‖x − B a − b‖²

    Y. Shigeto, I. Suzuki, K. Hara, M. Shimbo and Y. Matsumoto, "Ridge regression, hubness, and
    zero-shot learning", ECML-PKDD 2015 (LR in the paper on ASTE). Regressing from semantics to
    features, not the other way, keeps a few prototypes from becoming hubs. Deviations: an intercept b;
    λ is chosen on class-wise folds in scale-free units unless it is given.

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

    coef_: Array
    intercept_: Array
    lam_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        lam: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.lam = lam

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        X, codes, weights = rows
        sums = class_sums(X, codes, len(vectors), weights)
        counts = class_weights(codes, len(vectors), weights)
        ridge, temperature = self._number("lam"), None
        one_hot = self._parameters()[0] is None
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
    parts = class_folds(vectors, min(5, len(vectors) // 2))
    accuracy = np.zeros((len(parts), len(RIDGE_GRID)))
    logs = np.zeros_like(accuracy)
    for f, part in enumerate(parts):
        X, codes, weights = judged.of_classes(part)
        kept = np.setdiff1d(np.arange(len(vectors)), part)
        for i, ridge in enumerate(RIDGE_GRID):
            fitted = prototype_map(sums[:, kept], counts[kept], vectors[kept], ridge)
            scores = nearest_scores(X, fitted(vectors[part]))
            hits = scores.argmax(axis=1) == codes
            accuracy[f, i] = np.nanmean(per_class_accuracy(codes, hits, len(part), weights))
            logs[f, i] = np.log(fit_temperature(scores, codes, len(part), weights))
    best = int(np.round(accuracy.mean(axis=0), 9).argmax())  # among equals the first
    return RIDGE_GRID[best], float(np.exp(logs[:, best].mean()))
