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

    def take(self, index: Array | slice) -> Rows:
        """Return these rows; a slice copies nothing."""
        weights = None if self.weights is None else self.weights[index]
        return Rows(self.X[index], self.codes[index], weights)

    def of_classes(self, classes: Codes) -> Rows:
        """Return the rows of these classes, coded by their place among them."""
        own = self.take(np.flatnonzero(np.isin(self.codes, classes)))
        return own._replace(codes=np.searchsorted(classes, own.codes))

    def thinned(self, most: int) -> Rows:
        """Return at most ``most`` rows of each class, evenly spread over those it has."""
        counts = np.bincount(self.codes)
        order = np.argsort(self.codes, kind="stable")
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        stride = np.maximum(counts // most, 1)[self.codes[order]]
        kept = np.sort(order[(rank % stride == 0) & (rank < most * stride)])
        return self if len(kept) == len(self.X) else self.take(kept)

    def share(self, share: float, rng: np.random.Generator) -> Rows:
        """Return this share of the rows, drawn class by class so that none is left empty."""
        chosen = []
        for k in range(int(self.codes.max()) + 1):
            own = np.flatnonzero(self.codes == k)
            chosen.append(rng.permutation(own)[: max(1, round(share * len(own)))])
        return self.take(np.sort(np.concatenate(chosen)))


def class_folds(classes: int, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal ``classes`` codes into folds of nearly equal size, at random but repeatably.

    >>> [len(fold) for fold in class_folds(10, 3)]
    [4, 3, 3]
    """
    order = np.random.default_rng(seed).permutation(classes)
    return [np.sort(part) for part in np.array_split(order, folds) if len(part)]
