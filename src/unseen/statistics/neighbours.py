"""Nearest neighbours by cosine, among rows that a first answer puts near each other."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from unseen.rows.kernels import scaled
from unseen.rows.passes import blocks
from unseen.typing import Array, Codes

EXACT_ROWS = 6000
"""Rows up to which every pair is compared."""

BLOCK_NUMBERS = 4_000_000
"""Cosines that are in memory at a time."""


def nearest(X: Array, neighbours: int, groups: Codes) -> sparse.csr_matrix:
    """Return the cosines of each row with its nearest neighbours, (N, N), negative ones left out.

    Parameters
    ----------
    X : array of shape (N, p)
    neighbours : int
    groups : array of shape (N, g)
        Groups of each row, the best first. Of many rows, one is compared with those only whose best
        group is among its own groups.
    """
    N = len(X)
    if neighbours < 1 or N < 2:
        return sparse.csr_matrix((N, N), dtype=X.dtype)
    neighbours = min(neighbours, N - 1)
    places = np.zeros((N, neighbours), dtype=np.intp)
    values = np.zeros((N, neighbours), dtype=X.dtype)
    if N <= EXACT_ROWS:
        everything = np.arange(N)
        _compare(X, everything, everything, places, values)
    else:
        order = np.argsort(groups[:, 0], kind="stable")
        bounds = np.searchsorted(groups[order, 0], np.arange(int(groups.max()) + 2))
        for group in range(int(groups.max()) + 1):
            members = order[bounds[group] : bounds[group + 1]]
            if len(members):
                _compare(X, np.flatnonzero((groups == group).any(axis=1)), members, places, values)
    starts = np.arange(0, N * neighbours + 1, neighbours)
    return sparse.csr_matrix((values.ravel(), places.ravel(), starts), shape=(N, N))


def _compare(X: Array, rows: Codes, others: Codes, places: Codes, values: Array) -> None:
    """Keep the largest cosines of rows with others, beside those that were found before."""
    most, count = values.shape[1], min(values.shape[1], len(others))
    B = scaled(X[others], "unit").T
    for part in blocks(len(rows), max(1, BLOCK_NUMBERS // len(others))):
        block_rows = rows[part]
        C = scaled(X[block_rows], "unit") @ B
        C[block_rows[:, None] == others] = 0
        top = np.argpartition(C, -count, axis=1)[:, -count:]
        cosines = np.maximum(np.take_along_axis(C, top, axis=1), 0)
        joined = np.concatenate([values[block_rows], cosines], axis=1)
        names = np.concatenate([places[block_rows], others[top]], axis=1)
        best = np.argpartition(joined, -most, axis=1)[:, -most:]
        values[block_rows] = np.take_along_axis(joined, best, axis=1)
        places[block_rows] = np.take_along_axis(names, best, axis=1)
