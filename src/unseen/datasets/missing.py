"""Missing values of class vectors: how they are marked, and what to put in their place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.typing import Array


def missing_marks(vectors: Array) -> npt.NDArray[np.bool_]:
    """Return which values look like a mark for "not known": rare, negative and all the same.

    AwA writes −1 among ratings from 0 to 100.

    >>> missing_marks(np.array([[0.5] * 60, [-1.0] + [0.2] * 59])).sum()
    np.int64(1)
    >>> missing_marks(np.array([[1.0, -1.0], [0.0, 0.5]])).any()  # one in four is no rare value
    np.False_
    """
    negative = vectors < 0
    rare = 0 < negative.sum() <= 0.01 * vectors.size
    if rare and len(np.unique(vectors[negative])) == 1:
        return np.asarray(negative)
    return np.zeros(vectors.shape, dtype=bool)


def fill_missing(vectors: Array, gaps: Array, how: str, path: object) -> Array:
    """Return the vectors with gaps set to the mean of the column's other values, or to zero.

    Parameters
    ----------
    how : {"mean", "zero"}
    path : path
        Named in the message if a column has no other value.
    """
    rated = (~gaps).sum(axis=0)
    if how == "mean" and (rated == 0).any():
        raise DataError(
            f"{path}: attribute {int(np.argmin(rated)) + 1} is rated for no class, so it has no "
            "mean. Give missing='zero'."
        )
    fill = np.zeros(vectors.shape[1])
    if how == "mean":
        fill = np.where(gaps, 0.0, vectors).sum(axis=0) / rated
    return np.where(gaps, fill, vectors)
