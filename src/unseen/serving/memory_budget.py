"""How much memory requests in progress may take in all."""

from __future__ import annotations

SHARE = "unseen.memory"
"""Where a request has its share, in its ASGI scope."""


class OverBudget(Exception):
    """There is no memory for this request now, since others hold it."""

    detail = "Requests in progress hold all the memory that they may. Try again in a moment."


class MemoryBudget:
    """Bytes of bodies and answers in progress.

    Parameters
    ----------
    most : int
        One request may take more if it is the only one that holds anything.

    Examples
    --------
    >>> budget = MemoryBudget(100)
    >>> with Share(budget) as share:
    ...     share.add(80)
    ...     budget.taken
    80
    >>> budget.taken
    0
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0


class Share:
    """What one request takes of a budget; it is given back when the request ends."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget, self._held = budget, 0

    def add(self, size: int) -> None:
        """Take so many bytes more, or raise OverBudget."""
        budget = self._budget
        if size and budget.taken > self._held and budget.taken + size > budget.most:
            raise OverBudget
        budget.taken += size
        self._held += size

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget.taken -= self._held
