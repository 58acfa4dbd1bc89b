"""Labelled rows, samples and class-wise folds, drawn by content.

In a class-wise fold whole classes are held out, as the unseen classes will be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.rows import kernels
from unseen.rows.chunks import BLOCK_ROWS, Chunks, Pass
from unseen.rows.passes import (
    blocks,
    class_totals,
    class_weights,
    constant,
    gathered,
    kept,
    mapped,
    marked,
    ranks_in_class,
    summed,
    taken,
)
from unseen.typing import UNLABELLED, Array, Codes, Mask, RowValues

FEWEST_CLASSES = 4  # below which no class can be held out

KEY_COLUMNS = 256
"""Columns of a row that its key is computed from, spread over all that it has."""

KEY_ROWS = 256  # whose keys are computed at a time: they stay in the cache


class Rows(NamedTuple):
    """Labelled rows: features, class codes and, where there are any, weights; arrays, or chunks."""

    X: Any
    codes: Any
    weights: Any = None

    def take(self, which: object) -> Rows:
        """Return these rows; a slice copies nothing."""
        weights = None if self.weights is None else taken(self.weights, which)
        return Rows(taken(self.X, which), taken(self.codes, which), weights)

    def trusted(self) -> Rows:
        """Return the rows that have a weight."""
        return self.take(marked(mapped(np.greater, self.weights, given=(0,))))

    def labelled(self) -> Rows:
        """Leave the unlabelled rows out; nothing is copied where the others stand together."""
        return self.take(marked(_has_label(self.codes)))

    def divided(self) -> Divided:
        """Divide rows by their codes; nothing is copied where the rows of a part stand together."""
        labelled = kept(_has_label(self.codes))
        unlabelled = marked(mapped(np.logical_not, labelled))
        return Divided(self.take(marked(labelled)), taken(self.X, unlabelled), labelled, unlabelled)

    def recoded(self, code_of: Array) -> Rows:
        """Return the rows with the code that a table gives in place of each."""
        return self._replace(codes=mapped(_entries, self.codes, given=(code_of,)))

    def of_classes(self, classes: Codes) -> Rows:
        """Return the rows of these classes, coded by their place among them."""
        rows = self.take(marked(mapped(np.isin, self.codes, given=(classes,))))
        return rows._replace(codes=mapped(kernels.place_among, rows.codes, given=(classes,)))

    @property
    def in_chunks(self) -> bool:
        """Whether only passes can read these rows."""
        return isinstance(self.X, Chunks)

    def summed(
        self, kernel: Pass, given: tuple[object, ...], size: int = BLOCK_ROWS
    ) -> tuple[Array, ...]:
        """Return the sums, over blocks of these rows, of the arrays that a kernel returns."""
        return summed(kernel, *self, given=given, size=size)

    def gathered(self, kernel: Pass, given: tuple[object, ...]) -> list[Any]:
        """Return the results of a kernel, one for each chunk of these rows; in memory they are one."""
        return gathered(kernel, *self, given=given)

    def totals(self, classes: int) -> tuple[Array, Array]:
        """Return the sums (p, classes) and the weights of the classes, in one pass."""
        return class_totals(self.X, self.codes, classes, self.weights)

    def shares_right(self, classes: int) -> Array:
        """Return the share of each class's rows that X marks as right; NaN for a class with no rows."""
        right = self.take(marked(self.X))
        hits, total = (class_weights(r.codes, classes, r.weights) for r in (right, self))
        return np.asarray(hits / np.where(total > 0, total, np.nan))

    def drawn(self, most: int) -> Rows:
        """Return at most ``most`` rows of each class, drawn by content; chunks stay chunks.

        Which rows are drawn depends on their values alone: not on their order, nor on class names.
        """
        X, codes, _ = self
        if isinstance(codes, Chunks):
            keys = mapped(content_keys, X).kept()
            limits = _limits(_gathered_keys(keys, codes, most), most)
            return self.take(marked(mapped(_below_limit, keys, codes, given=(limits,))))
        if len(codes) == 0 or np.bincount(codes).max() <= most:
            return self
        keys = content_keys(X)
        limits = _limits([_smallest_keys(keys, codes, most, None)], most)
        return self.take(np.flatnonzero(_below_limit(keys, codes, limits)))

    def thinned(self, most: int) -> Rows:
        """Return at most ``most`` rows of each class, drawn as by :meth:`drawn`, in memory."""
        few = self.drawn(most)
        if not few.in_chunks:
            return few
        return Rows(*(p if p is None else np.concatenate(p.gathered(np.asarray)) for p in few))

    def first(self, most: int) -> Rows:
        """Return the first rows of each class, at most ``most``.

        Of rows in the order of their content these are those that :meth:`thinned` draws. A sketch of
        rows is put into the order of the rows themselves: its own numbers depend on rounding, and so on
        the order in which all rows came; their keys would, too.
        """
        return self.take(np.flatnonzero(self.places() < most))

    def places(self) -> Codes:
        """Return the place of each row among those of its class, as they come."""
        return ranks_in_class(self.codes, np.arange(len(self.codes)))


class Divided(NamedTuple):
    """Training input in two parts: labelled rows and the pool."""

    rows: Rows
    pool: RowValues
    """The unlabelled rows, (M, p)."""
    labelled: Any
    """Marks the labelled rows of X."""
    unlabelled: Any
    """Selects the others; see :func:`unseen.rows.passes.marked`."""


def _entries(codes: Codes, table: Array) -> Array:
    return np.asarray(table[codes])


def _has_label(codes: RowValues) -> RowValues:
    marks: RowValues = mapped(np.not_equal, codes, given=(UNLABELLED,))
    return marks


def places_in_class(X: Array, codes: Codes) -> Codes:
    """Return the place of each row within its class, in an order that content decides."""
    return ranks_in_class(codes, content_keys(X))


def by_content(X: Array, seed: int = 0) -> Codes:
    """Return the order of rows that their content and the seed decide."""
    return np.argsort(content_keys(X, seed), kind="stable")


def sampled(X: RowValues, most: int) -> Array:
    """Return at most ``most`` rows of X, drawn and ordered by content, in memory."""
    few = np.asarray(Rows(X, constant(X, 0)).thinned(most).X)
    return few[by_content(few)]


def class_folds(vectors: Array, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal classes into folds of nearly equal size, by the content of their vectors.

    The folds are the same whatever the classes are called and in whatever order they come.

    >>> [len(fold) for fold in class_folds(np.eye(10), 3)]
    [4, 3, 3]
    """
    order = by_content(vectors, seed)
    return [np.sort(part) for part in np.array_split(order, folds) if len(part)]


def content_keys(X: Array, seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return a number for each row that depends on its values and on the seed alone.

    Rows in the order of these numbers are in random order, and the order in which they came does not
    matter. Only ``KEY_COLUMNS`` columns of a wide row are read.
    """
    rows, columns = X.shape
    read = np.unique(np.linspace(0, columns - 1, min(columns, KEY_COLUMNS)).astype(np.intp))
    keys = np.empty(rows, dtype=np.uint64)
    factors = np.random.default_rng(seed).integers(2**63, size=len(read), dtype=np.uint64) * 2 + 1
    values = np.empty((min(rows, KEY_ROWS), len(read)))
    gathered = np.empty(values.shape, X.dtype)
    spare = np.empty(values.shape, dtype=np.uint64)
    for part in blocks(rows, KEY_ROWS):
        block = X[part]
        if len(read) < columns:
            block = np.take(block, read, axis=1, out=gathered[: len(block)], mode="clip")
        block_values = values[: len(block)]
        np.add(block, 0.0, out=block_values)  # -0.0 becomes 0.0: both are one number
        mixed = block_values.view(np.uint64)
        mixed *= factors
        keys[part] = _scramble(mixed, spare[: len(block)]).sum(axis=1, dtype=np.uint64)
    return _scramble(keys, np.empty_like(keys))


def _scramble(values: npt.NDArray[np.uint64], spare: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Mix the bits of each number, in place, by the finaliser of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        np.right_shift(values, np.uint64(shift), out=spare)
        values ^= spare
        values *= np.uint64(factor)
    np.right_shift(values, np.uint64(31), out=spare)
    values ^= spare
    return values


def _gathered_keys(keys: Chunks, codes: Chunks, most: int) -> list[list[npt.NDArray[np.uint64]]]:
    """Return, for each chunk and class, keys among which are the ``most`` smallest of the class.

    Keys are uniformly distributed, so those below a limit that depends on the size of the class are
    enough. Where they are not, because rows repeat, each chunk returns as many as may be needed.
    """
    counts = codes.class_counts().sum(axis=0)
    enough = (most + 6 * np.sqrt(most) + 20) / np.maximum(counts, 1)
    below = (np.minimum(enough, 0.999) * 2.0**64).astype(np.uint64)
    below[enough >= 0.999] = np.iinfo(np.uint64).max
    parts: list[list[npt.NDArray[np.uint64]]]
    parts = keys.gathered(_smallest_keys, codes, given=(most, below))
    key_counts = [sum(len(part[k]) for part in parts if k < len(part)) for k in range(len(counts))]
    if (key_counts >= np.minimum(counts, most)).all():
        return parts
    return keys.gathered(_smallest_keys, codes, given=(most, None))


def _smallest_keys(
    keys: Array, codes: Codes, most: int, below: npt.NDArray[np.uint64] | None
) -> list[npt.NDArray[np.uint64]]:
    """Return the smallest ``most`` keys of each class, in order; none above a limit of the class."""
    classes = codes.max(initial=-1) + 1
    if below is not None:
        few = keys <= below[codes]
        keys, codes = keys[few], codes[few]
    return [np.sort(keys[codes == k])[:most] for k in range(classes)]


def _limits(parts: list[list[npt.NDArray[np.uint64]]], most: int) -> npt.NDArray[np.uint64]:
    """Return the largest key of each class that is among its ``most`` smallest in all chunks."""
    classes = max(len(part) for part in parts)
    limits = np.zeros(classes, dtype=np.uint64)
    for k in range(classes):
        keys = np.sort(np.concatenate([part[k] for part in parts if k < len(part)]))[:most]
        limits[k] = keys[-1] if len(keys) else 0
    return limits


def _below_limit(keys: npt.NDArray[np.uint64], codes: Codes, limits: npt.NDArray[np.uint64]) -> Mask:
    """Mark the rows whose key is at most the limit of their class."""
    return np.asarray(keys <= limits[codes])


class FoldOf(NamedTuple):
    """Where the rows of each class are held out."""

    fold: Codes
    """The fold of each class."""
    place: Codes
    """Its place among the classes of that fold."""
    parts: list[Codes]
    """The classes of each fold."""

    @classmethod
    def of(cls, parts: list[Codes], classes: int) -> FoldOf:
        """Return the table of folds that together hold every class out once."""
        fold, place = np.zeros(classes, dtype=np.intp), np.zeros(classes, dtype=np.intp)
        for number, part in enumerate(parts):
            fold[part], place[part] = number, np.arange(len(part))
        return cls(fold, place, parts)
