"""What ``fit`` and ``predict`` are given: parameters, labels and rows, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from unseen import array_likes
from unseen.label_codes import NO_LABEL, object_codes, text_codes
from unseen.rows import kernels
from unseen.rows.chunks import Chunks
from unseen.rows.labelled import Rows
from unseen.rows.passes import chunked, kept, mapped, marked, summed
from unseen.typing import Array, Codes

UNLABELLED = NO_LABEL


class InputChecks:
    """How an estimator reads its parameters, and refuses what they must not be."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True  # rows are made dense, up to a limit
        return tags

    def _number(self, name: str) -> float | None:
        """Return a parameter that was given by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 <= float(value) < np.inf:
            return float(value)
        self._refuse(name, "'auto' or a number >= 0")

    def _switch(self, name: str) -> bool | None:
        """Return a parameter that is on or off by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        self._refuse(name, "'auto', True or False")

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        """Say what a parameter must be."""
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be {wanted}. "
            f"Got {getattr(self, name)!r} instead."
        )


class TrainingInput(NamedTuple):
    """Rows, their class codes (-1: unlabelled), their weights if they have any, and the classes."""

    X: Any
    codes: Any
    weights: Any
    classes: Array


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, minus_one: bool, takes_chunks: bool
) -> TrainingInput:
    """Validate what ``fit`` was given; a class whose rows all weigh nothing is left out.

    ``minus_one``: -1 marks an unlabelled row. ``takes_chunks``: rows need not be in memory.
    """
    owner = type(estimator).__name__
    if y is None and not estimator.needs_labelled_rows:
        y = np.full(len(X), None, dtype=object)
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    chunks = chunked(X)
    if chunks is not None and not takes_chunks:
        if not isinstance(X, np.ndarray):
            raise ValueError(
                f"{owner} needs all rows in memory, and X is not: it comes in chunks. Give "
                "np.asarray(X), or fit FastTraining around an inductive estimator, or a method that "
                "learns from chunks: unseen.methods.select(takes_chunks=True) lists them."
            )
        chunks = None  # a memory map is an array to those that need all rows at once
    if chunks is not None:
        X = checked_chunks(chunks, None, owner)
        estimator.n_features_in_ = X.shape[1]
    else:
        frame = X
        if type(X) is not np.ndarray or X.ndim == 1:
            array_likes.warn_of_other_order(X, y, stacklevel=5)
            X = array_likes.readable_features(X, owner, note=True)
        X = validate_data(estimator, X, dtype=[np.float64, np.float32], ensure_all_finite=False)
        if not all_finite(X):
            check_array(X, dtype=None, estimator=estimator, input_name="X")  # says what is wrong
    classes, codes = read_labels(aligned(X, y, "y"), minus_one)
    if chunks is None and type(frame) is not np.ndarray:
        array_likes.warn_of_label_columns(frame, X, classes, codes)
    if sample_weight is None:
        return TrainingInput(X, codes, None, classes)
    if chunks is not None:
        weights = aligned(X, sample_weight, "sample_weight")
        weights = weights.mapped(_checked_weights, given=(X.dtype,)).kept()
    else:
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
    (heavy,) = summed(_heavy, codes, weights, given=(len(classes),))
    used = np.flatnonzero(heavy)
    recode = np.full(len(classes) + 1, UNLABELLED)
    recode[used] = np.arange(len(used))
    codes = kept(mapped(kernels.at, codes, given=(recode,)))
    return TrainingInput(X, codes, weights, classes[used])


def read_rows(estimator: Any, X: Any, finite: bool = True) -> Any:
    """Validate the rows that a fitted estimator is asked about; of chunks, as they are read."""
    chunks = chunked(X)
    if chunks is not None:
        return checked_chunks(chunks, estimator.n_features_in_, type(estimator).__name__)
    if type(X) is not np.ndarray or X.ndim == 1:
        X = array_likes.readable_features(X, type(estimator).__name__)
    dtypes = [np.float64, np.float32]
    return validate_data(estimator, X, dtype=dtypes, reset=False, ensure_all_finite=finite)


def all_finite(X: Array) -> bool:
    """Tell whether no value is NaN or infinite: the sum of a row would be, too.

    A product with ones runs on all cores. The sum of large numbers may be infinite though they are not.
    """
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X @ np.ones(X.shape[1], dtype=X.dtype)).all())


def read_labels(y: object, minus_one: bool = True) -> tuple[Array, Any]:
    """Return the sorted classes of ``y``, and the code of each row (-1 where it has no label).

    A row is unlabelled when its label is -1 (integer labels) or None or NaN (any other). Without
    ``minus_one``, -1 is a class as any other. Labels in chunks have codes in chunks.

    >>> read_labels(np.array(["b", None, "a"], dtype=object))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    if isinstance(y, Chunks):
        return _read_label_chunks(y, minus_one)
    if type(y) is not np.ndarray or y.ndim != 1:
        y = array_likes.readable_labels(y)
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "US":
        return text_codes(labels)
    if labels.dtype.kind not in "iufb":
        return object_codes(labels)
    known = np.ones(len(labels), dtype=bool)
    if labels.dtype.kind in "iu":
        known = (labels != UNLABELLED) | (not minus_one)
    elif labels.dtype.kind == "f":
        known = ~np.isnan(labels)
    given = labels[known]
    if given.dtype.kind == "f":  # integers that a missing value turned into floats
        check_classification_targets(given)
        given = given.astype(np.int64)
        named = (given != UNLABELLED) | (not minus_one)
        known[known], given = named, given[named]
    classes, inverse = np.unique(given, return_inverse=True)
    codes = np.full(len(labels), UNLABELLED, dtype=np.intp)
    codes[known] = inverse
    return classes, codes


def _read_label_chunks(y: Chunks, minus_one: bool) -> tuple[Array, Chunks]:
    """Find the classes of each chunk, where it is, and merge them."""
    found = [own for own in y.gathered(_classes_of, given=(minus_one,)) if len(own)]
    if len({own.dtype.kind in "iu" for own in found}) > 1:
        raise ValueError(
            "Unknown label type: y holds integers in some chunks and strings in others. Give labels of "
            "one type."
        )
    classes = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
    example = np.zeros(1, dtype=np.intp)
    return classes, y.mapped(_codes_of, given=(classes, minus_one), out=example).kept()


def _classes_of(labels: Array, minus_one: bool) -> Array:
    return np.asarray(read_labels(labels, minus_one)[0])


def _codes_of(labels: Array, classes: Array, minus_one: bool) -> Array:
    own, codes = read_labels(labels, minus_one)
    return np.asarray(np.append(np.searchsorted(classes, own), UNLABELLED)[codes])


def read_shares(prior: Mapping[Any, float], candidates: Array) -> Array:
    """Return the class shares that a mapping gives to the candidates; none is zero."""
    missing = [str(label) for label in candidates.tolist() if label not in prior]
    if missing:
        raise ValueError(
            f"The 'class_prior' parameter has no share for {len(missing)} candidate(s): "
            f"{', '.join(missing[:5])}. Give a share to every candidate."
        )
    shares = np.array([float(prior[label]) for label in candidates.tolist()])
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise ValueError("The 'class_prior' parameter must give shares >= 0, not all zero.")
    shares = np.maximum(shares / shares.sum(), 1e-6)
    return np.asarray(shares / shares.sum())


def labelled_rows(X: Any, codes: Any, weights: Any) -> Rows:
    """Leave the unlabelled rows out; nothing is copied where the others stand together."""
    return Rows(X, codes, weights).take(marked(has_label(codes)))


def has_label(codes: Any) -> Any:
    """Mark the rows with a label."""
    return mapped(np.not_equal, codes, given=(UNLABELLED,))


def checked_chunks(X: Chunks, width: int | None, owner: str) -> Chunks:
    """Check the shape now, and that every number is finite whenever a chunk is read.

    ``width`` is the number of features that ``owner`` was fitted with, None before that.
    """
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(
            f"X has shape {X.shape}, but features have two dimensions, one row a sample, and at least "
            "one of each."
        )
    if X.dtype.kind not in "fiu":
        raise ValueError(f"X holds {X.dtype}, but features are real numbers.")
    if width not in (None, X.shape[1]):
        raise ValueError(
            f"X has {X.shape[1]} features, but {owner} is expecting {width} features as input."
        )
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    starts = list(enumerate(X.starts))
    return X.mapped(_finite, given=(dtype,), each=starts, out=np.zeros((1, X.shape[1]), dtype))


def aligned(rows: Any, values: Any, name: str) -> Any:
    """Return labels or weights, one a row: of chunks in the same chunks, else as they were given."""
    if not isinstance(rows, Chunks):
        check_consistent_length(rows, values)
        return values
    chunks = rows.like(values)
    if chunks.sizes != rows.sizes or len(chunks.shape) != 1:
        raise ValueError(
            f"X has {len(rows)} rows, but {name} has shape {chunks.shape}: give one entry a row of X."
        )
    return chunks


def _finite(X: Array, dtype: Any, chunk: tuple[int, int]) -> Array:
    """Return a chunk of features, or say where it is not finite."""
    X = X.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one pass; an overflow is looked at below
            return X
    rows, columns = np.nonzero(~np.isfinite(X))
    if not len(rows):
        return X
    number, start = chunk
    raise ValueError(
        f"Input X contains NaN or infinity: chunk {number}, row {start + rows[0]}, column "
        f"{columns[0]}. Fill such numbers in, or leave the rows out."
    )


def _checked_weights(weights: Array, dtype: Any) -> Array:
    if weights.dtype.kind not in "fiub" or not (weights >= 0).all() or not np.isfinite(weights).all():
        raise ValueError("sample_weight must hold numbers >= 0, all finite.")
    return weights.astype(dtype)


def _heavy(codes: Codes, weights: Array, classes: int) -> tuple[Array]:
    """Return how many labelled rows of each class have a weight."""
    return (np.bincount(codes[(weights > 0) & (codes != UNLABELLED)], minlength=classes),)
