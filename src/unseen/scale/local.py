"""Rows in a file, or in any array that is sliced: one process reads one chunk at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.rows.chunks import BLOCK_ROWS, Chunks, Pass
from unseen.rows.passes import add, sum_of_blocks
from unseen.typing import Array


class LocalChunks(Chunks):
    """Chunks that a function reads by their number.

    Memory is bounded by a chunk of each array in use. Computed rows go to an unnamed scratch file.

    Parameters
    ----------
    read : callable
        The number of a chunk → its rows.
    sizes : sequence of int
        Rows of each chunk.
    width : tuple of int
        The shape of one row: (p,), or () for labels.
    dtype : dtype
    """

    def __init__(
        self,
        read: Callable[[int], Array],
        sizes: Sequence[int],
        width: tuple[int, ...],
        dtype: npt.DTypeLike,
    ) -> None:
        self.read = read
        self.sizes = tuple(sizes)
        self.shape = (sum(self.sizes), *width)
        self.dtype = np.dtype(dtype)

    @classmethod
    def of(cls, values: Any, sizes: Sequence[int]) -> LocalChunks:
        """Return chunks of whatever has a shape and a dtype and gives an array for a slice."""
        ends = np.cumsum(sizes).tolist()

        def read(number: int) -> Array:
            end = ends[number]
            return np.asarray(values[end - sizes[number] : end])

        return cls(read, sizes, tuple(values.shape[1:]), values.dtype)

    def like(self, values: object) -> LocalChunks:
        """Return values, one a row, in the same chunks."""
        if isinstance(values, LocalChunks):
            same = values.sizes == self.sizes or len(values) != len(self)
            return values if same else LocalChunks.of(_Slices(values), self.sizes)
        if not (hasattr(values, "shape") and hasattr(values, "dtype")) or hasattr(values, "iloc"):
            values = np.asarray(values)
        return LocalChunks.of(values, self.sizes)

    def gathered(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
    ) -> list[Any]:
        """Call the function on each chunk in turn."""
        arrays = (self, *others)
        return [
            function(*_read(arrays, number), *given, *each[number : number + 1])
            for number in range(len(self.sizes))
        ]

    def summed(
        self, function: Pass, *others: object, given: tuple[object, ...] = (), size: int = BLOCK_ROWS
    ) -> tuple[Array, ...]:
        """Add up chunk after chunk."""
        total: tuple[Array, ...] = ()
        for number in range(len(self.sizes)):
            parts = sum_of_blocks(function, _read((self, *others), number), given, size)
            if total:
                add(total, parts)
            else:
                total = parts
        return total

    def mapped(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
        out: Array | None = None,
    ) -> LocalChunks:
        """Return rows that are computed whenever their chunk is read."""
        arrays = (self, *others)
        out = self.example_of(function, others, given, each) if out is None else out

        def read(number: int) -> Array:
            made = function(*_read(arrays, number), *given, *each[number : number + 1])
            return np.asarray(made)

        return LocalChunks(read, self.sizes, out.shape[1:], out.dtype)

    def where(self, mask: Chunks, counts: Sequence[int]) -> LocalChunks:
        """Read a chunk, and drop the rows that are not marked."""
        assert isinstance(mask, LocalChunks)
        full = np.flatnonzero(counts).tolist()

        def read(number: int) -> Array:
            return select(self.read(full[number]), mask.read(full[number]))

        return LocalChunks(read, [counts[n] for n in full], self.shape[1:], self.dtype)

    def put_back(self, mask: Chunks, counts: Sequence[int], fill: object) -> LocalChunks:
        """Read a chunk, and put its values in the marked rows."""
        assert isinstance(mask, LocalChunks)
        number_of = {n: i for i, n in enumerate(np.flatnonzero(counts).tolist())}

        def read(number: int) -> Array:
            values = self.read(number_of[number]) if number in number_of else None
            return spread_out(mask.read(number), values, fill, self.dtype)

        return LocalChunks(read, mask.sizes, (), self.dtype)

    def joined(self, other: Chunks) -> LocalChunks:
        """Return these chunks and then those."""
        assert isinstance(other, LocalChunks)
        first = len(self.sizes)

        def read(number: int) -> Array:
            return self.read(number) if number < first else other.read(number - first)

        return LocalChunks(read, self.sizes + other.sizes, self.shape[1:], self.dtype)

    def constant(self, value: object) -> LocalChunks:
        """Return the same value for every row."""
        made = np.asarray(value)
        return LocalChunks(lambda n: np.full(self.sizes[n], made), self.sizes, (), made.dtype)

    def kept(self) -> LocalChunks:
        """Write the rows to an unnamed scratch file, which is deleted with the last reference to it."""
        if not len(self) or self.dtype.hasobject:
            return self
        with tempfile.TemporaryFile(prefix="unseen-") as file:
            values = np.memmap(file, self.dtype, "w+", shape=self.shape)
        self._write(values)
        return LocalChunks.of(values, self.sizes)

    def result(self) -> Array:
        """Return all rows in one array."""
        values = np.empty(self.shape, self.dtype)
        self._write(values)
        return values

    def _write(self, values: Array) -> None:
        end = 0
        for number, size in enumerate(self.sizes):
            values[end : end + size] = self.read(number)
            end += size


class _Slices:
    """Chunks that can be sliced; the last chunk that was read is cached for the next slice."""

    def __init__(self, chunks: LocalChunks) -> None:
        self._chunks, self._last = chunks, (-1, np.empty(0))
        self.shape, self.dtype = chunks.shape, chunks.dtype
        self._starts = np.array(chunks.starts)

    def __getitem__(self, rows: slice) -> Array:
        first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        parts, start = [], rows.start
        while start < rows.stop:
            offset = start - int(self._starts[first])
            parts.append(self._read(first)[offset : offset + rows.stop - start])
            start += len(parts[-1])
            first += 1
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _read(self, number: int) -> Array:
        if self._last[0] != number:
            self._last = number, self._chunks.read(number)
        return self._last[1]


def select(values: Array, mask: Array) -> Array:
    """Return the marked rows of a chunk, and the chunk itself where all of them are."""
    return values if mask.all() else values[mask]


def spread_out(mask: Array, values: Array | None, fill: object, dtype: npt.DTypeLike) -> Array:
    """Return the values of a chunk in the marked rows, ``fill`` in the others."""
    out = np.full(len(mask), fill, dtype=dtype)
    if values is not None:
        out[mask] = values
    return out


def _read(arrays: Sequence[Any], number: int) -> list[Array | None]:
    return [None if a is None else a.read(number) for a in arrays]
