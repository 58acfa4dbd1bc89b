"""Scores brought to a wanted entropy, and soft labels of which the largest are kept."""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

from unseen.typing import Array, Codes

KEPT_CLASSES = 32
"""Classes of a row whose soft labels are kept."""


def entropy(S: Array) -> float:
    """Return the mean entropy of softmax(S)."""
    S = S - S.max(axis=1, keepdims=True)
    E = np.exp(S)
    Z = E.sum(axis=1)
    return float((np.log(Z) - np.einsum("ij,ij->i", E, S) / Z).mean())


def to_entropy(S: Array, wanted: float) -> float:
    """Return the factor by which softmax(factor·S) has this mean entropy."""
    low, high = -12.0, 12.0
    if not 0 < wanted < np.log(S.shape[1]) or not S.std() > 0:
        return 1.0

    def above(log_factor: float) -> float:
        return entropy(S * S.dtype.type(np.exp(log_factor))) - wanted

    if above(low) <= 0 or above(high) >= 0:
        return float(np.exp(low if above(low) <= 0 else high))
    return float(np.exp(optimize.brentq(above, low, high, xtol=1e-4)))


def soft_labels(S: Array) -> sparse.csr_matrix:
    """Return softmax(S), of each row the largest entries, which sum to one."""
    rows, classes = S.shape
    count = min(KEPT_CLASSES, classes)
    places = np.argpartition(S, -count, axis=1)[:, -count:] if count < classes else None
    if places is None:
        places = np.tile(np.arange(classes), (rows, 1))
    values = np.take_along_axis(S, places, axis=1)
    values -= values.max(axis=1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=1, keepdims=True)
    starts = np.arange(0, rows * count + 1, count)
    return sparse.csr_matrix((values.ravel(), places.ravel(), starts), shape=S.shape)


def moved_mass(labels: sparse.csr_matrix, before: sparse.csr_matrix) -> float:
    """Return half the sum of |new − old| over soft labels of the same rows."""
    values = labels.data.reshape(labels.shape[0], -1)
    places = labels.indices.reshape(values.shape)
    old = np.take_along_axis(before.toarray(), places, axis=1)
    left_out = float(before.data.sum()) - float(old.sum())
    return (float(np.abs(values - old).sum()) + left_out) / 2


def largest(labels: sparse.csr_matrix) -> tuple[Codes, Array]:
    """Return the class with the largest soft label of each row, and that label."""
    values = labels.data.reshape(labels.shape[0], -1)
    best = values.argmax(axis=1)[:, None]
    places = labels.indices.reshape(values.shape)
    codes = np.take_along_axis(places, best, axis=1).ravel().astype(np.intp)
    return codes, np.take_along_axis(values, best, axis=1).ravel()
