"""Which pseudo-labels to trust in a round: small interchangeable strategies.

A strategy is a frozen object with ``shares``, one number a round, and ``select``. It sees the label
embedding g (M × L) that Eq. (16) speaks of and the calibrated log-probabilities of the same rows, and
returns the pseudo-label and the weight of every row; weight zero means not selected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from unseen.exceptions import AdaptationWarning
from unseen.rows import kernels
from unseen.rows.known import Known
from unseen.rows.labelled import Rows
from unseen.rows.passes import argmax, best_of_each_class, class_weights, kept, largest, like, mapped
from unseen.statistics.review import Review, review_pool
from unseen.statistics.transport import balance, estimate_prior
from unseen.typing import Array, Codes, RowValues

if TYPE_CHECKING:
    from unseen.transductive._pool import Split

SHARES = (0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Selection:
    """The pseudo-labels of a round."""

    codes: Any
    weights: Any
    threshold: float

    @property
    def chosen(self) -> npt.NDArray[np.intp]:
        """The places of the rows that were selected, where they are in memory."""
        return np.flatnonzero(self.weights > 0)

    def of(self, pool: object) -> Rows:
        """Return the trusted rows of the pool with their labels and weights."""
        return Rows(pool, self.codes, self.weights).trusted()

    def weights_times(self, factor: float) -> RowValues:
        """Return the weight of every row, times a factor."""
        weights: RowValues = mapped(np.multiply, self.weights, given=(factor,))
        return weights

    def with_known(self, known: Known) -> Selection:
        """Return the selection with every known row in it, under its known class.

        A known row that the strategy did not select has the mean weight of the rows that it did select
        in that class, or 1 if there are none.
        """
        if not len(known):
            return self
        trusted, classes = self.weights > 0, max(self.codes.max(), known.places.max()) + 1
        sizes = np.bincount(self.codes[trusted], minlength=classes)
        totals = np.bincount(self.codes[trusted], self.weights[trusted], classes)
        mean = np.where(sizes > 0, totals / np.maximum(sizes, 1), 1.0)
        codes, weights = known.clamp_labels(self.codes), np.array(self.weights, dtype=float)
        missed = known.rows[~trusted[known.rows] | (self.codes[known.rows] != known.places)]
        weights[missed] = mean[codes[missed]]
        return Selection(codes, weights, self.threshold)


@runtime_checkable
class SelectionStrategy(Protocol):
    """What a strategy offers."""

    @property
    def shares(self) -> tuple[float, ...]:
        """One number a round, from easy to hard."""

    def select(self, embedding: RowValues, log_p: RowValues, share: float) -> Selection:
        """Choose rows of the pool and their labels."""


@dataclass(frozen=True)
class ThresholdSelection:
    """The paper's rule, Eq. (16) and (22): every row whose loss is below θ = share·δ.

    δ is the largest loss in the pool at that round. One threshold for all classes lets the selected
    rows gather in a few classes, and the squared loss then pushes all others down: on real data
    this collapses. It is here to reproduce the paper.
    """

    FILE_KEY = "threshold-selection"

    shares: tuple[float, ...] = SHARES

    def select(self, embedding: RowValues, log_p: RowValues, share: float) -> Selection:
        """Take the rows with ‖f(x) − g(x)‖² < share·δ, and all of them when share is 1."""
        codes = kept(argmax(embedding))
        loss = kept(mapped(kernels.pseudo_label_loss, embedding, codes))
        theta = share * largest(loss)
        return Selection(codes, kept(mapped(_below, loss, given=(theta, share >= 1))), theta)


@dataclass(frozen=True)
class BalancedSelection:
    """The most confident share of every predicted class, each class with like weight.

    Labels come from probabilities that lean towards a class prior, so that no class draws all rows to
    itself; within each class the most confident rows are taken; and a class with many selected rows
    weighs no more than its prior says. With ``strength=1`` the labels are an optimal-transport
    assignment that meets the prior.

    Parameters
    ----------
    shares : tuple of float
        The share of each predicted class to select, round by round.
    prior : "uniform", "estimated", None or array of L positive numbers
        The class prior to lean to: equal sizes; sizes estimated from the pool; none; or known ones, in
        the order of the candidates.
    strength : float in [0, 1]
        How far to lean; see :func:`unseen.statistics.transport.balance`.
    largest_weight : float
        No row counts for more than this, however few its class has.
    by : "probability" or "margin"
        What confidence is: the probability of the label, or its distance from the runner-up.
    """

    FILE_KEY = "balanced-selection"

    shares: tuple[float, ...] = SHARES
    prior: object = "uniform"
    strength: float = 0.9
    largest_weight: float = 3.0
    by: str = "probability"

    def select(self, embedding: RowValues, log_p: RowValues, share: float) -> Selection:
        """Take the best ``share`` of the rows of each predicted class."""
        prior = self._prior(log_p)
        moved = log_p if prior is None else balance(log_p, prior, self.strength)
        codes = kept(argmax(moved))
        chosen = kept(best_of_each_class(codes, self._confidence(moved, codes), share))
        taken = class_weights(codes, log_p.shape[1], chosen)
        wanted = 1 / log_p.shape[1] if prior is None else prior
        weight = np.minimum(wanted * len(log_p) / np.maximum(taken, 1), self.largest_weight)
        return Selection(
            codes, kept(mapped(kernels.weights_of_class, codes, chosen, given=(weight,))), share
        )

    def _prior(self, log_p: RowValues) -> Array | None:
        if self.prior is None:
            return None
        if isinstance(self.prior, str):
            if self.prior == "estimated":
                return estimate_prior(log_p)
            if self.prior == "uniform":
                return np.full(log_p.shape[1], 1 / log_p.shape[1])
        else:
            known = np.asarray(self.prior, dtype=float)
            if known.shape == log_p.shape[1:] and (known > 0).all():
                return np.asarray(known / known.sum())
        raise ValueError(
            "The 'prior' parameter of BalancedSelection must be 'uniform', 'estimated', None or "
            f"{log_p.shape[1]} positive numbers, one a candidate. Got {self.prior!r} instead."
        )

    def _confidence(self, log_p: RowValues, codes: RowValues) -> RowValues:
        if self.by not in ("probability", "margin"):
            raise ValueError(
                "The 'by' parameter of BalancedSelection must be 'probability' or 'margin'. "
                f"Got {self.by!r} instead."
            )
        margin = self.by == "margin"
        confidence: RowValues = (
            mapped(_margin, log_p) if margin else mapped(kernels.own_score, log_p, codes)
        )
        return confidence


@dataclass(frozen=True)
class AgreementSelection:
    """Rows on which another model agrees, chosen among them as by another strategy.

    Parameters
    ----------
    partner : array of shape (M, L)
        Probabilities or scores that another fitted model gives to the unlabelled rows, with columns in
        the order of the candidates: ``other.predict_proba(pool)``.
    strategy : SelectionStrategy
        How to choose among the rows where both name the same class.
    """

    FILE_KEY = "agreement-selection"

    partner: RowValues
    strategy: BalancedSelection = BalancedSelection()

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the inner strategy."""
        return self.strategy.shares

    def select(self, embedding: RowValues, log_p: RowValues, share: float) -> Selection:
        """Select by the inner strategy, then drop the rows on which the partner differs."""
        partner = like(log_p, self.partner)
        if partner.shape != log_p.shape:
            raise ValueError(
                f"The 'partner' of AgreementSelection must have shape {log_p.shape}: unlabelled rows × "
                f"candidates. Got {partner.shape} instead."
            )
        selection = self.strategy.select(embedding, log_p, share)
        weights = mapped(_where_equal, selection.codes, argmax(partner), selection.weights)
        return Selection(selection.codes, kept(weights), selection.threshold)


STRATEGIES: dict[str, Callable[[], SelectionStrategy]] = {
    "balanced": BalancedSelection,
    "threshold": ThresholdSelection,
    "margin": partial(BalancedSelection, by="margin"),
    "transport": partial(BalancedSelection, strength=1.0),
}


def strategy_of(selection: object, owner: str) -> SelectionStrategy:
    """Return a strategy from its name or from itself."""
    if isinstance(selection, str) and selection in STRATEGIES:
        return STRATEGIES[selection]()
    if isinstance(selection, SelectionStrategy):
        return selection
    names = ", ".join(repr(name) for name in STRATEGIES)
    raise ValueError(
        f"The 'selection' parameter of {owner} must be one of {names}, or a selection strategy. "
        f"Got {selection!r} instead."
    )


def reviewed_strategy(
    selection: object, split: Split, owner: str
) -> tuple[SelectionStrategy, Review | None]:
    """Return how pseudo-labels are selected, and the review of the pool if there was one.

    The default, "balanced", leans to class shares that follow a review of the pool: equal ones where it
    looks even, else those that it shows. Another strategy, or a given prior, is used as it is.
    """
    strategy = strategy_of(selection, owner)
    by_default = isinstance(selection, str) and selection == "balanced"
    if not by_default or not split.reviewable:
        return strategy, None
    review = review_pool(split.rows, split.pool, split.seen, split.vectors)
    if review is None:
        return strategy, None
    for alarm in review.alarms.values():
        warnings.warn(f"{owner}: {alarm}", AdaptationWarning, stacklevel=5)
    return BalancedSelection(prior=review.shares), review


def _margin(scores: Array) -> Array:
    """Return how far the best score is above the second best."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _where_equal(codes: Codes, others: Codes, weights: Array) -> Array:
    """Return the weights of the rows on which two labels agree, zero for the others."""
    return np.where(codes == others, weights, 0.0)


def _below(values: Array, limit: float, everything: bool) -> Array:
    """Return 1 for values below a limit, or for all of them, and 0 for the others."""
    return ((values < limit) | everything).astype(float)
