"""What a method costs, when to take it and when not: shown on its page of the reference."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """Advice on a method, a class attribute of its estimator.

    The page of the method shows measured figures beside it, so advice repeats no number. In it, N are
    rows, p features, K seen classes, L candidates, q components of a class vector, M rows of the pool.
    """

    cost: str
    """What dominates the cost of a fit."""
    take: str
    """"Take it when …"."""
    leave: str
    """"Not when …"."""
