"""Write one label a row, some chunks at a time."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unseen.files import atomic_file
from unseen.spreadsheet_cells import neutral_cell
from unseen.typing import Array

TOGETHER = 64
"""Chunks of a Dask array that are computed at a time."""


def write_labels(path: str | os.PathLike[str], labels: Any) -> dict[str, int]:
    """Write what ``predict`` returned to a ``.npy``, or to a CSV of one column; return the counts.

    Parameters
    ----------
    path : path
    labels : array or dask.array.Array of N labels
    """
    counts: Counter[str] = Counter()
    with atomic_file(path) as temporary:
        if Path(path).suffix.lower() == ".npy":
            out = np.lib.format.open_memmap(temporary, "w+", labels.dtype, labels.shape)
            for start, part in _parts(labels):
                out[start : start + len(part)] = part
                _count(counts, part)
            out.flush()
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["label"])
                for _, part in _parts(labels):
                    writer.writerows([_cell(label)] for label in part.tolist())
                    _count(counts, part)
    return dict(sorted(counts.items()))


def _cell(label: object) -> str:
    return neutral_cell(label) if isinstance(label, str) else str(label)


def _parts(labels: Any) -> Iterator[tuple[int, Array]]:
    if isinstance(labels, np.ndarray):
        yield 0, labels
        return
    start = 0
    for first in range(0, labels.numblocks[0], TOGETHER):
        part = labels.blocks[first : first + TOGETHER].compute()
        yield start, part
        start += len(part)


def _count(counts: Counter[str], part: Array) -> None:
    names, frequencies = np.unique(part, return_counts=True)
    counts.update({str(n): int(c) for n, c in zip(names.tolist(), frequencies.tolist(), strict=True)})
