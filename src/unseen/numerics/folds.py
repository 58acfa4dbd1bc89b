"""Class-wise folds: whole classes are held out, as the unseen classes will be."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.numerics.chunks import Chunks, Pass, mapped, marked, taken
from unseen.numerics.rows import class_totals

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.intp]

SHUFFLED = 10_000_000
"""Rows up to which a sample is drawn by shuffling all of them."""


class Rows(NamedTuple):
    """Labelled rows: features, class codes and, when they have any, weights.

    All are arrays, or all are chunks.
    """

    X: Any
    codes: Any
    weights: Any = None

    def take(self, which: Any) -> Rows:
        """Return these rows; a slice copies nothing."""
        weights = None if self.weights is None else taken(self.weights, which)
        return Rows(taken(self.X, which), taken(self.codes, which), weights)

    def trusted(self) -> Rows:
        """Return the rows that have a weight."""
        return self.take(marked(mapped(np.greater, self.weights, given=(0,))))

    def of_classes(self, classes: Codes) -> Rows:
        """Return the rows of these classes, coded by their place among them."""
        own = self.take(marked(mapped(np.isin, self.codes, given=(classes,))))
        return own._replace(codes=mapped(_place, own.codes, given=(classes,)))

    def totals(self, classes: int) -> tuple[Array, Array]:
        """Return the sums (p, classes) and the weights of the classes, in one pass."""
        return class_totals(self.X, self.codes, classes, self.weights)

    def thinned(self, most: int, then: Pass | None = None, given: tuple[Any, ...] = ()) -> Any:
        """Return at most ``most`` rows of each class, evenly spread over those it has, in memory.

        With ``then``, what it makes of their X, codes and weights, as a list: one entry a chunk.
        """
        if isinstance(self.codes, Chunks):
            table = counts_by_chunk(self.codes)
            places = [np.arange(0, n, max(n // most, 1))[:most] for n in table.sum(axis=0).tolist()]
            return self._picked(places, table, then, given)
        counts = np.bincount(self.codes)
        rank = _ranks(self.codes)
        stride = np.maximum(counts // most, 1)[self.codes]
        kept = np.flatnonzero((rank % stride == 0) & (rank < most * stride))
        thin = self if len(kept) == len(self.X) else self.take(kept)
        return thin if then is None else [then(*thin, *given)]

    def share(self, share: float, rng: np.random.Generator) -> Rows:
        """Return this share of the rows, drawn class by class so that none is left empty."""
        table = counts_by_chunk(self.codes)
        places = [drawn(n, max(1, round(share * n)), rng) for n in table.sum(axis=0).tolist()]
        found: Rows = self._picked(places, table)
        return found

    def _picked(
        self,
        places: list[Array],
        table: npt.NDArray[np.intp],
        then: Pass | None = None,
        given: tuple[Any, ...] = (),
    ) -> Any:
        """Bring rows to the caller, by their place among the rows of their class."""
        starts = np.cumsum(table, axis=0) - table
        X, codes, weights = self
        if not isinstance(codes, Chunks):
            return Rows(*_pick(codes, X, weights, places, None, (), starts[0]))
        parts = codes.gathered(_pick, X, weights, given=(places, then, given), each=list(starts))
        if then is not None:
            return parts
        return Rows(*(None if p[0] is None else np.concatenate(p) for p in zip(*parts, strict=True)))


def counts_by_chunk(codes: Any) -> npt.NDArray[np.intp]:
    """Return how many rows each chunk has of each class; rows in memory are one chunk."""
    parts = codes.gathered(np.bincount) if isinstance(codes, Chunks) else [np.bincount(codes)]
    classes = max(len(part) for part in parts)
    return np.stack([np.pad(part, (0, classes - len(part))) for part in parts])


def at_places(X: Chunks, places: Array) -> Array:
    """Bring the rows at these places, which ascend, to the caller."""
    cuts = np.searchsorted(places, X.starts)[1:]
    each = [own - start for own, start in zip(np.split(places, cuts), X.starts, strict=True)]
    return np.concatenate(X.gathered(_at, each=each))


def class_folds(classes: int, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal ``classes`` codes into folds of nearly equal size, at random but repeatably.

    >>> [len(fold) for fold in class_folds(10, 3)]
    [4, 3, 3]
    """
    order = np.random.default_rng(seed).permutation(classes)
    return [np.sort(part) for part in np.array_split(order, folds) if len(part)]


def drawn(rows: int, most: int, rng: np.random.Generator) -> Array:
    """Draw without repetition; a huge number of rows is never listed."""
    if rows <= SHUFFLED:
        return rng.permutation(rows)[:most]
    return rng.choice(rows, most, replace=False, shuffle=False)


def _at(X: Array, places: Array) -> Array:
    return np.asarray(X[places])


def _place(codes: Codes, classes: Codes) -> Array:
    return np.asarray(np.searchsorted(classes, codes))


def _ranks(codes: Codes) -> Array:
    """Return how many rows of the same class come before each row."""
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    ranks = np.empty(len(codes), dtype=np.intp)
    ranks[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks


def _pick(
    codes: Codes,
    X: Array,
    weights: Array | None,
    places: list[Array],
    then: Pass | None,
    given: tuple[Any, ...],
    starts: Array,
) -> Any:
    """Return the rows of a chunk whose rank among the rows of their class is in ``places``."""
    ranks = starts[codes] + _ranks(codes)
    keep = np.zeros(len(codes), dtype=bool)
    for k in np.unique(codes):
        own = np.flatnonzero(codes == k)
        keep[own] = np.isin(ranks[own], places[k])
    found = X[keep], codes[keep], None if weights is None else weights[keep]
    return found if then is None else then(*found, *given)
