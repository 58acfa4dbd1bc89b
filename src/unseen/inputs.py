"""What ``fit`` and ``predict`` are given: labels, and rows that come in chunks, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from unseen.rows.chunks import Chunks, mapped, marked, summed
from unseen.rows.labelled import Rows
from unseen.typing import Array, Codes

UNLABELLED = -1


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
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "iu":
        known = (labels != UNLABELLED) | (not minus_one)
    elif labels.dtype.kind == "f":
        known = ~np.isnan(labels)
    else:
        known = np.array([not _is_missing(v) for v in labels.tolist()], dtype=bool)
    given = labels[known]
    if given.dtype == object:
        kinds = {type(v) for v in given.tolist()}
        texts, integers = (all(issubclass(k, t) for k in kinds) for t in (str, (int, np.integer)))
        if not (texts or integers):
            raise ValueError(
                "Unknown label type: y must hold strings or integers, all of one type, and None for "
                f"an unlabelled row. Got {', '.join(sorted(k.__name__ for k in kinds))}."
            )
        given = np.array(given.tolist())
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


def labelled_rows(X: Any, codes: Any, weights: Any) -> Rows:
    """Leave the unlabelled rows out; nothing is copied where the others stand together."""
    return Rows(X, codes, weights).take(marked(has_label(codes)))


def has_label(codes: Any) -> Any:
    """Mark the rows with a label."""
    return mapped(_has_label, codes)


def _has_label(codes: Codes) -> Array:
    return np.asarray(codes != UNLABELLED)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


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


def aligned(X: Chunks, values: Any, name: str) -> Chunks:
    """Return labels or weights in the chunks of X."""
    own = X.like(values)
    if own.sizes != X.sizes or len(own.shape) != 1:
        raise ValueError(
            f"X has {len(X)} rows, but {name} has shape {own.shape}: give one entry a row of X."
        )
    return own


def weighed_chunks(X: Chunks, codes: Chunks, classes: Array, sample_weight: Any) -> tuple[Any, ...]:
    """Return the weights in chunks, and the codes and classes without those that weigh nothing."""
    weights = aligned(X, sample_weight, "sample_weight")
    weights = weights.mapped(_checked_weights, given=(X.dtype,)).kept()
    (heavy,) = summed(_positive, codes, weights, given=(len(classes),))
    used = np.flatnonzero(heavy)
    recode = np.full(len(classes) + 1, UNLABELLED)
    recode[used] = np.arange(len(used))
    return weights, codes.mapped(_recoded, given=(recode,)).kept(), classes[used]


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


def _positive(codes: Codes, weights: Array, classes: int) -> tuple[Array]:
    return (np.bincount(codes[(weights > 0) & (codes != UNLABELLED)], minlength=classes),)


def _recoded(codes: Codes, recode: Array) -> Array:
    return np.asarray(recode[codes])
