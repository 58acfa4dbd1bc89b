"""Labelled rows, the best of them, samples and class-wise folds, drawn by content.

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
    constant,
    counts_by_chunk,
    mapped,
    marked,
    summed,
    taken,
)
from unseen.rows.top_share import best_in_chunks
from unseen.typing import Array, Codes, RowValues

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

    def of_classes(self, classes: Codes) -> Rows:
        """Return the rows of these classes, coded by their place among them."""
        own = self.take(marked(mapped(np.isin, self.codes, given=(classes,))))
        return own._replace(codes=mapped(kernels.place_among, own.codes, given=(classes,)))

    @property
    def in_chunks(self) -> bool:
        """Whether only passes can read these rows."""
        return isinstance(self.X, Chunks)

    def summed(
        self, kernel: Pass, given: tuple[object, ...], size: int = BLOCK_ROWS
    ) -> tuple[Array, ...]:
        """Return the sums, over blocks of these rows, of the arrays that a kernel returns."""
        return summed(kernel, *self, given=given, size=size)

    def totals(self, classes: int) -> tuple[Array, Array]:
        """Return the sums (p, classes) and the weights of the classes, in one pass."""
        return class_totals(self.X, self.codes, classes, self.weights)

    def thinned(self, most: int, then: Pass | None = None, given: tuple[Any, ...] = ()) -> Any:
        """Return at most ``most`` rows of each class, drawn by content, in memory.

        Which rows are drawn depends on their values alone: not on their order, nor on class names.
        With ``then``, what it makes of their X, codes and weights, as a list: one entry a chunk.
        """
        X, codes, weights = self
        if not isinstance(codes, Chunks):
            if len(codes) == 0 or np.bincount(codes).max() <= most:
                return self if then is None else [then(*self, *given)]
            keys = content_keys(X)
            limits = _limits([_smallest_keys(keys, codes, most, None)], most)
            thin = Rows(*_below_limits(X, codes, weights, keys, limits, None, ()))
            return thin if then is None else [then(*thin, *given)]
        keys = mapped(content_keys, X).kept()
        limits = _limits(_gathered_keys(keys, codes, most), most)
        parts = X.gathered(_below_limits, codes, weights, keys, given=(limits, then, given))
        if then is not None:
            return parts
        return Rows(*(None if p[0] is None else np.concatenate(p) for p in zip(*parts, strict=True)))


def best_of_each_class(codes: Any, confidence: Any, share: float) -> Any:
    """Mark the most confident ``share`` of the rows of each class; ties go to the first."""
    if isinstance(codes, Chunks):
        return best_in_chunks(codes, confidence, share)
    return _ranks_in_class(codes, -confidence) < np.ceil(share * np.bincount(codes))[codes]


def places_in_class(X: Array, codes: Codes) -> Codes:
    """Return the place of each row within its class, in an order that content decides."""
    return _ranks_in_class(codes, content_keys(X))


def _ranks_in_class(codes: Codes, keys: Array) -> Codes:
    """Return the place of each row among those of its class, the least key first."""
    order = np.lexsort((keys, codes))
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), dtype=np.intp)
    ranks[order] = np.arange(len(codes)) - (np.cumsum(counts) - counts)[codes[order]]
    return ranks


def sampled(X: RowValues, most: int) -> Array:
    """Return at most ``most`` rows of X, drawn by content, in memory."""
    return np.asarray(Rows(X, constant(X, 0)).thinned(most).X)


def class_folds(vectors: Array, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal classes into folds of nearly equal size, by the content of their vectors.

    The folds are the same whatever the classes are called and in whatever order they come.

    >>> [len(fold) for fold in class_folds(np.eye(10), 3)]
    [4, 3, 3]
    """
    order = np.argsort(content_keys(vectors, seed), kind="stable")
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
        own = values[: len(block)]
        np.add(block, 0.0, out=own)  # -0.0 becomes 0.0: both are one number
        mixed = own.view(np.uint64)
        mixed *= factors
        keys[part] = _scramble(mixed, spare[: len(block)]).sum(axis=1, dtype=np.uint64)
    return _scramble(keys, np.empty_like(keys))


def _scramble(values: npt.NDArray[np.uint64], spare: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Let every bit move half of the others, in place (the finaliser of SplitMix64)."""
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
    counts = counts_by_chunk(codes).sum(axis=0)
    enough = (most + 6 * np.sqrt(most) + 20) / np.maximum(counts, 1)
    below = (np.minimum(enough, 0.999) * 2.0**64).astype(np.uint64)
    below[enough >= 0.999] = np.iinfo(np.uint64).max
    parts: list[list[npt.NDArray[np.uint64]]]
    parts = keys.gathered(_smallest_keys, codes, given=(most, below))
    found = [sum(len(part[k]) for part in parts if k < len(part)) for k in range(len(counts))]
    if (found >= np.minimum(counts, most)).all():
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


def _below_limits(
    X: Array,
    codes: Codes,
    weights: Array | None,
    keys: npt.NDArray[np.uint64],
    limits: npt.NDArray[np.uint64],
    then: Pass | None,
    given: tuple[object, ...],
) -> Any:
    """Return the rows whose key is at most the limit of their class."""
    keep = np.flatnonzero(keys <= limits[codes])
    found = X[keep], codes[keep], None if weights is None else weights[keep]
    return found if then is None else then(*found, *given)


# Class-wise folds. A row belongs to the fold that holds its class out; the functions below are kernels.


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


def fold_sums(X: Array, codes: Codes, weights: Array | None, table: FoldOf) -> tuple[Array, ...]:
    """Return XᵀX of the rows of each fold, then the class sums and the class weights of all."""
    folds, classes = table.fold[codes], len(table.fold)
    parts = (_rows_of_fold(folds, f, X, weights) for f in range(len(table.parts)))
    moments = [kernels.gram(*part)[0] for part in parts]
    labels = kernels.class_sums(X, codes, weights, classes)
    return (*moments, *labels, *kernels.class_weights(codes, weights, classes))


def fold_hits(
    X: Array, codes: Codes, weights: Array | None, table: FoldOf, left: list[Array], right: list[Array]
) -> list[Array]:
    """Return, for each fold, the weight of the rows of each class that models get right, (L, I, J).

    ``left[f]`` (p, I, K′) maps a row in I ways, ``right[f]`` (J, K′, L) from there, in J ways, to the
    scores of the L classes that fold f holds out.
    """
    folds, places, answers = table.fold[codes], table.place[codes], []
    for f, (halves, others) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _rows_of_fold(folds, f, X, places, weights)
        count, inner, classes = others.shape
        hits = np.zeros((classes, halves.shape[1], count))
        if len(block):
            sums = kernels.indicator(true, classes, weight, np.dtype(float))
            wide = others.transpose(1, 0, 2).reshape(inner, -1)
            embedded = block @ halves.reshape(len(halves), -1)
            for i in range(halves.shape[1]):
                scores = embedded[:, i * inner : (i + 1) * inner] @ wide
                best = scores.reshape(len(block), count, classes).argmax(axis=2)
                hits[:, i] = sums @ (best == true[:, None])
        answers.append(hits)
    return answers


def fold_scores(
    X: Array, codes: Codes, weights: Array | None, table: FoldOf, left: list[Array], right: list[Array]
) -> list[tuple[Array, Array, Array | None]]:
    """Return, for each fold, the scores X·left·right of its rows, their classes and their weights."""
    folds, places, answers = table.fold[codes], table.place[codes], []
    for f, (half, other) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _rows_of_fold(folds, f, X, places, weights)
        answers.append(((block @ half) @ other, true, weight))
    return answers


def _rows_of_fold(fold_of_row: Codes, fold: int, *arrays: Any) -> list[Any]:
    """Return the rows of one fold; nothing is copied where all or none are."""
    here = fold_of_row == fold
    if here.all():
        return list(arrays)
    return [None if a is None else a[here] for a in arrays]
