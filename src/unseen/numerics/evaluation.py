"""What a score is worth: per-class accuracy, top-k, and the temperature of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy.special import log_softmax

from unseen.numerics.rows import Codes

Array = npt.NDArray[Any]


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


def fit_temperature(scores: Array, codes: Codes, classes: int, weights: Array | None = None) -> float:
    """Return the T that makes softmax(scores / T) most likely, each class counting alike.

    The negative log-likelihood is convex in 1/T, so a bounded search over log T finds the minimum.
    """
    scale = float(np.mean(scores.std(axis=1)))
    if not scale > 0:
        return 1.0
    counts = np.bincount(codes, weights=weights, minlength=classes).astype(float)
    share = (1.0 if weights is None else weights) / counts[codes]

    def loss(log_t: float) -> float:
        logp = log_softmax(scores / (scale * np.exp(log_t)), axis=1)
        own = np.take_along_axis(logp, codes[:, None], axis=1).ravel()
        return -float(own @ share)

    best = optimize.minimize_scalar(loss, bounds=(-7.0, 4.0), method="bounded")
    return scale * float(np.exp(best.x))
