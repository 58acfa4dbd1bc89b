"""Awkward pools, for the studies beside this file."""

from __future__ import annotations

from typing import Any

import numpy as np

POOLS = ("full", "half absent", "50:1", "5 rows")


def pool_rows(y: Any, rows: Any, kind: str, random: np.random.Generator) -> Any:
    """Return those rows that make a pool: all, or of half of the classes, or of uneven ones, or few."""
    rows = random.permutation(rows)
    classes = random.permutation(np.unique(y[rows]))
    by_class = [rows[y[rows] == c] for c in classes]
    if kind == "half absent":
        by_class = by_class[: len(classes) // 2]
    elif kind == "5 rows":
        by_class = [own[:5] for own in by_class]
    elif kind == "50:1":
        most = min(len(own) for own in by_class)
        sizes = most * 50.0 ** -np.linspace(0, 1, len(classes))
        by_class = [own[: max(1, round(n))] for own, n in zip(by_class, sizes, strict=True)]
    return random.permutation(np.concatenate(by_class))
