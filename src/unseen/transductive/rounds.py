"""The self-paced loop: predict the pool, select from easy to hard, learn again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.losses import pseudo_label_loss
from unseen.transductive.selection import Selection, SelectionStrategy
from unseen.transductive.watching import corrected, show_round

Array = npt.NDArray[Any]
PoolScores = tuple[Array, Array]
"""The label embedding g of the pool, and its calibrated log-probabilities; both (M, L)."""

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
    learn: Callable[[Selection], PoolScores],
    strategy: SelectionStrategy,
    settle: int = 0,
) -> tuple[list[Round], Array]:
    """Run one round for each share of the strategy, then up to ``settle`` more at the last share.

    Parameters
    ----------
    start : (g, log p)
        The pool as the inductive model sees it.
    learn : callable
        Learns from labelled rows and a selection; returns the pool as the new model sees it.
    strategy : SelectionStrategy
    settle : int
        Rounds at the last share until no prediction changes.

    Returns
    -------
    history : list of Round
    first_round : array of shape (M,)
        The round in which each row was first selected; 0 for never.
    """
    scores = corrected(*start)
    show_round(0, np.exp(scores[1]))
    history: list[Round] = []
    first_round = np.zeros(len(start[0]), dtype=np.intp)
    shares = strategy.shares + (strategy.shares[-1],) * settle
    for number, share in enumerate(shares, start=1):
        selection = strategy.select(*scores, share)
        chosen = selection.chosen
        before = scores[0].argmax(axis=1)
        if len(chosen):
            loss = float(pseudo_label_loss(scores[0][chosen], selection.codes[chosen]).mean())
            first_round[chosen[first_round[chosen] == 0]] = number
            scores = corrected(*learn(selection))
        else:
            loss = float("nan")
        changed = float((scores[0].argmax(axis=1) != before).mean()) if len(before) else 0.0
        history.append(
            Round(number, selection.threshold, len(chosen), selection.covered, loss, changed)
        )
        logger.debug("self-paced round %s", history[-1])
        show_round(number, np.exp(scores[1]))
        if number > len(strategy.shares) and changed == 0:
            break
    return history, first_round
