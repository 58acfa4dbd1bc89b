"""The self-paced loop: predict the pool, select from easy to hard, learn again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.rows.chunks import Chunks, argmax, kept, mapped, summed
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.solvers.losses import pseudo_label_loss
from unseen.transductive.selection import Selection, SelectionStrategy
from unseen.typing import Array, Codes

PoolScores = tuple[Any, Any]
"""The label embedding g of the pool, and its calibrated log-probabilities; both (M, L)."""
Learn = Callable[[Selection, bool], PoolScores]
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


def run_rounds(
    start: PoolScores,
    learn: Learn,
    strategy: SelectionStrategy,
    settle: int = 0,
    known: Known = NOTHING_KNOWN,
    observer: Observer | None = None,
) -> tuple[list[Round], Any]:
    """Run one round for each share of the strategy, then up to ``settle`` more at the last share.

    Parameters
    ----------
    start : (g, log p)
        The pool as the inductive model sees it.
    learn : callable
        Learns from labelled rows and a selection; returns the pool as the new model sees it. It is told
        whether the last share has been reached: what comes before decides only which rows are next.
    strategy : SelectionStrategy
    settle : int
        Rounds at the last share until no prediction changes.
    known : Known
        Rows of the pool whose class is known. Every round selects them with that class; the loss in
        ``history`` compares the model's own embedding of them with it.
    observer : callable, optional
        Called with 0 for the start and the number of each round, and the probabilities of the pool.

    Returns
    -------
    history : list of Round
    first_round : array or chunks of shape (M,)
        The round in which each row was first selected; 0 for never.
    """
    scores, clamped = start, _clamped(start, known)
    _observe(observer, 0, clamped, known)
    history: list[Round] = []
    first_round = never(start[0])
    shares = strategy.shares + (strategy.shares[-1],) * settle
    for number, share in enumerate(shares, start=1):
        selection = strategy.select(*clamped, share).with_known(known)
        before = kept(argmax(clamped[0]))
        lost, counts = summed(_loss, scores[0], selection.codes, selection.weights)
        selected, covered, loss = int(counts.sum()), int((counts > 0).sum()), float("nan")
        if selected:
            loss = float(lost) / selected
            first_round = kept(mapped(_first, first_round, selection.weights, given=(number,)))
            scores = learn(selection, number >= len(strategy.shares))
            clamped = _clamped(scores, known)
        moved = float(summed(_moved, argmax(clamped[0]), before)[0])
        changed = moved / len(before) if len(before) else 0.0
        history.append(Round(number, selection.threshold, selected, covered, loss, changed))
        logger.debug("self-paced round %s", history[-1])
        _observe(observer, number, clamped, known)
        if number > len(strategy.shares) and changed == 0:
            break
    return history, first_round


def never(pool: Any) -> Any:
    """Return the round 0 for every row of the pool: none has been trusted."""
    if isinstance(pool, Chunks):
        return pool.constant(0)
    return np.zeros(len(pool), dtype=np.intp)


def show_round(observer: Observer | None, number: int, probabilities: Array) -> None:
    """Call an observer, if there is one, with a read-only copy of the pool's probabilities."""
    if observer is None:
        return
    shown = probabilities.copy()
    shown.flags.writeable = False
    observer(number, shown)


def _observe(observer: Observer | None, number: int, clamped: PoolScores, known: Known) -> None:
    if observer is not None:
        show_round(observer, number, known.clamp_probabilities(np.exp(clamped[1])))


def _clamped(scores: PoolScores, known: Known) -> PoolScores:
    embedding, log_p = scores
    return known.clamp_probabilities(embedding), known.clamp_log_probabilities(log_p)


def _loss(embedding: Array, codes: Codes, weights: Array) -> tuple[float, Array]:
    """Return the loss of Eq. (16), summed over the trusted rows, and how many each class has."""
    chosen = weights > 0
    loss = pseudo_label_loss(embedding, codes)[chosen]
    return float(loss.sum(dtype=float)), np.bincount(codes[chosen], minlength=embedding.shape[1])


def _first(first_round: Array, weights: Array, number: int) -> Array:
    return np.where((first_round == 0) & (weights > 0), number, first_round)


def _moved(codes: Codes, before: Codes) -> tuple[int]:
    return (int((codes != before).sum()),)
