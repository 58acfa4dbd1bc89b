"""WithinClassWhitening: features in which every direction varies alike within a class."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unseen.inputs import whole_fit
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums, class_weights, gram
from unseen.semantics import read_labels
from unseen.statistics.visual_space import Whitening, within_class_scatter
from unseen.typing import Array, RowValues


class WithinClassWhitening(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Whiten features by the covariance that rows have within their classes.

        z = L⁻¹(x − m),   LLᵀ = (1 − α)S + α·(tr S/p)·I

    S is the within-class covariance of the labelled rows and m the mean of the class means. In z,
    Euclidean distance is the Mahalanobis distance of linear discriminant analysis.

    Parameters
    ----------
    shrinkage : float in [0, 1] or "auto"
        α. "auto" takes the estimate of OAS, and at least 0.2.

    Attributes
    ----------
    mean_ : array of shape (p,)
    components_ : array of shape (p, p)
        L⁻¹.
    shrinkage_ : float

    Examples
    --------
    >>> from unseen import WithinClassWhitening
    >>> X = [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 2.0]]
    >>> WithinClassWhitening(shrinkage=0.5).fit_transform(X, ["a", "a", "b", "b"]).round(2)
    array([[-0.71, -0.82],
           [-0.71,  0.82],
           [ 0.71, -0.82],
           [ 0.71,  0.82]])
    """

    FILE_KEY = "within-class-whitening"

    mean_: Array
    components_: Array
    shrinkage_: float

    def __init__(self, shrinkage: float | str = "auto") -> None:
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: object) -> Self:
        """Learn the covariance of labelled rows; -1 or None marks a row without a label.

        Parameters
        ----------
        X : array of shape (N, p)
        y : array of N labels
        """
        with whole_fit(self, X):
            alpha = self._alpha()
            X = validate_data(self, X, dtype=[np.float64, np.float32])
            if y is None:
                raise ValueError(
                    "WithinClassWhitening requires y to be passed, but the target y is None."
                )
            classes, codes = read_labels(y)
            check_consistent_length(X, codes)
            if not len(classes):
                raise ValueError("WithinClassWhitening found no labelled row. Label some rows in y.")
            rows = Rows(X, codes).labelled()
            sums = class_sums(rows.X, rows.codes, len(classes))
            counts = class_weights(rows.codes, len(classes))
            center = (sums / counts).mean(axis=1)
            shifted = rows.X - center.astype(X.dtype)  # XᵀX of centred rows loses no digits
            scatter = within_class_scatter(gram(shifted), sums - np.outer(center, counts), counts)
            fitted = Whitening.of(scatter, len(rows.X) - len(classes), center, alpha, X.dtype)
            self.mean_, self.shrinkage_ = fitted.center, fitted.shrinkage
            self.components_ = fitted.inverse
        return self

    def transform(self, X: RowValues) -> Array:
        """Return the whitened rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return np.asarray((X - self.mean_.astype(X.dtype)) @ self.components_.T.astype(X.dtype))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _alpha(self) -> float | None:
        value: object = self.shrinkage
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 <= float(value) <= 1:
            return float(value)
        raise ValueError(
            "The 'shrinkage' parameter of WithinClassWhitening must be 'auto' or a number in "
            f"[0, 1]. Got {value!r} instead."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
