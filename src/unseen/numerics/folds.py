"""Class-wise folds: whole classes are held out, as the unseen classes will be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.intp]


class Rows(NamedTuple):
    """Labelled rows: features, class codes and, when they have any, weights."""

    X: Array
    codes: Codes
    weights: Array | None = None

    def of_classes(self, classes: Codes) -> Rows:
        """Return the rows of these classes, coded by their place among them."""
        rows = np.flatnonzero(np.isin(self.codes, classes))
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.X[rows], np.searchsorted(classes, self.codes[rows]), weights)

    def thinned(self, most: int) -> Rows:
        """Return at most ``most`` rows of each class, evenly spread over those it has."""
        counts = np.bincount(self.codes)
        order = np.argsort(self.codes, kind="stable")
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        stride = np.maximum(counts // most, 1)[self.codes[order]]
        kept = np.sort(order[(rank % stride == 0) & (rank < most * stride)])
        weights = None if self.weights is None else self.weights[kept]
        return Rows(self.X[kept], self.codes[kept], weights)

    def share(self, share: float, rng: np.random.Generator) -> Rows:
        """Return this share of the rows, drawn class by class so that none is left empty."""
        chosen = []
        for k in range(int(self.codes.max()) + 1):
            own = np.flatnonzero(self.codes == k)
            chosen.append(rng.permutation(own)[: max(1, round(share * len(own)))])
        kept = np.sort(np.concatenate(chosen))
        weights = None if self.weights is None else self.weights[kept]
        return Rows(self.X[kept], self.codes[kept], weights)


def class_folds(classes: int, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal ``classes`` codes into folds of nearly equal size, at random but repeatably.

    >>> [len(fold) for fold in class_folds(10, 3)]
    [4, 3, 3]
    """
    order = np.random.default_rng(seed).permutation(classes)
    return [np.sort(part) for part in np.array_split(order, folds) if len(part)]
