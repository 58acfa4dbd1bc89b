"""Signs that a row belongs to no candidate: how they are taken, and what they mean.

Two signs tell a stranger: a seen class that is no candidate explains it better than every candidate
does, or it is far from every candidate. Each is taken in units of the pool's own spread. How much each
counts, and how large both get without strangers, is learned in rehearsals.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unseen.typing import Array, Mask

TAIL_SHARES = np.geomspace(0.005, 0.2, 24)
"""Shares of the rows with the largest signs. For each the threshold is known that no larger share of
the rows exceeds in any rehearsal without strangers. A row above the first threshold is called a
stranger in any case."""

FALSE_AMONG_CALLED = 0.2
"""A lower threshold is taken where the pool has so many rows above it that those to be expected without
strangers are at most this share of them (Y. Benjamini and Y. Hochberg, "Controlling the false discovery
rate", 1995). On three folds of seen classes of eleven data sets, 0.1 to 0.33 call 1 % of the rows where
there is no stranger. Beside rows of seen classes that are no candidates, 0.1, 0.2 and 0.33 call 18, 26
and 35 % of these, and accuracy on the others is 1.6, 1.2 and 1.3 points below that without them."""

REHEARSED_SHARE = 0.2
"""The share of strangers for which log-odds hold."""

LEAST_SHARE, MOST_SHARE = 1e-3, 0.7
"""Bounds of the learned share of strangers."""


@dataclass(frozen=True)
class SignScale:
    """What rehearsals say of signs."""

    FILE_KEY = "stranger-sign-scale"

    middle: Array
    """Of both standard signs without strangers: medians, (2,)."""
    rise: Array
    """How far the largest hundredth is above the median, (2,)."""
    weights: Array
    """Of both, in these units, (2,)."""
    constant: float
    """The weighted sum and this constant are the log-odds, for ``REHEARSED_SHARE`` of strangers."""
    tail: Array
    """The sign that each of ``TAIL_SHARES`` of the rows exceeds, at most, without strangers."""

    def __call__(self, standard: Array) -> Array:
        """Return one sign a row, the log-odds of being a stranger."""
        return np.asarray((standard - self.middle) / self.rise @ self.weights + self.constant)

    def probabilities(self, sign: Array, share: float) -> Array:
        """Return the probability of being a stranger where so many are."""
        shift = np.log(share / (1 - share)) - np.log(REHEARSED_SHARE / (1 - REHEARSED_SHARE))
        return np.asarray(expit(sign + shift))

    def learned_share(self, sign: Array) -> float:
        """Return the share of strangers: what the tail of the pool has too much of."""
        excess = (self._above(sign) - TAIL_SHARES) / (1 - TAIL_SHARES)
        return float(np.clip(excess.max(), LEAST_SHARE, MOST_SHARE))

    def threshold(self, sign: Array) -> float:
        """Return the sign above which rows of a pool are called strangers."""
        sure = np.flatnonzero(FALSE_AMONG_CALLED * self._above(sign) >= TAIL_SHARES)
        return float(self.tail[sure[-1] if len(sure) else 0])

    def _above(self, sign: Array) -> Array:
        """Return the share of the rows above each threshold of the tail."""
        return np.asarray((sign[:, None] > self.tail).mean(axis=0))

    @classmethod
    def learned(cls, signs: Array, strange: Mask, alone: Sequence[Array]) -> Self:
        """Learn what signs mean.

        Parameters
        ----------
        signs : array of shape (N, 2)
            Standard signs of pools with strangers.
        strange : array of N booleans
            Which rows are strangers.
        alone : list of arrays of shape (M, 2)
            Standard signs of pools without strangers.
        """
        usual = np.concatenate(alone)
        middle = np.median(usual, axis=0)
        rise = np.maximum(np.quantile(usual, 0.99, axis=0) - middle, 1e-9)
        wanted = np.where(strange, REHEARSED_SHARE, 1 - REHEARSED_SHARE)
        balance = wanted / np.where(strange, strange.mean(), 1 - strange.mean())
        odds = LogisticRegression().fit((signs - middle) / rise, strange, sample_weight=balance)
        weights = np.maximum(odds.coef_[0], 0.0)  # a sign never speaks against a stranger
        scale = cls(middle, rise, weights, float(odds.intercept_[0]), TAIL_SHARES)
        tails = [np.quantile(scale(own), 1 - TAIL_SHARES, method="higher") for own in alone]
        return dataclasses.replace(scale, tail=np.max(tails, axis=0))


def stranger_signs(Z: Array, points: Array, others: Array) -> Array:
    """Return both signs, (N, 2): a seen class is nearer than all candidates; all of them are far."""
    near = half_squared_distances(Z, points).min(axis=1)
    other = near - half_squared_distances(Z, others).min(axis=1) if len(others) else np.zeros(len(Z))
    return np.stack([other, near], axis=1)


def usual_signs(signs: Array) -> Array:
    """Return median and median deviation of both signs, (2, 2)."""
    middle = np.median(signs, axis=0)
    return np.stack([middle, np.maximum(np.median(np.abs(signs - middle), axis=0), 1e-12)])


def standard_signs(signs: Array, usual: Array) -> Array:
    """Return signs in units of the pool's own spread."""
    return np.asarray((signs - usual[0]) / usual[1])


def half_squared_distances(Z: Array, points: Array) -> Array:
    """Return half the squared distances, (N, L)."""
    squares = np.einsum("ij,ij->i", Z, Z)[:, None] + np.einsum("ij,ij->i", points, points)
    return np.asarray(0.5 * np.maximum(squares - 2 * (Z @ points.T), 0.0))
