"""Look at self-paced rounds while they run, and tell them what a person knows of the pool.

This is for programs that show the rounds to somebody. ``fit`` itself needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.chunks import Chunks

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Watcher:
    """Who looks, and what he knows."""

    on_round: Callable[[int, Array], None]
    known: Mapping[int, int] = field(default_factory=dict)


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(
    on_round: Callable[[int, Array], None], known: Mapping[int, int] | None = None
) -> Iterator[None]:
    """Watch the rounds of every ``fit`` in the block.

    A row that a person has labelled is not taken out of the pool: it stays there with that label, sure,
    and counts in every round as one row. Given to ``fit`` as a labelled row instead, it would be all
    that is known of its class, in place of the class's semantics and of the pool.

    Parameters
    ----------
    on_round : callable
        Called with the number of a round, 0 for the start, and a copy of the probabilities of the
        unlabelled rows, (M, L), columns as in ``classes_``.
    known : mapping, optional
        Unlabelled row, counted from 0 -> place of its class in ``classes_``.

    Examples
    --------
    >>> from unseen import SelfPacedPrototypes
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "owl": [0, 0], "fox": [1, 1], "elk": [0, 2]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.1, 0.9], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", "dog", None]
    >>> with watching(lambda number, P: print(number, P.shape)):
    ...     _ = SelfPacedPrototypes(semantics, rounds=1, adaptation="full").fit(X, y)
    0 (1, 2)
    1 (1, 2)
    """
    token = _watcher.set(Watcher(on_round, known or {}))
    try:
        yield
    finally:
        _watcher.reset(token)


def show_round(number: int, probabilities: Array) -> None:
    """Put what is known into the probabilities of a round, in place, and show them."""
    watcher = _watcher.get()
    if watcher is None:
        return
    for row, place in watcher.known.items():
        probabilities[row] = 0
        probabilities[row, place] = 1
    watcher.on_round(number, probabilities.copy())


def corrected(embedding: Any, log_probabilities: Any) -> tuple[Any, Any]:
    """Return the pool's label embedding and log-probabilities with what is known put in."""
    watcher = _watcher.get()
    if watcher is not None and isinstance(embedding, Chunks):
        raise ValueError("Rounds are watched on rows in memory only: give arrays, not chunks.")
    if watcher is None or not watcher.known:
        return embedding, log_probabilities
    embedding, log_probabilities = embedding.copy(), log_probabilities.copy()
    rows, places = np.array(list(watcher.known.items())).T
    embedding[rows], log_probabilities[rows] = 0, -60  # nothing that is infinite
    embedding[rows, places], log_probabilities[rows, places] = 1, 0
    return embedding, log_probabilities
