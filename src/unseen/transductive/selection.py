"""Which pseudo-labels to trust in a round: small interchangeable strategies.

A strategy is a frozen object with ``shares``, one number a round, and ``select``. It sees the label
embedding g (M × L) that Eq. (16) speaks of and the calibrated log-probabilities of the same rows, and
returns the pseudo-label and the weight of every row; weight zero means not selected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from unseen.numerics.losses import pseudo_label_loss
from unseen.numerics.rows import Codes
from unseen.numerics.transport import balance

Array = npt.NDArray[Any]

SHARES = (0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Selection:
    """The pseudo-labels of a round."""

    codes: Codes
    weights: Array
    threshold: float

    @property
    def chosen(self) -> npt.NDArray[np.intp]:
        """The rows that were selected."""
        return np.flatnonzero(self.weights > 0)

    @property
    def covered(self) -> int:
        """How many classes have a selected row."""
        return len(np.unique(self.codes[self.chosen]))


@runtime_checkable
class SelectionStrategy(Protocol):
    """What a strategy offers."""

    @property
    def shares(self) -> tuple[float, ...]:
        """One number a round, from easy to hard."""

    def select(self, embedding: Array, log_p: Array, share: float) -> Selection:
        """Choose rows of the pool and their labels."""


@dataclass(frozen=True)
class ThresholdSelection:
    """The paper's rule, Eq. (16) and (22): every row whose loss is below θ = share·δ.

    δ is the largest loss in the pool at that round. One threshold for all classes lets the selected
    rows gather in a few classes, and the squared loss then pushes all others down: on real data
    this collapses. It is here to reproduce the paper.
    """

    shares: tuple[float, ...] = SHARES

    def select(self, embedding: Array, log_p: Array, share: float) -> Selection:
        """Take the rows with ‖f(x) − g(x)‖² < share·δ, and all of them when share is 1."""
        codes = embedding.argmax(axis=1)
        loss = pseudo_label_loss(embedding, codes)
        theta = share * float(loss.max())
        chosen = (loss < theta) | (share >= 1)
        return Selection(codes, chosen.astype(float), theta)


@dataclass(frozen=True)
class BalancedSelection:
    """The most confident share of every predicted class, each class with like weight.

    Labels come from probabilities that lean towards a class prior, so that no class draws all
    rows to itself; within each class the most probable rows are taken; and a class with many selected
    rows weighs no more than one with few.

    Parameters
    ----------
    shares : tuple of float
        The share of each predicted class to select, round by round.
    prior : array of L positive numbers, optional
        The class prior to lean to; uniform when not given.
    strength : float in [0, 1]
        How far to lean; see :func:`unseen.numerics.transport.balance`.
    largest_weight : float
        No row counts for more than this, however few its class has.
    """

    shares: tuple[float, ...] = SHARES
    prior: Any = None
    strength: float = 0.9
    largest_weight: float = 3.0

    def select(self, embedding: Array, log_p: Array, share: float) -> Selection:
        """Take the best ``share`` of the rows of each predicted class."""
        rows, classes = log_p.shape
        prior = np.full(classes, 1 / classes) if self.prior is None else np.asarray(self.prior)
        moved = balance(log_p, prior / prior.sum(), self.strength)
        codes = moved.argmax(axis=1)
        confidence = np.take_along_axis(moved, codes[:, None], axis=1).ravel()
        order = np.lexsort((-confidence, codes))
        counts = np.bincount(codes, minlength=classes)
        start = np.concatenate([[0], np.cumsum(counts)[:-1]])
        rank = np.empty(rows, dtype=np.intp)
        rank[order] = np.arange(rows) - start[codes[order]]
        taken = np.ceil(share * counts).astype(int)
        chosen = rank < taken[codes]
        weight = prior / prior.sum() * rows / np.maximum(taken, 1)
        weights = np.where(chosen, np.minimum(weight, self.largest_weight)[codes], 0.0)
        return Selection(codes, weights, share)


STRATEGIES = {"threshold": ThresholdSelection, "balanced": BalancedSelection}


def strategy_of(selection: object, owner: str) -> SelectionStrategy:
    """Return a strategy from its name or from itself."""
    if isinstance(selection, str) and selection in STRATEGIES:
        return STRATEGIES[selection]()
    if isinstance(selection, SelectionStrategy):
        return selection
    names = " or ".join(repr(name) for name in STRATEGIES)
    raise ValueError(
        f"The 'selection' parameter of {owner} must be {names}, or a selection strategy. "
        f"Got {selection!r} instead."
    )
