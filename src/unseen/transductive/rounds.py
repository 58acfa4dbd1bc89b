"""The self-paced loop: predict the pool, select from easy to hard, learn again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.chunks import Chunks, argmax, kept, mapped, summed
from unseen.numerics.losses import pseudo_label_loss
from unseen.numerics.rows import Codes
from unseen.transductive.selection import Selection, SelectionStrategy
from unseen.transductive.watching import corrected, show_round

Array = npt.NDArray[Any]
PoolScores = tuple[Any, Any]
"""The label embedding g of the pool, and its calibrated log-probabilities; both (M, L)."""
Learn = Callable[[Selection, bool], PoolScores]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Round:
    """One line of ``history_``."""

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

    Returns
    -------
    history : list of Round
    first_round : array or chunks of shape (M,)
        The round in which each row was first selected; 0 for never.
    """
    scores = corrected(*start)
    _show(0, scores)
    history: list[Round] = []
    first_round = never(start[0])
    shares = strategy.shares + (strategy.shares[-1],) * settle
    for number, share in enumerate(shares, start=1):
        selection = strategy.select(*scores, share)
        before = kept(argmax(scores[0]))
        lost, counts = summed(_loss, scores[0], selection.codes, selection.weights)
        selected, covered, loss = int(counts.sum()), int((counts > 0).sum()), float("nan")
        if selected:
            loss = float(lost) / selected
            first_round = kept(mapped(_first, first_round, selection.weights, given=(number,)))
            scores = corrected(*learn(selection, number >= len(strategy.shares)))
        moved = float(summed(_moved, argmax(scores[0]), before)[0])
        changed = moved / len(before) if len(before) else 0.0
        history.append(Round(number, selection.threshold, selected, covered, loss, changed))
        logger.debug("self-paced round %s", history[-1])
        _show(number, scores)
        if number > len(strategy.shares) and changed == 0:
            break
    return history, first_round


def never(pool: Any) -> Any:
    """Return the round 0 for every row of the pool: none has been trusted."""
    if isinstance(pool, Chunks):
        return pool.constant(0)
    return np.zeros(len(pool), dtype=np.intp)


def _show(number: int, scores: PoolScores) -> None:
    if not isinstance(scores[1], Chunks):
        show_round(number, np.exp(scores[1]))


def _loss(embedding: Array, codes: Codes, weights: Array) -> tuple[float, Array]:
    """Return the loss of Eq. (16), summed over the trusted rows, and how many each class has."""
    chosen = weights > 0
    loss = pseudo_label_loss(embedding, codes)[chosen]
    return float(loss.sum(dtype=float)), np.bincount(codes[chosen], minlength=embedding.shape[1])


def _first(first_round: Array, weights: Array, number: int) -> Array:
    return np.where((first_round == 0) & (weights > 0), number, first_round)


def _moved(codes: Codes, before: Codes) -> tuple[int]:
    return (int((codes != before).sum()),)
