"""One seam for rows in memory, rows in a file and rows on a cluster.

A pass over rows is a function of aligned blocks. :func:`summed` adds what it returns, :func:`mapped`
puts it one below the other. In memory both are a loop and a call; for :class:`Chunks` they run
where the rows are, one chunk at a time, and only sums reach the caller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.typing import Array

Pass = Callable[..., Any]
"""A function of aligned blocks of rows (None where an array was None) and of what was given."""

BLOCK = 4096
"""Rows that a pass works on at a time: they and their scores stay in the cache."""


class Chunks(ABC):
    """Rows that are read, or computed, one chunk at a time: an array of N × p, or N of anything.

    Attributes
    ----------
    sizes : tuple of int
        Rows of each chunk.
    shape, dtype
        As those of an array.
    """

    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each chunk."""
        return [0, *np.cumsum(self.sizes)[:-1].tolist()]

    @abstractmethod
    def like(self, values: Any) -> Self:
        """Return values, one a row, in the same chunks; in memory, in a file or on the cluster."""

    @abstractmethod
    def gathered(
        self, function: Pass, *others: Any, given: tuple[Any, ...] = (), each: Sequence[Any] = ()
    ) -> list[Any]:
        """Return what a function makes of each chunk; keep that small, it comes to the caller.

        Parameters
        ----------
        function : callable
            Takes the aligned chunks of this and of ``others``, what is ``given``, and its own entry of
            ``each``.
        others : Chunks or None
        given : tuple
            The same for all chunks.
        each : sequence, optional
            One entry a chunk.
        """

    @abstractmethod
    def summed(
        self, function: Pass, *others: Any, given: tuple[Any, ...] = (), size: int = BLOCK
    ) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that a function returns."""

    @abstractmethod
    def mapped(
        self,
        function: Pass,
        *others: Any,
        given: tuple[Any, ...] = (),
        each: Sequence[Any] = (),
        out: Array | None = None,
    ) -> Self:
        """Return the rows that a function makes of each chunk, computed when they are needed.

        ``out`` is an example of one row of them; without it the function is tried on a row of zeros.
        """

    @abstractmethod
    def where(self, mask: Self, counts: Sequence[int]) -> Self:
        """Return the marked rows, ``counts`` of each chunk; chunks without any are left out."""

    @abstractmethod
    def put_back(self, mask: Self, counts: Sequence[int], fill: Any) -> Self:
        """Undo :meth:`where`: return these values in the marked rows, ``fill`` in the others."""

    @abstractmethod
    def joined(self, other: Self) -> Self:
        """Return these rows and then those."""

    @abstractmethod
    def constant(self, value: Any) -> Self:
        """Return the same value for every row."""

    @abstractmethod
    def kept(self) -> Self:
        """Compute the rows now and keep them where they are, so that no later pass does it again."""

    @abstractmethod
    def result(self) -> Any:
        """Return what a user gets: an array where one process has the rows, else a lazy one."""

    def example(self) -> Array:
        """Return one row of zeros of this kind."""
        return np.zeros((1, *self.shape[1:]), dtype=self.dtype)


OPENERS: list[Callable[[Any], Chunks | None]] = []
"""What turns an array that is not in memory into chunks; :mod:`unseen.scale` fills the list."""


def chunked(X: Any) -> Chunks | None:
    """Return rows that are not in memory as chunks, None for any other input."""
    if isinstance(X, Chunks):
        return X
    return next((found for opener in OPENERS if (found := opener(X)) is not None), None)


def blocks(rows: int, size: int = BLOCK) -> Iterator[slice]:
    """Cut ``range(rows)`` into slices of at most ``size``."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def summed(
    function: Pass, *arrays: Any, given: tuple[Any, ...] = (), size: int = BLOCK
) -> tuple[Array, ...]:
    """Return the sums, in float64, over aligned blocks of rows of the arrays a function returns."""
    first, *others = arrays
    if isinstance(first, Chunks):
        return first.summed(function, *others, given=given, size=size)
    return sum_of_blocks(function, arrays, given, size)


def sum_of_blocks(
    function: Pass, arrays: Sequence[Any], given: tuple[Any, ...] = (), size: int = BLOCK
) -> tuple[Array, ...]:
    """Return the sums over the blocks of rows in memory."""
    total: list[Array] = []
    for rows in blocks(max(len(arrays[0]), 1), size):
        parts = function(*(None if a is None else a[rows] for a in arrays), *given)
        if total:
            add(total, parts)
        else:
            total = [np.array(part, dtype=float) for part in parts]
    return tuple(total)


def add(total: Sequence[Array], parts: Sequence[Any]) -> None:
    """Add to the first, in place."""
    for own, part in zip(total, parts, strict=True):
        own += part


def mapped(function: Pass, *arrays: Any, given: tuple[Any, ...] = ()) -> Any:
    """Return the rows that a function makes of aligned rows: of the same kind as the arrays."""
    first, *others = arrays
    if isinstance(first, Chunks):
        return first.mapped(function, *others, given=given)
    return function(*arrays, *given)


def kept(values: Any) -> Any:
    """Return rows that later passes need not compute again."""
    return values.kept() if isinstance(values, Chunks) else values


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


def argmax(scores: Any) -> Any:
    """Return the column of the largest score of each row."""
    return mapped(_argmax, scores)


def _argmax(scores: Array) -> Array:
    return np.asarray(scores.argmax(axis=1))
