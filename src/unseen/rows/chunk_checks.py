"""Features, labels and weights: checked at once or, in chunks, whenever one is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight

from unseen.rows.chunks import Chunks
from unseen.rows.labelled import Rows
from unseen.rows.passes import kept, mapped, summed
from unseen.typing import UNLABELLED, Array, Codes

Code = Callable[[Array, bool], tuple[Array, Codes]]
"""Labels in memory, and whether -1 marks one without a label → classes, and the code of each."""


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


def _finite(X: Array, dtype: npt.DTypeLike, chunk: tuple[int, int]) -> Array:
    """Return a chunk of features, or say where it is not finite."""
    X = X.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):  # one pass; a sum that overflows is examined below
            return X
    rows, columns = np.nonzero(~np.isfinite(X))
    if not len(rows):
        return X
    number, start = chunk
    raise ValueError(
        f"Input X contains NaN or infinity: chunk {number}, row {start + rows[0]}, column "
        f"{columns[0]}. Fill such numbers in, or leave the rows out."
    )


def coded_chunks(y: Chunks, code: Code, minus_one: bool) -> tuple[Array, Chunks]:
    """Find the classes of each chunk of labels, where it is, merge them and code the labels.

    ``code`` returns the classes of labels in memory and the code of each.
    """
    parts = [part for part in y.gathered(_classes_of, given=(code, minus_one)) if len(part)]
    if len({part.dtype.kind in "iu" for part in parts}) > 1:
        raise ValueError(
            "Unknown label type: y holds integers in some chunks and strings in others. Give labels of "
            "one type."
        )
    classes = np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
    example = np.zeros(1, dtype=np.intp)
    return classes, y.mapped(_codes_of, given=(classes, code, minus_one), out=example).kept()


def _classes_of(labels: Array, code: Code, minus_one: bool) -> Array:
    return code(labels, minus_one)[0]


def _codes_of(
    labels: Array,
    classes: Array,
    code: Code,
    minus_one: bool,
) -> Codes:
    of_chunk, codes = code(labels, minus_one)
    return np.append(np.searchsorted(classes, of_chunk), -1)[codes]


def checked_weights(weights: Array, dtype: npt.DTypeLike) -> Array:
    """Return the weights of a chunk in the type of X; refuse what cannot be a weight."""
    if weights.dtype.kind not in "fiub" or not (weights >= 0).all() or not np.isfinite(weights).all():
        raise ValueError("sample_weight must hold numbers >= 0, all finite.")
    return weights.astype(dtype)


def weighted(rows: Rows, sample_weight: Any, classes: Array) -> tuple[Rows, Array]:
    """Return the rows with checked weights, and the classes with a labelled row that has a weight.

    Rows of the other classes have no label then.
    """
    if rows.in_chunks:
        weights = kept(mapped(checked_weights, sample_weight, given=(rows.X.dtype,)))
    else:
        dtype = rows.X.dtype
        weights = _check_sample_weight(sample_weight, rows.X, dtype=dtype, ensure_non_negative=True)
    (heavy,) = summed(_heavy, rows.codes, weights, given=(len(classes),))
    used = np.flatnonzero(heavy)
    recode = np.full(len(classes) + 1, UNLABELLED)
    recode[used] = np.arange(len(used))
    rows = Rows(rows.X, rows.codes, weights).recoded(recode)
    return rows._replace(codes=kept(rows.codes)), classes[used]


def _heavy(codes: Codes, weights: Array, classes: int) -> tuple[Array]:
    """Return how many labelled rows of each class have a weight."""
    return (np.bincount(codes[(weights > 0) & (codes != UNLABELLED)], minlength=classes),)
