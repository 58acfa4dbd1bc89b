"""Balanced assignment: probabilities moved as little as possible to meet a class prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.rows import kernels
from unseen.rows.chunks import BLOCK_ROWS
from unseen.rows.passes import kept, mapped, summed
from unseen.typing import Array, RowValues

LARGEST_LOG_FACTOR = 50.0
"""The logarithm of a class's factor stays within ± this: nothing over- or underflows."""

ANDERSON_DEPTH = 5
"""Past steps that Anderson's method combines."""


def balance(log_p: RowValues, prior: Array, strength: float = 1.0, max_iter: int = 100) -> Any:
    """Return log-probabilities whose class totals lean towards a prior (Sinkhorn's iteration).

    One bias a class is added to ``log_p``, and the rows are normalised again. With ``strength`` 1 the
    totals meet the prior; with less, the bias is damped (unbalanced transport with a
    Kullback–Leibler penalty on the totals, of weight s/(1 − s)); with 0 nothing moves.

    Parameters
    ----------
    log_p : array or chunks of shape (M, L)
        Log-probabilities, rows normalised.
    prior : array of shape (L,)
        The share of rows wanted in each class, positive and summing to one.
    strength : float in [0, 1]
    """
    if strength <= 0 or len(log_p) == 0:
        return log_p
    return kept(
        mapped(kernels.with_biases, log_p, given=(class_biases(log_p, prior, strength, max_iter),))
    )


def class_biases(
    scores: RowValues,
    prior: Array,
    strength: float = 1.0,
    max_iter: int = 100,
) -> Array:
    """Return the bias of each class under which softmax(scores + bias) leans towards a prior.

    Parameters
    ----------
    scores : array or chunks of shape (M, L)
        Up to a constant a row. A row may have one finite score only.
    prior, strength
        As of :func:`balance`.
    """
    # Rows scaled to a largest entry of one: nothing over- or underflows.
    P = kept(mapped(kernels.relative_probabilities, scores))
    target = np.log(prior) + np.log(len(scores))
    bias = np.zeros(scores.shape[1])
    past: list[tuple[Array, Array]] = []
    for _ in range(max_iter):
        # The mass that each class would get at bias zero, given the others.
        (drawn,) = summed(kernels.drawn_mass, P, given=(np.exp(bias),), size=16 * BLOCK_ROWS)
        drawn = np.log(np.maximum(drawn, np.finfo(float).tiny))
        update = strength * (target - drawn)
        update = np.clip(update - update.mean(), -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR)
        residual = update - bias
        bias = update
        if np.abs(residual).max() < 1e-6:
            break
        bias = np.clip(_accelerated(update, residual, past), -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR)
    return bias


def _accelerated(update: Array, residual: Array, past: list[tuple[Array, Array]]) -> Array:
    """Return Anderson's step: the mixture of the last updates whose residuals cancel best.

    Where many passes are needed, it takes a third or less of those of plain iteration. Where a residual
    has grown, the past is forgotten, and the step is the plain one.
    """
    if past and np.linalg.norm(residual) > np.linalg.norm(past[-1][1]):
        past.clear()
    step = update
    if past:
        updates = np.stack([update - old for old, _ in past], axis=1)
        residuals = np.stack([residual - old for _, old in past], axis=1)
        step = update - updates @ np.linalg.lstsq(residuals, residual, rcond=1e-10)[0]
    past.append((update, residual))
    del past[:-ANDERSON_DEPTH]
    return np.asarray(step)


def estimate_prior(log_p: RowValues, smoothing: float = 0.2, max_iter: int = 30) -> Array:
    """Return the class prior under which the rows are most likely (Saerens' iteration, smoothed).

    ``log_p`` are calibrated for equal class sizes. Each class starts with ``smoothing`` times its equal
    share of rows, so that none vanishes.
    """
    rows, classes = log_p.shape
    P = kept(mapped(_exponentials, log_p))
    prior = np.full(classes, 1 / classes)
    for _ in range(max_iter):
        (expected,) = summed(_expected_counts, P, given=(prior,), size=16 * BLOCK_ROWS)
        counts = expected + smoothing * rows / classes
        prior = counts / counts.sum()
    return prior


def _exponentials(scores: Array) -> Array:
    """Return exp(scores) in double precision."""
    return np.asarray(np.exp(scores.astype(float)))


def _expected_counts(P: Array, prior: Array) -> tuple[Array]:
    """Return the class totals of the soft labels Q ∝ P·prior."""
    joint = P * prior
    return ((joint / joint.sum(axis=1, keepdims=True)).sum(axis=0),)
