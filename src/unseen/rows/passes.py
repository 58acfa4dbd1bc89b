"""Passes over rows, in memory or in chunks: nobody else asks which.

A pass applies a kernel to aligned blocks of rows. :func:`summed` adds what it returns, :func:`mapped`
puts it one below the other. In memory both are a loop and a call; for
:class:`~unseen.rows.chunks.Chunks` they run where the rows are, one chunk at a time, and only sums
reach the caller. Memory is bounded by a block and by p × p or p × K sums, which are kept in float64;
the products that make them run in the dtype of X.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from unseen.rows import kernels
from unseen.rows.chunks import BLOCK_ROWS, Chunks, Pass
from unseen.rows.top_share import best_in_chunks
from unseen.typing import Array, Codes, RowValues

V = TypeVar("V")
"""An array, or chunks."""

SCORE_BLOCK_NUMBERS = 2_000_000
"""Numbers of a block of scores."""


def in_chunks(X: object) -> TypeGuard[Chunks]:
    """Tell whether rows come in chunks, so that only passes can read them."""
    return isinstance(X, Chunks)


def blocks(rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Cut ``range(rows)`` into slices of at most ``size``."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def score_blocks(rows: int, classes: int) -> Iterator[slice]:
    """Cut ``range(rows)`` into slices whose scores over so many classes fit into the cache."""
    return blocks(rows, max(64, SCORE_BLOCK_NUMBERS // classes))


def summed(
    kernel: Pass, *arrays: object, given: tuple[object, ...] = (), size: int = BLOCK_ROWS
) -> tuple[Array, ...]:
    """Return the sums, in float64, over aligned blocks of rows of the arrays a kernel returns."""
    first, *others = arrays
    if isinstance(first, Chunks):
        return first.summed(kernel, *others, given=given, size=size)
    return sum_of_blocks(kernel, arrays, given, size)


def sum_of_blocks(
    kernel: Pass, arrays: Sequence[Any], given: tuple[Any, ...] = (), size: int = BLOCK_ROWS
) -> tuple[Array, ...]:
    """Return the sums over the blocks of rows in memory."""
    total: list[Array] = []
    for rows in blocks(max(len(arrays[0]), 1), size):
        parts = kernel(*(None if a is None else a[rows] for a in arrays), *given)
        if total:
            add(total, parts)
        else:
            total = [np.array(part, dtype=float) for part in parts]
    return tuple(total)


def add(total: Sequence[Array], parts: Sequence[object]) -> None:
    """Add the parts to the totals, in place."""
    for sums, part in zip(total, parts, strict=True):
        sums += part


def mapped(
    kernel: Pass, *arrays: object, given: tuple[object, ...] = (), out: Array | None = None
) -> Any:
    """Return the rows that a kernel computes from aligned rows, in memory or in chunks as these are.

    Of chunks, ``out`` is an example of one of these rows; without it, the kernel is tried.
    """
    first, *others = arrays
    if isinstance(first, Chunks):
        return first.mapped(kernel, *others, given=given, out=out)
    return kernel(*arrays, *given)


def gathered(kernel: Pass, *arrays: object, given: tuple[object, ...] = ()) -> list[Any]:
    """Return the results of a kernel, one for each chunk; rows in memory are one chunk."""
    first, *others = arrays
    if isinstance(first, Chunks):
        return first.gathered(kernel, *others, given=given)
    return [kernel(*arrays, *given)]


def kept(values: V) -> V:
    """Return rows that later passes need not compute again."""
    return values.kept() if isinstance(values, Chunks) else values


def result(values: RowValues) -> Any:
    """Return what a user gets: an array, or a Dask array of a Dask array."""
    return values.result() if isinstance(values, Chunks) else values


def constant(rows: RowValues, value: int) -> RowValues:
    """Return the same integer for every row."""
    if isinstance(rows, Chunks):
        return rows.constant(value)
    return np.full(len(rows), value, dtype=np.intp)


def largest(values: RowValues) -> float:
    """Return the largest of the values, one a row."""
    return float(max(gathered(np.max, values)))


def joined(values: Any, more: Any) -> Any:
    """Return the rows of both, one after the other."""
    return values.joined(more) if isinstance(values, Chunks) else np.concatenate([values, more])


def like(rows: RowValues, values: RowValues) -> Chunks | Array:
    """Return values, one a row, of the same kind as the rows."""
    return rows.like(values) if isinstance(rows, Chunks) else np.asarray(values)


class Marked(NamedTuple):
    """Which rows of chunks are meant."""

    mask: Chunks
    counts: tuple[int, ...]
    """How many each chunk has."""


def marked(mask: Any) -> Any:
    """Return what selects the marked rows: a slice where they stand together, or their places.

    Of chunks it is :class:`Marked`.
    """
    if isinstance(mask, Chunks):
        mask = mask.kept()
        return Marked(mask, tuple(int(n) for n in mask.gathered(np.count_nonzero)))
    places = np.flatnonzero(mask)
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def taken(values: Any, which: Any) -> Any:
    """Return the rows that :func:`marked` selected; a slice copies nothing."""
    if not isinstance(values, Chunks):
        return values[which]
    if not sum(which.counts):
        return values.example()[:0]
    return values if which.counts == values.sizes else values.where(*which)


# Labelled rows.


def class_sums(X: object, codes: object, classes: int, weights: object = None) -> Array:
    """Return the sum of the rows of each class, XᵀY: an array of shape (p, classes)."""
    (total,) = summed(kernels.class_sums, X, codes, weights, given=(classes,))
    return total.T


def class_weights(codes: Any, classes: int, weights: Any = None) -> Array:
    """Return how many rows, or how much weight, each class has."""
    if isinstance(codes, Chunks):
        return summed(kernels.class_weights, codes, weights, given=(classes,))[0]
    return np.bincount(codes, weights=weights, minlength=classes).astype(float)


def class_totals(X: object, codes: object, classes: int, weights: object = None) -> tuple[Array, Array]:
    """Return the class sums and the class weights; of chunks, in one pass."""
    if isinstance(X, Chunks):
        sums, counts = summed(kernels.class_totals, X, codes, weights, given=(classes,))
        return sums.T, counts
    return class_sums(X, codes, classes, weights), class_weights(codes, classes, weights)


def gram(X: Any, weights: Any = None, dtype: npt.DTypeLike = np.float64) -> Array:
    """Return XᵀX, or Xᵀdiag(weights)X: an array of shape (p, p), summed in ``dtype``.

    Of chunks it is summed in float64.
    """
    if isinstance(X, Chunks):
        return summed(kernels.gram, X, weights, size=4 * BLOCK_ROWS)[0]
    if weights is None and X.flags.c_contiguous and X.dtype == dtype:
        return np.asarray(X.T @ X)
    total = np.zeros((X.shape[1], X.shape[1]), dtype)
    for rows in blocks(len(X), 4 * BLOCK_ROWS):
        total += kernels.gram(X[rows], None if weights is None else weights[rows])[0]
    return total


def labelled_sums(
    X: object, codes: object, classes: int, weights: object = None
) -> tuple[Array, Array, Array]:
    """Return XᵀX, the class sums and the class weights of chunks, in one pass."""
    moments, sums, counts = summed(
        kernels.labelled_sums, X, codes, weights, given=(classes,), size=4 * BLOCK_ROWS
    )
    return moments, sums.T, counts


def error_sums(X: Any, codes: Any, W: Array, weights: Any = None) -> Array:
    """Sum the rows that are classified wrongly: added to the predicted class, taken from the true one.

    Parameters
    ----------
    X : array or chunks of shape (N, p)
    codes : array or chunks of shape (N,)
        The class y of every row.
    W : array of shape (p, K)
        One column of weights a class.
    weights : array or chunks of shape (N,), optional

    Returns
    -------
    array of shape (p, K)
        Σₙ wₙ xₙ (f(xₙ) − yₙ)ᵀ, with f(xₙ) the one-hot prediction: rows that are right cost nothing.
    """
    (sums,) = summed(kernels.error_sums, X, codes, weights, given=(W.astype(X.dtype, copy=False),))
    return sums.T


def class_patterns(sums: Array, counts: Array, dtype: npt.DTypeLike) -> tuple[Array, Codes]:
    """Return the visual pattern (mean row) of every class that has rows, and those classes."""
    present = np.flatnonzero(counts > 0)
    means = sums[:, present] / counts[present]
    patterns: Array = np.ascontiguousarray(means.T, dtype=dtype)
    return patterns, present


def between_factor(sums: Array, counts: Array) -> Array:
    """Return F with FFᵀ = Σₖ nₖ mₖmₖᵀ, the part between class means: (p, K), classes with rows only."""
    present = counts > 0
    factor: Array = sums[:, present] / np.sqrt(counts[present])
    return factor


# The order of rows within their class.


def best_of_each_class(codes: Any, confidence: Any, share: float) -> Any:
    """Mark the most confident ``share`` of the rows of each class; ties go to the first."""
    if isinstance(codes, Chunks):
        return best_in_chunks(codes, confidence, share)
    return ranks_in_class(codes, -confidence) < np.ceil(share * np.bincount(codes))[codes]


def ranks_in_class(codes: Codes, keys: Array) -> Codes:
    """Return the place of each row among those of its class, the least key first; rows in memory."""
    order = np.lexsort((keys, codes))
    counts = np.bincount(codes)
    ranks = np.empty(len(codes), dtype=np.intp)
    ranks[order] = np.arange(len(codes)) - (np.cumsum(counts) - counts)[codes[order]]
    return ranks


# Scores.


def argmax(scores: RowValues) -> Any:
    """Return the column of the largest score of each row."""
    return mapped(np.argmax, scores, given=(1,))


def log_probabilities(scores: RowValues, temperature: float) -> Any:
    """Return the logarithm of softmax(scores / temperature)."""
    return mapped(kernels.log_softmax, scores, given=(temperature,))


def spread(scores: RowValues) -> float:
    """Return the mean standard deviation of a row's scores."""
    (total,) = summed(kernels.deviations, scores)
    return max(float(total) / max(len(scores), 1), float(np.finfo(np.float32).tiny))
