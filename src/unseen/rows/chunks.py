"""Rows that are not in memory: in a file, or on a cluster, one chunk at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from unseen.typing import Array, Codes, DType, RowValues

Pass = Callable[..., Any]
"""A function of aligned blocks of rows (None where an array was None) and of what was given."""

BLOCK_ROWS = 4096
"""Rows that a pass works on at a time: they and their scores stay in the cache."""


class Chunks(ABC):
    """Rows that are read, or computed, one chunk at a time: an array of shape (N, p), or N values.

    Attributes
    ----------
    sizes : tuple of int
        Rows of each chunk.
    shape, dtype
        As those of an array.
    """

    sizes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: DType

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def starts(self) -> list[int]:
        """The number of the first row of each chunk."""
        return [0, *np.cumsum(self.sizes)[:-1].tolist()]

    @abstractmethod
    def like(self, values: RowValues) -> Self:
        """Return values, one a row, in the same chunks; in memory, in a file or on the cluster."""

    @abstractmethod
    def gathered(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
    ) -> list[Any]:
        """Apply a function to each chunk; the results travel to the caller, so they should be small.

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
        self, function: Pass, *others: object, given: tuple[object, ...] = (), size: int = BLOCK_ROWS
    ) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that a function returns."""

    @abstractmethod
    def mapped(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
        out: Array | None = None,
    ) -> Self:
        """Return the rows that a function computes from each chunk, when they are needed.

        ``out`` is an example of one row of them; without it the function is tried on a row of zeros.
        """

    @abstractmethod
    def where(self, mask: Self, counts: Sequence[int]) -> Self:
        """Return the marked rows, ``counts`` of each chunk; chunks without any are left out."""

    @abstractmethod
    def put_back(self, mask: Self, counts: Sequence[int], fill: object) -> Self:
        """Undo :meth:`where`: return these values in the marked rows, ``fill`` in the others."""

    @abstractmethod
    def joined(self, other: Self) -> Self:
        """Return the rows of both, one after the other."""

    @abstractmethod
    def constant(self, value: Any) -> Self:
        """Return the same value for every row."""

    @abstractmethod
    def kept(self) -> Self:
        """Compute the rows now and keep them where they are, so that no later pass does it again."""

    @abstractmethod
    def result(self) -> Any:
        """Return what a user gets: an array where one process has the rows, else a lazy one."""

    def class_counts(self) -> Codes:
        """Return how many rows of each class every chunk of these codes has, (chunks, classes)."""
        parts = self.gathered(np.bincount)
        classes = max(len(part) for part in parts)
        return np.stack([np.pad(part, (0, classes - len(part))) for part in parts])

    def example(self) -> Array:
        """Return one row of zeros of this kind."""
        return np.zeros((1, *self.shape[1:]), dtype=self.dtype)

    def example_of(
        self, function: Pass, others: Sequence[Any], given: tuple[object, ...], each: Sequence[object]
    ) -> Array:
        """Return the result of a function for one row of zeros."""
        rows = [None if array is None else array.example() for array in (self, *others)]
        return np.asarray(function(*rows, *given, *each[:1]))
