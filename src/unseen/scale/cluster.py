"""Rows in a Dask array: each pass is a map over its chunks and a tree of additions.

Dask's scheduler runs it: the cluster of the current ``distributed.Client``, or else threads here. Only
sums, and samples of bounded size, reach this process. If a worker dies, Dask computes its chunks again:
everything follows from the user's array by functions, and nothing is scattered by hand.

A lazy chunk is an expression, not a Dask task. A pass turns the expression into one task, from the
user's array or from stored chunks up to the sum, so that a task never changes its meaning between
passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.array.optimization import optimize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import ensure_dict

from unseen.rows.chunks import BLOCK_ROWS, Chunks, Pass
from unseen.rows.passes import add, sum_of_blocks
from unseen.scale.local import select, spread_out
from unseen.typing import Array

SPLIT, MOST_SPLIT = 8, 64
"""How many sums one task of the tree adds: the least, for wide rows, and the most, for narrow ones."""

TOGETHER = 2**20
"""How many numbers the p × p sums of one task of the tree have at most, unless SPLIT sums have more."""

SMALL = 2**14
"""Bytes that are cheaper to send with every task than to fetch once."""


class DaskChunks(Chunks):
    """Chunks of rows that Dask computes; :meth:`of` takes a Dask array.

    Parameters
    ----------
    blocks : sequence
        For each chunk a key of Dask, or a nested task: a tuple of a function and its arguments.
    sources : mapping
        The collections whose keys they name.
    sizes, width, dtype
        Rows of each chunk, the shape of one row and the type.
    """

    def __init__(
        self,
        blocks: Sequence[object],
        sources: Mapping[str, object],
        sizes: Sequence[int],
        width: tuple[int, ...],
        dtype: npt.DTypeLike,
    ) -> None:
        self.blocks, self.sources = list(blocks), dict(sources)
        self.sizes = tuple(sizes)
        self.shape = (sum(self.sizes), *width)
        self.dtype = np.dtype(dtype)

    @classmethod
    def of(cls, array: Any) -> DaskChunks:
        """Return the chunks of a Dask array, each with all columns."""
        if array.ndim == 2 and array.numblocks[1] > 1:
            array = array.rechunk({1: -1})
        if np.isnan(array.shape[0]):
            array = array.copy()  # counting the rows must not change the user's array
            array.compute_chunk_sizes()
        columns = (0,) * (array.ndim - 1)
        keys = [(array.name, number, *columns) for number in range(array.numblocks[0])]
        sizes = [int(n) for n in array.chunks[0]]
        width = tuple(int(n) for n in array.shape[1:])
        return cls(keys, {array.name: array}, sizes, width, array.dtype)

    def like(self, values: Any) -> DaskChunks:
        """Return values, one a row, in the same chunks."""
        if isinstance(values, DaskChunks):
            return values
        if not isinstance(values, da.Array):
            values = np.asarray(values)
            aligned = len(values) == len(self)
            values = da.from_array(values, chunks={0: self.sizes if aligned else -1})
        chunks = DaskChunks.of(values)
        if len(chunks) == len(self) and chunks.sizes != self.sizes:
            chunks = DaskChunks.of(values.rechunk({0: self.sizes}))
        return chunks

    def gathered(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
    ) -> list[Any]:
        """Call the function on every chunk, on its worker, and return the answers to this process."""
        called = self._called(_apply, function, others, given, each)
        name = _name(function)
        graph = {(name, number): block for number, block in enumerate(called.blocks)}
        return list(_computed(name, graph, called.sources, list(graph)))

    def summed(
        self, function: Pass, *others: object, given: tuple[object, ...] = (), size: int = BLOCK_ROWS
    ) -> tuple[Array, ...]:
        """Sum each chunk on its worker, and add the sums in a tree."""
        called = self._called(partial(_sum, size), function, others, given)
        name = _name(function)
        graph: dict[object, object] = {
            (name, number): block for number, block in enumerate(called.blocks)
        }
        level, width = list(graph), max(self.shape[1:], default=1)
        split = min(max(TOGETHER // width**2, SPLIT), MOST_SPLIT)
        while len(level) > 1:
            groups = [level[i : i + split] for i in range(0, len(level), split)]
            level = [(name, len(graph) + i) for i in range(len(groups))]
            graph.update(zip(level, ((_added, group) for group in groups), strict=True))
        total: tuple[Array, ...] = _computed(name, graph, called.sources, level)[0]
        return total

    def mapped(
        self,
        function: Pass,
        *others: object,
        given: tuple[object, ...] = (),
        each: Sequence[object] = (),
        out: Array | None = None,
    ) -> DaskChunks:
        """Return rows that the function computes in every task that needs them."""
        out = self.example_of(function, others, given, each) if out is None else out
        called = self._called(_apply, function, others, given, each)
        return DaskChunks(called.blocks, called.sources, self.sizes, out.shape[1:], out.dtype)

    def where(self, mask: Chunks, counts: Sequence[int]) -> DaskChunks:
        """Drop the rows that are not marked, on their worker; the sizes are known."""
        assert isinstance(mask, DaskChunks)
        full = np.flatnonzero(counts).tolist()
        blocks = [(select, self.blocks[n], mask.blocks[n]) for n in full]
        sources = {**self.sources, **mask.sources}
        return DaskChunks(blocks, sources, [counts[n] for n in full], self.shape[1:], self.dtype)

    def put_back(self, mask: Chunks, counts: Sequence[int], fill: object) -> DaskChunks:
        """Put the values of each chunk in the marked rows."""
        assert isinstance(mask, DaskChunks)
        block_of = dict(zip(np.flatnonzero(counts).tolist(), self.blocks, strict=True))
        blocks = [
            (spread_out, marks, block_of.get(number), fill, self.dtype)
            for number, marks in enumerate(mask.blocks)
        ]
        return DaskChunks(blocks, {**self.sources, **mask.sources}, mask.sizes, (), self.dtype)

    def joined(self, other: Chunks) -> DaskChunks:
        """Return these chunks and then those."""
        assert isinstance(other, DaskChunks)
        sources = {**self.sources, **other.sources}
        blocks, sizes = self.blocks + other.blocks, self.sizes + other.sizes
        return DaskChunks(blocks, sources, sizes, self.shape[1:], self.dtype)

    def constant(self, value: object) -> DaskChunks:
        """Return the same value for every row."""
        blocks = [(np.full, size, value) for size in self.sizes]
        return DaskChunks(blocks, {}, self.sizes, (), np.asarray(value).dtype)

    def kept(self) -> DaskChunks:
        """Compute the rows now, and keep them in the memory of the workers."""
        return DaskChunks.of(self.result().persist())

    def result(self) -> Any:
        """Return a Dask array, to be computed."""
        name = _name("rows")
        columns = (0,) * (len(self.shape) - 1)
        graph = {(name, number, *columns): block for number, block in enumerate(self.blocks)}
        whole = HighLevelGraph.from_collections(name, graph, dependencies=list(self.sources.values()))
        chunks = (self.sizes, *((n,) for n in self.shape[1:]))
        return da.Array(whole, name, chunks, dtype=self.dtype)

    def _called(
        self,
        how: Pass,
        function: Pass,
        others: Sequence[Any],
        given: tuple[object, ...],
        each: Sequence[object] = (),
    ) -> DaskChunks:
        """Return chunks that are the results of a call on each chunk."""
        arrays = [a for a in (self, *others) if a is not None]
        sources = {name: source for a in arrays for name, source in a.sources.items()}
        job: Any = _Job(how, function, given)
        if not all(map(_is_small, given)):  # one node of the graph, which a worker fetches once
            node = dask.delayed(job, pure=False, traverse=False)
            job, sources[node.key] = node.key, node
        blocks = [
            (
                _run,
                job,
                [None if a is None else a.blocks[number] for a in (self, *others)],
                *(np.asarray(value) for value in each[number : number + 1]),
            )
            for number in range(len(self.sizes))
        ]
        return DaskChunks(blocks, sources, self.sizes, (), object)


class _Job:
    """A function to be called on the blocks of a chunk."""

    def __init__(self, how: Pass, function: Pass, given: tuple[object, ...]) -> None:
        self.how, self.function, self.given = how, function, given


def _is_small(value: object) -> bool:
    return isinstance(value, (int, float, np.dtype)) or getattr(value, "nbytes", SMALL) < SMALL


def _run(job: _Job, blocks: list[object], *each: object) -> Any:
    return job.how(job.function, blocks, job.given, each)


def _apply(
    function: Pass, blocks: list[object], given: tuple[object, ...], each: tuple[object, ...]
) -> Any:
    return function(*blocks, *given, *each)


def _sum(
    size: int, function: Pass, blocks: list[object], given: tuple[object, ...], each: tuple[object, ...]
) -> tuple[Array, ...]:
    return sum_of_blocks(function, blocks, (*given, *each), size)


def _added(parts: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    total = tuple(part.copy() for part in parts[0])
    for other in parts[1:]:
        add(total, other)
    return total


def _computed(name: str, graph: object, sources: Mapping[str, object], keys: list[object]) -> Any:
    """Compute the values of some keys with whatever scheduler is current."""
    whole = HighLevelGraph.from_collections(name, graph, dependencies=list(sources.values()))
    tasks = ensure_dict(optimize(whole, keys))
    return dask.compute(*(Delayed(key, tasks) for key in keys))


def _name(function: object) -> str:
    label = function if isinstance(function, str) else getattr(function, "__name__", "pass")
    return f"unseen-{label.strip('_<>')}-{uuid4().hex}"
