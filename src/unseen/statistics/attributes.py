"""A bank of attribute classifiers: one linear model an attribute, all of them from the same sums.

Attributes belong to classes, so the targets of all rows of a class are alike: XᵀT = (XᵀY)T, and one
factorisation serves every attribute. All methods that regress class-level targets
on rows use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.special import expit

from unseen.solvers.moments import Sums
from unseen.typing import Array

CLOSE = 1e-9
"""An attribute that varies less than this, relative to its size, says nothing about the classes."""

RIDGE_GRID = (0.03, 0.3, 3.0)
"""Values of γ that methods with such a bank try, in the units of :func:`ridge_bank`."""


def thresholds(vectors: Array) -> Array:
    """Return the mean of each attribute over classes: at or below it an attribute is absent."""
    return np.asarray(vectors.mean(axis=0))


def signs(vectors: Array, threshold: Array) -> Array:
    """Return +1 where a class has an attribute and −1 where it has not.

    >>> signs(np.array([[0.0, 3.0], [1.0, 3.0]]), np.array([0.5, 3.0]))
    array([[-1., -1.],
           [ 1., -1.]])
    """
    slack = CLOSE * np.maximum(np.abs(threshold), np.finfo(float).tiny)
    return np.where(vectors > threshold + slack, 1.0, -1.0)


@dataclass(frozen=True)
class Bank:
    """Linear scores x·coef + intercept, one column an attribute."""

    coef: Array
    intercept: Array

    def __call__(self, X: Array) -> Array:
        """Return the scores of rows, (N, M), in their dtype."""
        return np.asarray(X @ self.coef.astype(X.dtype) + self.intercept.astype(X.dtype))

    def scaled(self, factor: float) -> Bank:
        """Return the bank with scores that are so many times larger."""
        return Bank(self.coef * factor, self.intercept * factor)

    def for_columns(self, basis: Array | None, dtype: npt.DTypeLike) -> tuple[Array, Array]:
        """Return coefficients and intercept for the columns of the features, in their type.

        ``basis`` (p, r) spans the rows that the bank was fitted to; None: they are all columns.
        """
        coef = self.coef if basis is None else basis @ self.coef
        return coef.astype(dtype), self.intercept.astype(dtype)


def ridge_bank(sums: Sums, targets: Array, ridge: float) -> Bank:
    """Regress class-level targets on rows: min Σₙ ‖tᵧₙ − Wᵀxₙ − b‖² + γ‖W‖².

    Parameters
    ----------
    sums : Sums
        Of the rows.
    targets : array of shape (K, M)
    ridge : float
        γ, in units of the mean variance of a column times the number of rows.
    """
    total = sums.counts.sum()
    mean, centre = sums.labels.sum(axis=1) / total, sums.counts @ targets / total
    G = sums.moments - total * np.outer(mean, mean)
    scale = max(float(np.trace(G)) / sums.width, np.finfo(float).tiny)
    cross, centred = sums.labels - np.outer(mean, sums.counts), targets - centre
    G[np.diag_indices_from(G)] += max(ridge, 1e-10) * scale
    # The fewer columns of classes and attributes go through the solver.
    if targets.shape[1] > targets.shape[0]:
        coef = linalg.solve(G, cross, assume_a="pos", overwrite_a=True) @ centred
    else:
        coef = linalg.solve(G, cross @ centred, assume_a="pos", overwrite_a=True)
    return Bank(coef, centre - mean @ coef)


def platt(scores: Array, targets: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Fit p(attribute | score) = σ(slope·score + offset) for each column (Platt), by Newton steps.

    Parameters
    ----------
    scores : array of shape (N, M)
    targets : array of shape (N, M), of −1 and +1
    weights : array of shape (N,), optional

    Returns
    -------
    slope, offset : arrays of shape (M,)
        The slope is never negative: a classifier that is worse than chance is left out, not inverted.
    """
    w = (np.ones(len(scores)) if weights is None else weights)[:, None].astype(float)
    S, positive = scores.astype(float), targets > 0
    n_positive, n_negative = (w * positive).sum(axis=0), (w * ~positive).sum(axis=0)
    # Platt's smoothed targets keep separable columns finite.
    aim = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    prior = np.log((n_positive + 1) / (n_negative + 1))
    centre = (w * S).sum(axis=0) / w.sum()
    S = S - centre
    unit = np.sqrt((w * S * S).sum(axis=0) / w.sum()) + np.finfo(float).tiny
    S /= unit
    slope, offset = np.zeros(S.shape[1]), prior.copy()
    for _ in range(12):
        P = expit(S * slope + offset)
        error, curve = w * (P - aim), w * P * (1 - P) + 1e-12
        g, h = (error * S).sum(axis=0), error.sum(axis=0)
        a, b, c = (curve * S * S).sum(axis=0), (curve * S).sum(axis=0), curve.sum(axis=0)
        a, c = a + 1e-6 * w.sum(), c + 1e-9 * w.sum()
        determinant = a * c - b * b
        slope -= np.clip((c * g - b * h) / determinant, -3, 3)
        offset -= np.clip((a * h - b * g) / determinant, -3, 3)
    useful = slope > 0
    slope = np.where(useful, slope, 0.0) / unit
    offset = np.where(useful, offset, prior)
    return slope, offset - slope * centre


def attribute_log_likelihood(logits: Array, present: Array) -> Array:
    """Return log Π_m p(aₘ | x) for each row and class, from log-odds (N, M) and signs (L, M)."""
    has = (present > 0).astype(logits.dtype)
    absent = np.logaddexp(logits.dtype.type(0), logits).sum(axis=1)
    return np.asarray(logits @ has.T - absent[:, None])


def log_prior(seen: Array, present: Array, smoothed: bool = True) -> Array:
    """Return log Π_m p(aₘ) of classes, with p(aₘ) the share of seen classes that have it.

    Shares are smoothed by one class of each kind, or taken as they are; one of 0 or 1 is then ½.
    """
    share = ((seen > 0).sum(axis=0) + 1) / (len(seen) + 2)
    if not smoothed:
        plain = (seen > 0).mean(axis=0)
        share = np.where((plain > 0) & (plain < 1), plain, 0.5)
    return np.asarray(np.where(present > 0, np.log(share), np.log1p(-share)).sum(axis=1))
