"""What users bring in place of arrays: sparse matrices, data frames, lists and Series.

Each is turned into what scikit-learn's validation reads, or into classes and vectors of a table, or
refused with a remedy.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unseen.typing import Array, Codes

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from scipy import sparse

MOST_DENSE_BYTES = 2**30
"""Memory that a sparse X may take as a dense array; above it, X is refused."""

PROBED_ROWS = 20
"""Labelled rows on which the columns of a frame are compared with y first, all columns at a time."""


def readable_features(X: object, owner: str, note: bool = False) -> Any:
    """Return rows that validation can read; ``note``: warn of the memory that dense rows take."""
    from scipy import sparse

    if sparse.issparse(X):
        return _dense(X, owner, note)
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        _refuse_text_columns(X)
    elif not hasattr(X, "shape") or len(X.shape) == 1:
        _refuse_texts(X, owner)
    return X


def _dense(X: sparse.spmatrix, owner: str, note: bool) -> Array:
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(float)
    size = dtype.itemsize * int(np.prod(X.shape, dtype=object))
    shape = " × ".join(f"{n:,}" for n in X.shape)
    if size > MOST_DENSE_BYTES:
        raise ValueError(
            f"X is a sparse {type(X).__name__} of {shape}, and {owner} needs a dense array, which "
            f"would take {size / 1e9:,.1f} GB. Reduce its columns first, for example with "
            "make_pipeline(sklearn.decomposition.TruncatedSVD(300), estimator), or give predict fewer "
            "rows at a time. If the memory is there, give X.toarray()."
        )
    if note:
        warnings.warn(
            f"X is a sparse {type(X).__name__} of {shape}; {owner} makes it a dense array of "
            f"{size / 1e6:,.1f} MB. Fewer columns are faster: "
            "make_pipeline(sklearn.decomposition.TruncatedSVD(300), estimator).",
            UserWarning,
            stacklevel=6,
        )
    return np.asarray(X.astype(dtype).toarray(order="C"))


def _refuse_text_columns(X: DataFrame) -> None:
    """Name the columns of a frame that hold no numbers."""
    texts = [
        name for k, name in enumerate(X.columns) if not _holds_numbers(X.dtypes.iloc[k], X.iloc[:, k])
    ]
    if texts:
        names = ", ".join(repr(name) for name in texts[:5])
        raise ValueError(
            f"X has {len(texts)} column(s) that hold no numbers: {names}"
            f"{', …' if len(texts) > 5 else ''}. Leave them out of the features, "
            f"X.drop(columns=[{names}]), or encode them as numbers; labels belong in y."
        )


def _holds_numbers(dtype: object, column: Series) -> bool:
    kind = getattr(dtype, "kind", "O")
    if kind in "fiub" or kind == "c":  # of complex numbers validation has its own message
        return True
    if dtype != np.dtype(object):
        return False
    try:
        np.asarray(column.to_numpy(), dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_texts(X: Any, owner: str) -> None:
    first = X[0] if isinstance(X, (list, tuple, np.ndarray)) and len(X) else None
    if hasattr(X, "iloc") and len(X):
        first = X.iloc[0]
    if isinstance(first, str):
        raise ValueError(
            f"X holds texts, and {owner} needs numbers: one vector a row. Embed the texts first, for "
            "example with a sentence encoder, or with sklearn.feature_extraction.text.TfidfVectorizer "
            "and TruncatedSVD."
        )


def readable_labels(y: object) -> Any:
    """Return labels that NumPy does not change: a list of texts and numbers would become all texts."""
    if isinstance(y, (list, tuple)) and any(isinstance(label, str) for label in y):
        return np.array(y, dtype=object)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {tuple(shape)} instead. Give one label a "
            "row; of one-hot labels, names[y.argmax(axis=1)]."
        )
    return y


def warn_of_other_order(X: Any, y: Any, stacklevel: int) -> None:
    """Warn where a frame and a Series have the same index in different orders."""
    if not (hasattr(X, "iloc") and hasattr(y, "iloc")) or len(X) != len(y) or X.index.equals(y.index):
        return
    if set(X.index) == set(y.index):
        warnings.warn(
            "X and y have the same index in different orders. Row and label are matched by position, "
            "as in scikit-learn. To match them by index, give y.loc[X.index].",
            UserWarning,
            stacklevel=stacklevel,
        )


def warn_of_label_columns(frame: object, X: Array, classes: Array, codes: Codes) -> None:
    """Warn where a column of a frame is y itself, or its codes: new rows will not have it."""
    if not (hasattr(frame, "iloc") and hasattr(frame, "columns")) or len(classes) < 2:
        return
    labelled = np.flatnonzero(codes >= 0)
    values = codes[labelled] if classes.dtype.kind in "US" else classes[codes[labelled]]
    few = labelled[:PROBED_ROWS]
    same = np.flatnonzero((X[few] == values[: len(few), None]).all(axis=0))
    names = [frame.columns[k] for k in same.tolist() if (X[labelled, k] == values).all()]
    if names:
        shown = ", ".join(repr(name) for name in names[:5])
        warnings.warn(
            f"The column {shown} of X is the same as y: the features tell the label, and rows of new "
            f"classes cannot. Leave it out: X.drop(columns=[{shown}]).",
            UserWarning,
            stacklevel=5,
        )


def one_vector(value: Any) -> Any:
    """Return the vector of a class; of several, their mean at unit length."""
    if np.ndim(value) != 2 or not len(value):
        return value
    vectors = np.asarray(value, dtype=float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = (vectors / np.where(lengths > 0, lengths, 1)).mean(axis=0)
    return mean / (np.linalg.norm(mean) or 1.0)


def class_labels(classes: Sequence[Hashable] | Array) -> Array:
    """Return the classes of a table: all strings or all integers, and none of them -1."""
    labels = classes if isinstance(classes, np.ndarray) else np.array(list(classes), dtype=object)
    if labels.dtype.kind not in "iuUS":
        values = labels.ravel().tolist()
        whole = [isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values]
        if all(isinstance(v, str) for v in values):
            labels = np.array(values, dtype=str)
        elif all(whole):
            labels = np.array(values, dtype=np.int64)
        else:
            kinds = sorted({type(v).__name__ for v in values})
            raise ValueError(
                "The classes of semantics must be all strings or all integers. "
                f"Got {' and '.join(kinds)}."
            )
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(
            f"semantics must name at least one class in one dimension. Got shape {labels.shape}."
        )
    if labels.dtype.kind == "i" and (labels == -1).any():
        raise ValueError(
            "semantics names the class -1, which marks an unlabelled row. Give that class another "
            "label."
        )
    return labels


def class_vectors(vectors: npt.ArrayLike, classes: Array) -> Array:
    """Return the vectors of classes as an array of finite numbers."""
    try:
        values = np.asarray(vectors)
        if values.dtype.kind not in "fiub":
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"semantics holds something that is not a number: {error}.") from None
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0] != len(classes) or values.shape[1] == 0:
        raise ValueError(
            f"semantics must give one vector for each of {len(classes)} classes. "
            f"Got an array of shape {values.shape}."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"semantics holds NaN or infinity: class {classes[row]!s}, column {column}. "
            "Fill or drop the missing values."
        )
    return values
