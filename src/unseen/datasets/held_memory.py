"""How much memory what was read takes, so that the arrays of one file have one budget."""

from __future__ import annotations

import numpy as np

from unseen.parquet_budget import PYTHON_TEXT_BYTES


def held_bytes(value: object) -> int:
    """Return how many bytes a value takes in memory; a map of a file takes none.

    >>> held_bytes(np.zeros(4)), held_bytes(["fox", "bat"]), held_bytes(None)
    (32, 120, 0)
    """
    if isinstance(value, np.memmap):
        return 0
    if isinstance(value, list):
        return sum(PYTHON_TEXT_BYTES + len(text) for text in value)
    return int(getattr(value, "nbytes", 0))
