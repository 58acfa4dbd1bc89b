"""What ESZSL, ASTE and SJE share: a bilinear score xᵀVa, and parameters chosen on folds."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.base import ZeroShotClassifier
from unseen.numerics.bilinear import C_GRID, MU_GRID, Choice, Path, Sums, choose, semantic_scale
from unseen.numerics.rows import Codes

Array = npt.NDArray[Any]

ONE_HOT_C = 1e-3
"""The scale-free C of an ordinary linear classifier (``semantics=None``)."""

FEWEST_CLASSES = 4
"""Seen classes below which nothing can be held out, and the middle of the grids is taken."""


class BilinearClassifier(ZeroShotClassifier):
    """A classifier with score xᵀVa.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)
        The matrix V.
    """

    compatibility_: Array

    def _scores(self, X: Array, vectors: Array) -> Array:
        W = self.compatibility_ @ vectors.T
        return np.asarray(X @ W.astype(X.dtype, copy=False))

    def _semantic_width(self) -> int:
        return int(self.compatibility_.shape[1])

    def _label_embedding(self, X: Any) -> Array:
        return self._candidate_scores(X)

    def _number(self, name: str) -> float | None:
        """Return a parameter that was given by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and np.isfinite(value) and value >= 0:
            return float(value)
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be 'auto' or a number >= 0. "
            f"Got {value!r} instead."
        )

    def _choose_ridges(
        self,
        X: Array,
        codes: Codes,
        A: Array,
        weights: Array | None,
        C: float | None,
        mu: float | None,
        shrinkage: float | None = None,
        metric: Array | None = None,
    ) -> Choice:
        """Choose by class-wise folds what was not given by hand, and take the sums of all rows."""
        by_hand = C is not None and mu is not None
        one_hot = self._parameters()[0] is None
        if not one_hot and not by_hand and A.shape[1] >= FEWEST_CLASSES:
            paths = Path.of(C, C_GRID), Path.of(mu, MU_GRID)
            return choose(X, codes, A, *paths, shrinkage=shrinkage, metric=metric, weights=weights)
        sums = Sums.of(X, codes, A.shape[1], weights)
        if C is None:
            C = 2 * (ONE_HOT_C if one_hot else 0.3) * sums.scale
        if mu is None:
            mu = 0.0 if one_hot else 0.3 * semantic_scale(A)
        return Choice(C, mu, None, sums)

    def _settle_temperature(
        self, temperature: float | None, X: Array, codes: Codes, vectors: Array, weights: Any
    ) -> None:
        """Keep the temperature that the folds gave, or fit one on the training rows."""
        if temperature is None:
            self._calibrate(X, codes, vectors, weights)
        else:
            self.temperature_ = temperature
            self.calibration_ = "class-wise folds: scores of held-out seen classes"
