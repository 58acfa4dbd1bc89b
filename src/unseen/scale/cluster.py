"""Rows in a Dask array: each pass is a map over its chunks and a tree of additions.

Dask's own scheduler runs it: the cluster of the current ``distributed.Client``, or else threads here.
Only sums, and samples of bounded size, reach this process. What a worker that died had kept is computed
again by Dask: everything is made from the user's array by functions, and nothing is scattered by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from unseen.numerics.chunks import BLOCK, Chunks, Pass, add, sum_of_blocks
from unseen.scale.local import select, spread_out

Array = npt.NDArray[Any]

SPLIT = 8
"""Sums that one task of the tree adds."""


class DaskChunks(Chunks):
    """The chunks of a Dask array, each with all columns.

    Parameters
    ----------
    array : dask.array.Array of shape (N, p) or (N,)
    """

    def __init__(self, array: Any) -> None:
        if array.ndim == 2 and array.numblocks[1] > 1:
            array = array.rechunk({1: -1})
        if np.isnan(array.shape[0]):
            array = array.copy()  # counting the rows must not change the user's array
            array.compute_chunk_sizes()
        self.array = array
        self.sizes = tuple(int(n) for n in array.chunks[0])
        self.shape = tuple(int(n) for n in array.shape)
        self.dtype = array.dtype

    def like(self, values: Any) -> DaskChunks:
        """Return values, one a row, in the same chunks."""
        if isinstance(values, DaskChunks):
            values = values.array
        if not isinstance(values, da.Array):
            values = np.asarray(values)
            aligned = len(values) == len(self)
            values = da.from_array(values, chunks={0: self.sizes if aligned else -1})
        own = DaskChunks(values)
        if len(own) == len(self) and own.sizes != self.sizes:
            own = DaskChunks(own.array.rechunk({0: self.sizes}))
        return own

    def gathered(
        self, function: Pass, *others: Any, given: tuple[Any, ...] = (), each: Sequence[Any] = ()
    ) -> list[Any]:
        """Call the function on every chunk, where it is, and bring the answers here."""
        parts = self._parts(_apply, function, others, given, each)
        return list(dask.compute(*parts.to_delayed()))

    def summed(
        self, function: Pass, *others: Any, given: tuple[Any, ...] = (), size: int = BLOCK
    ) -> tuple[Array, ...]:
        """Sum each chunk where it is, and add the sums in a tree."""
        parts = self._parts(partial(_chunk_sum, size), function, others, given)
        name = _name("tree")
        level = parts.__dask_keys__()
        graph: dict[Any, Any] = {}
        while len(level) > 1:
            groups = [level[i : i + SPLIT] for i in range(0, len(level), SPLIT)]
            level = [(name, len(graph) + i) for i in range(len(groups))]
            graph.update(
                (key, (_sum_of_parts, group)) for key, group in zip(level, groups, strict=True)
            )
        tree = HighLevelGraph.from_collections(name, graph, dependencies=[parts])
        optimised = parts.__dask_optimize__(tree, level)
        total: tuple[Array, ...] = dask.compute(Delayed(level[0], optimised))[0]
        return total

    def mapped(
        self,
        function: Pass,
        *others: Any,
        given: tuple[Any, ...] = (),
        each: Sequence[Any] = (),
        out: Array | None = None,
    ) -> DaskChunks:
        """Return a lazy array of the rows that the function makes."""
        if out is None:
            tried = [None if a is None else a.example() for a in (self, *others)]
            out = np.asarray(function(*tried, *given, *each[:1]))
        wide = out.ndim == 2
        return DaskChunks(
            da.blockwise(
                _run,
                "ik" if wide else "i",
                *self._arguments(_apply, function, others, given, each),
                name=_name(function),
                new_axes={"k": out.shape[1]} if wide else None,
                align_arrays=False,
                dtype=out.dtype,
                meta=out[:0],
            )
        )

    def where(self, mask: Chunks, counts: Sequence[int]) -> DaskChunks:
        """Drop the rows that are not marked, where they are; the sizes are known."""
        assert isinstance(mask, DaskChunks)
        full = np.flatnonzero(counts).tolist()
        array, marks = self.array, mask.array
        if len(full) < len(counts):
            array, marks = array.blocks[full], marks.blocks[full]
        index = "ij"[: array.ndim]
        return DaskChunks(
            da.blockwise(
                select,
                index,
                array,
                index,
                marks,
                "i",
                name=_name(select),
                adjust_chunks={"i": tuple(counts[n] for n in full)},
                align_arrays=False,
                dtype=array.dtype,
                meta=array._meta,
            )
        )

    def put_back(self, mask: Chunks, counts: Sequence[int], fill: Any) -> DaskChunks:
        """Put the values of each chunk in the marked rows."""
        assert isinstance(mask, DaskChunks)
        own = dict(zip(np.flatnonzero(counts).tolist(), self.array.to_delayed(), strict=True))
        spread = dask.delayed(spread_out, pure=False)
        parts = [
            da.from_delayed(spread(marks, own.get(n), fill, self.dtype), (size,), self.dtype)
            for n, (marks, size) in enumerate(zip(mask.array.to_delayed(), mask.sizes, strict=True))
        ]
        return DaskChunks(da.concatenate(parts))

    def joined(self, other: Chunks) -> DaskChunks:
        """Return these chunks and then those."""
        assert isinstance(other, DaskChunks)
        return DaskChunks(da.concatenate([self.array, other.array]))

    def constant(self, value: Any) -> DaskChunks:
        """Return the same value for every row."""
        return DaskChunks(da.full((len(self),), value, chunks=(self.sizes,)))

    def kept(self) -> DaskChunks:
        """Compute the rows now, and keep them in the memory of the workers."""
        return DaskChunks(self.array.persist())

    def result(self) -> Any:
        """Return the Dask array."""
        return self.array

    def _parts(
        self,
        how: Pass,
        function: Pass,
        others: Sequence[Any],
        given: tuple[Any, ...],
        each: Sequence[Any] = (),
    ) -> Any:
        """Return what the function makes of each chunk, to be computed; reading is part of the task."""
        return da.blockwise(
            _run,
            "i",
            *self._arguments(how, function, others, given, each),
            name=_name(function),
            align_arrays=False,
            dtype=object,
            meta=np.empty(0, dtype=object),
        )

    def _arguments(
        self,
        how: Pass,
        function: Pass,
        others: Sequence[Any],
        given: tuple[Any, ...],
        each: Sequence[Any],
    ) -> list[Any]:
        """Return the arguments of ``_run`` with their indices, as blockwise takes them."""
        # One node of the graph, which a worker fetches once.
        job = dask.delayed(_Job(how, function, given, 1 + len(others)), pure=False, traverse=False)
        arguments: list[Any] = [job, None]
        for chunks in (self, *others):
            arguments += [None, None] if chunks is None else [chunks.array, "ij"[: chunks.array.ndim]]
        if len(each):
            name = _name("each")
            graph = {(name, number): value for number, value in enumerate(each)}
            arguments += [da.Array(graph, name, (self.sizes,), dtype=object), "i"]
        return arguments


class _Job:
    """What to do with the blocks of a chunk."""

    def __init__(self, how: Pass, function: Pass, given: tuple[Any, ...], arrays: int) -> None:
        self.how, self.function, self.given, self.arrays = how, function, given, arrays


def _run(job: _Job, *blocks: Any) -> Any:
    """Do a job; the block of an array whose columns are not in the answer comes in a list of one."""
    arrays = [b[0] if isinstance(b, list) else b for b in blocks[: job.arrays]]
    return job.how(job.function, arrays, job.given, blocks[job.arrays :])


def _apply(function: Pass, arrays: list[Any], given: tuple[Any, ...], each: tuple[Any, ...]) -> Any:
    return function(*arrays, *given, *each)


def _chunk_sum(
    size: int, function: Pass, arrays: list[Any], given: tuple[Any, ...], _: Any
) -> tuple[Array, ...]:
    return sum_of_blocks(function, arrays, given, size)


def _sum_of_parts(parts: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    total = tuple(part.copy() for part in parts[0])
    for other in parts[1:]:
        add(total, other)
    return total


def _name(function: Any) -> str:
    own = function if isinstance(function, str) else getattr(function, "__name__", "pass")
    return f"unseen-{own.strip('_<>')}-{uuid4().hex}"
