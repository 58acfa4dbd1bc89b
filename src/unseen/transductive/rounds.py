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
        self._strategy, self._settle = strategy, settle
        self._known, self._observer = known, observer
        self._scored_pool = scored_pool
        self._look()
        self.first_round: RowValues = constant(self._scores[0], 0)

    def __iter__(self) -> Iterator[Selection]:
        self._show(0)
        planned = self._strategy.shares
        for number, share in enumerate(planned + (planned[-1],) * self._settle, start=1):
            self.last = number >= len(planned)
            selection, labels = self._selected(share), self._labels()
            loss, counts = self._loss(selection)
            if counts.any():
                self._note_first(selection, number)
                yield selection
                self._look()
            changed = self._changed(labels)
            sizes = int(counts.sum()), int((counts > 0).sum())
            self.history.append(Round(number, selection.threshold, *sizes, loss, changed))
            logger.debug("self-paced round %s", self.history[-1])
            self._show(number)
            if number > len(planned) and changed == 0:
                break

    def _look(self) -> None:
        """Score the pool as the model is now; known rows are certain of their class."""
        self._scores = self._clamped = self._scored_pool()
        if self._known is not None:
            embedding, log_p = self._scores
            self._clamped = (
                self._known.clamp_probabilities(embedding),
                self._known.clamp_log_probabilities(log_p),
            )

    def _selected(self, share: float) -> Selection:
        """Select pseudo-labels, and every known row with them."""
        selection = self._strategy.select(*self._clamped, share)
        return selection if self._known is None else selection.with_known(self._known)

    def _labels(self) -> Any:
        """Return the class that the model predicts for each row."""
        return kept(argmax(self._clamped[0]))

    def _loss(self, selection: Selection) -> tuple[float, Array]:
        """Return the mean loss of Eq. (16) over the selected rows, and how many each class has."""
        rows = self._scores[0], selection.codes, selection.weights
        total, counts = summed(kernels.trusted_loss, *rows)
        return float(total) / int(counts.sum()) if counts.any() else float("nan"), counts

    def _note_first(self, selection: Selection, number: int) -> None:
        """Note the round of the rows that are selected for the first time."""
        rows = self.first_round, selection.weights
        self.first_round = kept(mapped(kernels.first_time, *rows, given=(number,)))

    def _changed(self, labels: RowValues) -> float:
        """Return the share of the pool whose predicted class is another than before."""
        (moved,) = summed(kernels.differences, argmax(self._clamped[0]), labels)
        return float(moved) / len(labels) if len(labels) else 0.0

    def _show(self, number: int) -> None:
        if self._observer is not None:
            P = np.exp(self._clamped[1])
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
