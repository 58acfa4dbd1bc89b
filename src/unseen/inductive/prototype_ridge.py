"""PrototypeRidge: the paper's LR, ridge regression from semantics to features."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.base import ZeroShotClassifier
from unseen.inductive.bilinear import FEWEST_CLASSES
from unseen.numerics.evaluation import fit_temperature, per_class_accuracy
from unseen.numerics.folds import class_folds
from unseen.numerics.prototypes import (
    RIDGE_GRID,
    PrototypeMap,
    nearest_scores,
    prototype_map,
)
from unseen.numerics.rows import Codes, class_sums, class_weights

Array = npt.NDArray[Any]


class PrototypeRidge(ZeroShotClassifier):
    """Predict where a class lies among the features, and take the nearest prototype.

        min over B, b  Σₙ ‖xₙ − B aᵧₙ − b‖² + λ‖B‖²,   prototype of a class: B a + b
        score of a class: −‖x − B a − b‖²

    Y. Shigeto, I. Suzuki, K. Hara, M. Shimbo and Y. Matsumoto, "Ridge regression, hubness, and
    zero-shot learning", ECML-PKDD 2015 (LR in the paper on ASTE). Regressing from semantics to features,
    not the other way, keeps a few prototypes from becoming hubs. Deviations: an intercept b; λ is
    chosen on class-wise folds in scale-free units unless it is given.

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

    def _fit(self, X: Array, codes: Codes, vectors: Array, weights: Array | None) -> None:
        sums = class_sums(X, codes, len(vectors), weights)
        counts = class_weights(codes, len(vectors), weights)
        temperature = None
        if isinstance(self.lam, Real) and not isinstance(self.lam, bool) and self.lam >= 0:
            fitted = prototype_map(sums, counts, vectors, float(self.lam), absolute=True)
        elif self.lam != "auto":
            raise ValueError(
                "The 'lam' parameter of PrototypeRidge must be 'auto' or a number >= 0. "
                f"Got {self.lam!r} instead."
            )
        elif self.semantics is None or len(vectors) < FEWEST_CLASSES:
            fitted = prototype_map(sums, counts, vectors, 0.0 if self.semantics is None else 0.1)
        else:
            ridge, temperature = _choose(X, codes, vectors, sums, counts, weights)
            fitted = prototype_map(sums, counts, vectors, ridge)
        self.coef_, self.intercept_, self.lam_ = fitted.coef, fitted.intercept, fitted.ridge
        if temperature is None:
            self._calibrate(X, codes, vectors, weights)
        else:
            self.temperature_ = temperature
            self.calibration_ = "class-wise folds: scores of held-out seen classes"

    def _scores(self, X: Array, vectors: Array) -> Array:
        return nearest_scores(X, PrototypeMap(self.coef_, self.intercept_, self.lam_)(vectors))

    def _semantic_width(self) -> int:
        return int(self.coef_.shape[1])


def _choose(
    X: Array, codes: Codes, vectors: Array, sums: Array, counts: Array, weights: Array | None
) -> tuple[float, float]:
    """Return the scale-free ridge and the temperature that class-wise folds choose."""
    parts = class_folds(len(vectors), min(5, len(vectors) // 2))
    accuracy = np.zeros((len(parts), len(RIDGE_GRID)))
    logs = np.zeros_like(accuracy)
    for f, part in enumerate(parts):
        rows = np.flatnonzero(np.isin(codes, part))
        held, own = X[rows], np.searchsorted(part, codes[rows])
        share = None if weights is None else weights[rows]
        kept = np.setdiff1d(np.arange(len(vectors)), part)
        for i, ridge in enumerate(RIDGE_GRID):
            fitted = prototype_map(sums[:, kept], counts[kept], vectors[kept], ridge)
            scores = nearest_scores(held, fitted(vectors[part]))
            hits = scores.argmax(axis=1) == own
            accuracy[f, i] = np.nanmean(per_class_accuracy(own, hits, len(part), share))
            logs[f, i] = np.log(fit_temperature(scores, own, len(part), share))
    best = int(accuracy.mean(axis=0).argmax())
    return RIDGE_GRID[best], float(np.exp(logs[:, best].mean()))
