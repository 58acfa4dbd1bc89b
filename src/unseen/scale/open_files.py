"""Open rows that are larger than memory: .npy, Zarr and Parquet, here or for a Dask cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.exceptions import DataError
from unseen.files import need
from unseen.inputs import OPENERS
from unseen.rows.chunks import Chunks
from unseen.scale.local import LocalChunks
from unseen.scale.sources import Source, chunk_sizes, npy_source, parquet_source, zarr_source
from unseen.typing import Array

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from distributed import Client

PathLike = str | os.PathLike[str]

ANSWER = "5s"
"""How long a Dask scheduler has to answer."""
CHUNK_BYTES = 64 * 2**20
"""Bytes that are read at a time, where the file does not say; smaller memory maps are read at once."""


def open_rows(
    path: PathLike,
    column: str | None = None,
    *,
    without: Collection[str] = (),
    cluster: bool | None = None,
) -> Any:
    """Open rows, or labels, that need not fit in memory; nothing but their shape is read now.

    Parameters
    ----------
    path : path
        A ``.npy`` file, a Zarr array (a folder), a Parquet file, or a folder of Parquet files, whose
        rows follow each other in the order of the file names.
    column : str, optional
        A column of a Parquet file, by itself: the labels. By default all columns of numbers, or the
        one column of lists.
    without : collection of str
        Columns of a Parquet file that are no features.
    cluster : bool, optional
        True gives a Dask array, whose chunks are read by the workers: they must see the same path.
        False gives chunks that this process reads one at a time. By default, a Dask array if a
        ``distributed.Client`` is open.

    Returns
    -------
    dask.array.Array or Chunks
        For ``fit`` and ``predict``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.ones((3, 2), dtype=np.float32))
    >>> open_rows(path).shape
    (3, 2)
    """
    source = _source(Path(path), column, without)
    if _has_client() if cluster is None else cluster:
        return _dask_array(source)
    return LocalChunks(source.read, source.sizes, source.width, source.dtype)


def connect(scheduler: str) -> Client:
    """Connect to a Dask scheduler, and make it the one that computes; return the client.

    Parameters
    ----------
    scheduler : str
        Its address, as ``tcp://10.0.0.1:8786``.
    """
    distributed = need("distributed", scheduler, "scale")
    try:
        return distributed.Client(scheduler, timeout=ANSWER)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{scheduler}: no Dask scheduler answers there ({type(error).__name__}). Start one with "
            "`dask scheduler`, and give its address, as tcp://10.0.0.1:8786."
        ) from error


def _source(path: Path, column: str | None, without: Collection[str]) -> Source:
    suffix = path.suffix.lower()
    files = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if files or suffix == ".parquet":
        return parquet_source(files or [path], column, without)
    if column is not None or without:
        raise DataError(f"{path}: has no columns with names; only Parquet has.")
    if suffix == ".npy":
        return npy_source(path, CHUNK_BYTES)
    if path.is_dir() or suffix == ".zarr":
        return zarr_source(path, CHUNK_BYTES)
    raise DataError(
        f"{path}: is not there, or is no .npy, Zarr array or Parquet. Larger files are read from these "
        "only: store the rows as one of them."
    )


def _has_client() -> bool:
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_client()
    except ValueError:
        return False
    return True


def _dask_array(source: Source) -> DaskArray:
    da = need("dask.array", "A Dask array", "scale")
    return da.map_blocks(
        _read_block,
        source,
        chunks=(source.sizes, *((n,) for n in source.width)),
        dtype=source.dtype,
        meta=np.empty((0,) * (1 + len(source.width)), source.dtype),
    )


def _read_block(source: Source, block_id: tuple[int, ...] = (0,)) -> Array:
    return source.read(block_id[0])


def _open_dask(X: object) -> Chunks | None:
    """Open a Dask array; Dask is imported only if the user's program has imported it."""
    if not hasattr(X, "__dask_graph__"):
        return None
    from unseen.scale.cluster import DaskChunks

    if not hasattr(X, "chunks"):
        raise ValueError(
            f"Got a Dask {type(X).__name__}, but fit and predict take a Dask array: "
            "give X.to_dask_array(lengths=True)."
        )
    return DaskChunks.of(X)


def _open_lazy(X: Any) -> Chunks | None:
    """Open a memory map of more than a chunk, or a chunked array of Zarr or HDF5."""
    mapped = isinstance(X, np.memmap) and X.nbytes > CHUNK_BYTES
    lazy = not isinstance(X, np.ndarray) and all(hasattr(X, n) for n in ("shape", "dtype", "chunks"))
    if not (mapped or lazy) or len(X.shape) not in (1, 2):
        return None
    chunk = 0 if mapped or X.chunks is None else X.chunks[0]
    return LocalChunks.of(X, chunk_sizes(X.shape, X.dtype.itemsize, chunk, CHUNK_BYTES))


OPENERS += [_open_dask, _open_lazy]
