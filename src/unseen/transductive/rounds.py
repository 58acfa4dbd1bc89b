"""The self-paced loop: predict the pool, select from easy to hard, learn again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.rows import kernels
from unseen.rows.known import Known
from unseen.rows.passes import argmax, constant, kept, log_probabilities, mapped, spread, summed
from unseen.transductive.selection import Selection, SelectionStrategy
from unseen.typing import Array, RowValues

PoolScores = tuple[Any, Any]
"""The label embedding g of the pool, and its calibrated log-probabilities; both (M, L)."""
Observer = Callable[[int, Array], None]
"""Called with the number of a round and the pool's probabilities after it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Round:
    """One line of ``history_``."""

    FILE_KEY = "round"

    round: int
    threshold: float
    """θ for the paper's rule; the share of each class for the others."""
    selected: int
    """Rows of the pool that were trusted."""
    classes_covered: int
    loss: float
    """Mean loss of Eq. (16) over the selected rows, before the model learned from them."""
    changed: float
    """Share of the pool whose predicted class the round changed."""


class SelfPacedRounds:
    """One round for each share of a strategy, then up to ``settle`` more at the last share.

        rounds = SelfPacedRounds(scored_pool, strategy)
        for selection in rounds:
            ...learn from labelled rows and the selection...

    Parameters
    ----------
    scored_pool : callable
        Returns (g, log p): the pool as the model sees it. It is called for the start and after each
        round that selected rows.
    strategy : SelectionStrategy
    settle : int
        Rounds at the last share until no prediction changes.
    known : Known, optional
        Rows of the pool whose class is known. Every round selects them with that class; the loss in
        ``history`` compares the model's own embedding of them with it.
    observer : callable, optional
        Called with 0 for the start and the number of each round, and the probabilities of the pool.

    Attributes
    ----------
    last : bool
        Whether the last share has been reached: rounds before decide only which rows are next.
    history : list of Round
    first_round : array or chunks of shape (M,)
        The round in which each row was first selected; 0 for never.
    """

    def __init__(
        self,
        scored_pool: Callable[[], PoolScores],
        strategy: SelectionStrategy,
        settle: int = 0,
        known: Known | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.last = False
        self.history: list[Round] = []
        self._scored_pool, self._scores = scored_pool, scored_pool()
        self.first_round: RowValues = constant(self._scores[0], 0)
        self._strategy, self._settle = strategy, settle
        self._known, self._observer = known, observer

    def __iter__(self) -> Iterator[Selection]:
        clamped = self._clamped()
        self._show(0, clamped)
        planned = self._strategy.shares
        for number, share in enumerate(planned + (planned[-1],) * self._settle, start=1):
            self.last = number >= len(planned)
            selection = self._strategy.select(*clamped, share)
            if self._known is not None:
                selection = selection.with_known(self._known)
            before = kept(argmax(clamped[0]))
            lost, counts = summed(
                kernels.trusted_loss, self._scores[0], selection.codes, selection.weights
            )
            selected, loss = int(counts.sum()), float("nan")
            if selected:
                loss = float(lost) / selected
                chosen, given = selection.weights, (number,)
                self.first_round = kept(
                    mapped(kernels.first_time, self.first_round, chosen, given=given)
                )
                yield selection
                self._scores = self._scored_pool()
                clamped = self._clamped()
            (moved,) = summed(kernels.differences, argmax(clamped[0]), before)
            changed = float(moved) / len(before) if len(before) else 0.0
            covered = int((counts > 0).sum())
            self.history.append(Round(number, selection.threshold, selected, covered, loss, changed))
            logger.debug("self-paced round %s", self.history[-1])
            self._show(number, clamped)
            if number > len(planned) and changed == 0:
                break

    def _clamped(self) -> PoolScores:
        """Return the pool as the model sees it, known rows certain of their class."""
        if self._known is None:
            return self._scores
        embedding, log_p = self._scores
        return (
            self._known.clamp_probabilities(embedding),
            self._known.clamp_log_probabilities(log_p),
        )

    def _show(self, number: int, clamped: PoolScores) -> None:
        if self._observer is not None:
            P = np.exp(clamped[1])
            P = P if self._known is None else self._known.clamp_probabilities(P)
            show_round(self._observer, number, P)


def show_round(observer: Observer, number: int, probabilities: Array) -> None:
    """Call an observer with a read-only copy of the pool's probabilities."""
    shown = probabilities.copy()
    shown.flags.writeable = False
    observer(number, shown)


class PoolScorer:
    """Scores the pool by a model; its temperature follows the spread of its scores.

    The first call keeps the temperature that the model has. Later calls set it, so that probabilities
    stay as sharp as they were at the start, however large the scores of a round are.

    Parameters
    ----------
    model : classifier
    pool : array or chunks of shape (M, p)
    vectors : array of shape (L, q)
        The vectors of the candidates.
    """

    def __init__(self, model: ZeroShotClassifier, pool: RowValues, vectors: Array) -> None:
        self._model, self._pool, self._vectors = model, pool, vectors
        self._sharpness: float | None = None

    def __call__(self) -> PoolScores:
        """Return the model's scores of the pool and their log-probabilities."""
        model = self._model
        scores = kept(model._rows_scores(self._pool, self._vectors))
        if self._sharpness is None:
            self._sharpness = model.temperature_ / spread(scores)
        else:
            model.temperature_ = self._sharpness * spread(scores)
        return scores, kept(log_probabilities(scores, model.temperature_))
