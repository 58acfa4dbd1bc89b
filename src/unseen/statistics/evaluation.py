"""What answers are worth: per-class accuracy, top-k hits, and how even class shares are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unseen.typing import Array, Codes


def per_class_accuracy(
    true: Codes, hits: npt.NDArray[np.bool_], classes: int, weights: Array | None = None
) -> Array:
    """Return the share of each class's rows that hit; NaN for a class with no rows."""
    counts = np.bincount(true, weights=weights, minlength=classes).astype(float)
    right = np.bincount(true, weights=hits if weights is None else hits * weights, minlength=classes)
    accuracy: Array = np.full(classes, np.nan)
    np.divide(right, counts, out=accuracy, where=counts > 0)
    return accuracy


def top_k_hits(scores: Array, codes: Codes, k: int) -> npt.NDArray[np.bool_]:
    """Tell for each row whether fewer than ``k`` classes score strictly above the true one."""
    own = np.take_along_axis(scores, codes[:, None], axis=1)
    hits: npt.NDArray[np.bool_] = (scores > own).sum(axis=1) < k
    return hits


def evenness(shares: Array) -> float:
    """Return the effective number of classes, as a share of all: exp(entropy of the shares) / L.

    It is 1 for equal shares, and ½ when half of the classes share all.
    """
    p = shares[shares > 0]
    return min(1.0, float(np.exp(-(p @ np.log(p)))) / len(shares))
