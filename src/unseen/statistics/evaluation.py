"""What a score is worth: per-class accuracy, top-k, and the temperature of probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy.special import softmax

from unseen.typing import Array, Codes

MOST_MASSES = 1001
"""Numbers that are kept of those that decide the size of prediction sets."""

MIXTURE_STEPS = 30
"""Steps of expectation and maximisation for the weight of a mixture."""


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


def fit_temperature(scores: Array, codes: Codes, classes: int, weights: Array | None = None) -> float:
    """Return the T that makes softmax(scores / T) most likely, each class counting alike.

    Targets are smoothed as Platt's are: the true class of a class with n rows gets (n + 1)/(n + 2),
    the others share the rest, so that separable rows have a finite temperature too. The loss is convex
    in 1/T; its derivative has one root.
    """
    scale = float(np.mean(scores.std(axis=1, dtype=float)))
    if not scale > 0 or classes < 2:
        return 1.0
    S = scores.astype(float) / scale
    S -= S.max(axis=1, keepdims=True)  # the root stays where it is, and no exponential overflows
    powers = np.empty_like(S)
    counts = np.bincount(codes, weights=weights, minlength=classes).astype(float)
    share = (1.0 if weights is None else weights) / counts[codes]
    slack = 1.0 / (counts[codes] + 2.0)
    own = np.take_along_axis(S, codes[:, None], axis=1).ravel()
    wanted = (1 - slack) * own + slack * (S.sum(axis=1) - own) / (classes - 1)

    def slope(log_beta: float) -> float:
        np.exp(np.multiply(S, np.exp(log_beta), out=powers), out=powers)
        expected = np.einsum("ij,ij->i", powers, S) / powers.sum(axis=1)
        return float((expected - wanted) @ share)

    low, high = -6.0, 12.0
    if slope(low) >= 0:  # the scores say nothing about the classes
        return scale * float(np.exp(-low))
    if slope(high) <= 0:
        return scale * float(np.exp(-high))
    return scale * float(np.exp(-optimize.brentq(slope, low, high, xtol=1e-13, rtol=1e-13)))


class Calibration(NamedTuple):
    """Probabilities are (1 − doubt)·softmax(scores / temperature) + doubt/L."""

    temperature: float
    """How far a row's scores are to be trusted."""
    doubt: float
    """How often a whole class bears the wrong name, whatever the scores of its rows say."""


def fit_calibration(answers: Sequence[tuple[Array, Codes]]) -> Calibration:
    """Return the calibration under which the true classes of held-out answers are most likely.

    ``answers`` are scores (N, L) and true classes, one pair a rehearsal. Each class counts alike, and
    so does each rehearsal. For a temperature, the doubt is the weight of a mixture, found by
    expectation and maximisation; the temperature is searched for by a bracket and Brent's method.
    """
    weights = []
    for scores, codes in answers:
        share = 1.0 / np.bincount(codes, minlength=scores.shape[1])[codes]
        weights.append(share / share.sum() / len(answers))
    weight = np.concatenate(weights)
    chance = np.concatenate([np.full(len(codes), 1 / scores.shape[1]) for scores, codes in answers])

    def fitted(log_temperature: float) -> tuple[float, float]:
        factor, doubt = np.exp(-log_temperature), 0.1
        true = np.concatenate(
            [softmax(S * factor, axis=1)[np.arange(len(codes)), codes] for S, codes in answers]
        )
        for _ in range(MIXTURE_STEPS):
            mixture = (1 - doubt) * true + doubt * chance
            doubt = float(weight @ (doubt * chance / mixture))
        return -float(weight @ np.log((1 - doubt) * true + doubt * chance)), doubt

    grid = np.linspace(-4.0, 3.0, 15)
    start = int(np.argmin([fitted(value)[0] for value in grid]))
    bounds = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(lambda v: fitted(v)[0], bounds=bounds, method="bounded")
    return Calibration(float(np.exp(found.x)), fitted(float(found.x))[1])


def mass_above(scores: Array, codes: Codes, found: Calibration) -> Array:
    """Return how much calibrated probability the classes have that are likelier than the true one."""
    P = softmax(scores / found.temperature, axis=1)
    P = (1 - found.doubt) * P + found.doubt / scores.shape[1]
    own = np.take_along_axis(P, codes[:, None], axis=1)
    return np.asarray(np.where(own < P, P, 0.0).sum(axis=1))


def sorted_masses(answers: Sequence[tuple[Array, Codes]], found: Calibration) -> Array:
    """Return the calibrated mass of the classes above the true one, sorted; a sample of many."""
    masses = np.sort(np.concatenate([mass_above(*answer, found) for answer in answers]))
    if len(masses) <= MOST_MASSES:
        return masses
    return np.asarray(np.quantile(masses, np.linspace(0, 1, MOST_MASSES), method="higher"))


def first_best(accuracy: Array) -> int:
    """Return the setting with the highest mean over folds, (folds, settings); of equals the first.

    Means are rounded, so that the order in which classes were summed does not decide.
    """
    return int(np.round(accuracy.mean(axis=0), 9).argmax())


def mean_temperature(temperatures: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(temperatures)))))
