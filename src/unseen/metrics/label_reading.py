"""True labels beside predictions or scores, read and checked."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from unseen.refusals import some_labels
from unseen.semantics import read_labels
from unseen.typing import UNLABELLED, Array, Codes


def compared(y_true: object, y_pred: object) -> tuple[Array, Codes, Array]:
    """Return the classes of ``y_true``; of each labelled row, the code and the prediction."""
    check_consistent_length(y_true, y_pred)
    classes, codes = _labels(y_true)
    predicted = np.asarray(column_or_1d(y_pred))
    if predicted.dtype == object:
        predicted = np.array(predicted.tolist())
    kinds = ["strings" if a.dtype.kind in "US" else "numbers" for a in (classes, predicted)]
    if predicted.dtype == object:
        kinds[1] = "labels of several types, or none"
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"y_true holds {kinds[0]} but y_pred holds {kinds[1]}: they cannot be compared. Give both "
            "one type, and a prediction for every row."
        )
    labelled = codes != UNLABELLED
    predicted = predicted[labelled]
    if not np.isin(predicted, classes).any():
        warnings.warn(
            "No prediction is a class of y_true, so all are wrong: y_true holds "
            f"{some_labels(classes)}, y_pred {some_labels(np.unique(predicted))}. If the model answers "
            "among other classes, set its candidates, for example to 'all', and predict again.",
            UserWarning,
            stacklevel=3,
        )
    return classes, codes[labelled], predicted


def _labels(y_true: object) -> tuple[Array, Codes]:
    classes, codes = read_labels(y_true)
    if not len(classes):
        raise ValueError("y_true holds no label, so there is nothing to measure. Give true labels.")
    return classes, codes


def scored(y_true: object, scores: object, classes: object) -> tuple[Array, Codes, Array, Codes]:
    """Return the classes present, and of labelled rows: codes, scores and true columns."""
    names = np.asarray(classes)
    values = np.asarray(scores)
    if values.ndim == 1 and len(names) == 2:  # scikit-learn's form for two classes
        values = np.stack([np.zeros_like(values), values], axis=1)
    check_consistent_length(y_true, values)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(
            f"scores must have one column for each of the {len(names)} classes. "
            f"Got shape {values.shape} instead."
        )
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"scores holds NaN or infinity: row {row}, class {names[column]!s}.")
    present, codes = _labels(y_true)
    position = {name: i for i, name in enumerate(names.tolist())}
    missing = [name for name in present.tolist() if name not in position]
    if missing:
        raise ValueError(
            f"scores has no column for the class {missing[0]!r} of y_true. Score with "
            "candidates='all', and give the estimator's classes_ as classes."
        )
    labelled = codes != UNLABELLED
    columns = np.array([position[name] for name in present.tolist()], dtype=np.intp)
    codes = codes[labelled]
    return present, codes, values[labelled], columns[codes]
