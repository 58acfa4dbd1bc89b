"""Files whose chunks any process can read by their number: a path, sizes, and no open handle."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.exceptions import DataError
from unseen.files import need, read_npy, reading
from unseen.parquet_budget import check_decoded, check_texts, decoded_bytes, read_columns
from unseen.scale.zarr_metadata import check_chunk_files, checked_format
from unseen.typing import Array, DType

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Schema
    from zarr import Array as ZarrArray

BESIDE = 1024
"""Assumed bytes of a row of features: labels are read in chunks of about as many rows."""


@dataclass(frozen=True)
class Source:
    """Chunks of rows in files."""

    read: Callable[[int], Array]
    sizes: tuple[int, ...]
    width: tuple[int, ...]
    """The shape of one row: (p,), or () for labels."""
    dtype: DType


def chunk_sizes(shape: tuple[int, ...], itemsize: int, chunk: int, most: int) -> tuple[int, ...]:
    """Return the rows to read at a time: as many chunks of the file as ``most`` bytes hold.

    >>> chunk_sizes((10, 2), 4, 3, 50)
    (6, 4)
    """
    row = itemsize * math.prod(shape[1:]) if len(shape) > 1 else BESIDE
    rows = max(1, most // max(1, row))
    size = max(rows // chunk, 1) * chunk if chunk else rows
    whole, rest = divmod(shape[0], size)
    return (size,) * whole + ((rest,) if rest else ())


def npy_source(path: Path, most: int) -> Source:
    """Return a ``.npy`` file in chunks of at most ``most`` bytes."""
    values = read_npy(path)
    _check(path, values.shape, values.dtype)
    sizes = chunk_sizes(values.shape, values.dtype.itemsize, 0, most)
    return Source(partial(_read_npy, path, sizes[0]), sizes, values.shape[1:], values.dtype)


def _read_npy(path: Path, size: int, number: int) -> Array:
    return np.asarray(read_npy(path)[number * size : (number + 1) * size])


def zarr_source(path: Path, most: int) -> Source:
    """Return a Zarr array, several of its chunks at a time where they are small."""
    values = _zarr_array(path, most)
    _check(path, values.shape, values.dtype)
    chunk = (getattr(values, "shards", None) or values.chunks)[0]
    sizes = chunk_sizes(values.shape, values.dtype.itemsize, chunk, most)
    return Source(
        partial(_read_zarr, path, most, sizes[0]), sizes, tuple(values.shape[1:]), values.dtype
    )


def _zarr_array(path: Path, most: int) -> ZarrArray:
    zarr = need("zarr", path, "scale")
    version = checked_format(path, most)  # before the library decodes anything
    with reading(path):
        return zarr.open_array(str(path), mode="r", zarr_format=version)


def _read_zarr(path: Path, most: int, size: int, number: int) -> Array:
    with reading(path, f"chunk {number}"):
        values = _zarr_array(path, most)
        check_chunk_files(path, values, number * size, size)
        file = _plain_file(values, size, number)
        if file is None:
            return np.asarray(values[number * size : (number + 1) * size])
        whole = np.asarray(np.memmap(file, values.dtype, "r", shape=values.chunks))
        return whole[: values.shape[0] - number * size]  # the last file is as long as the others


def _plain_file(values: ZarrArray, size: int, number: int) -> Path | None:
    """Return the file of a chunk if its bytes can be mapped as they are, without a copy."""
    zarr = need("zarr", "Rows in Zarr", "scale")
    serializer = getattr(values, "serializer", None)  # the older format has none
    endian = getattr(getattr(serializer, "endian", None), "value", sys.byteorder)
    plain = (
        isinstance(values.store, zarr.storage.LocalStore)
        and (serializer is None or isinstance(serializer, zarr.codecs.BytesCodec))
        and not (values.compressors or values.filters or values.shards)
        and values.dtype.kind in "fiu"
        and values.dtype.isnative
        and endian == sys.byteorder
        and values.order == "C"
        and values.chunks == (size, *values.shape[1:])
    )
    if not plain:
        return None
    key = values.metadata.encode_chunk_key((number,) + (0,) * (values.ndim - 1))
    file = Path(values.store.root) / values.path / key
    length = math.prod(values.chunks) * values.dtype.itemsize
    # A chunk of nothing but the fill value has no file.
    return file if file.is_file() and file.stat().st_size == length else None


def parquet_source(paths: Sequence[Path], column: str | None, without: Collection[str]) -> Source:
    """Return Parquet files by their row groups, one a chunk."""
    parquet = need("pyarrow.parquet", paths[0], "scale")
    groups: list[tuple[Path, int]] = []
    sizes: list[int] = []
    schema: Schema = None
    for path in paths:
        with reading(path):
            file = parquet.ParquetFile(path, memory_map=False)
            if schema is not None and not schema.equals(file.schema_arrow):
                raise DataError(f"{path}: has other columns than {paths[0]}. Write all files alike.")
            schema = file.schema_arrow
            row_groups = [file.metadata.row_group(g) for g in range(file.metadata.num_row_groups)]
            for number in range(len(row_groups)):
                check_decoded(path, f"row group {number}", decoded_bytes(file, number))
            counts = [row_group.num_rows for row_group in row_groups]
        groups += [(path, g) for g, n in enumerate(counts) if n]
        sizes += [n for n in counts if n]
    if not sizes:
        raise DataError(f"{paths[0]}: has no row.")
    columns = [column] if column is not None else [n for n in schema.names if n not in without]
    missing = sorted({*columns, *without} - set(schema.names))
    if missing or not columns:
        raise DataError(f"{paths[0]}: has no column {', '.join(map(repr, missing))}.")
    read = partial(_read_group, tuple(groups), tuple(columns), column is not None)
    try:
        first = read(0)  # one group tells the width of a list and the type of the numbers
    except MemoryError:
        raise DataError(f"{paths[0]}: a row group is larger than memory. Write smaller ones.") from None
    return Source(read, tuple(sizes), first.shape[1:], first.dtype)


def _read_group(
    groups: tuple[tuple[Path, int], ...], columns: tuple[str, ...], alone: bool, number: int
) -> Array:
    path, group = groups[number]
    parquet = need("pyarrow.parquet", path, "scale")
    with reading(path, f"row group {group}"):
        file = parquet.ParquetFile(path, memory_map=False)
        if alone and "string" in str(file.schema_arrow.field(columns[0]).type):
            file = parquet.ParquetFile(path, memory_map=False, read_dictionary=list(columns))
        table = read_columns(path, file, list(columns), group)
        values = [table.column(name) for name in columns]
        if alone:
            check_texts(path, values[0])
            return _labels(values[0])
        for name, column in zip(columns, values, strict=True):
            if column.null_count:
                raise DataError(
                    f"{path}: row group {group}, column {name!r} has {column.null_count} empty "
                    "cell(s). Fill them in, or leave the column out."
                )
        if len(values) == 1 and "list" in str(values[0].type):
            return _lists(path, columns[0], values[0])
        kinds = {n: str(v.type) for n, v in zip(columns, values, strict=True)}
        for name, kind in kinds.items():
            if not kind.startswith(("int", "uint", "float", "double", "halffloat")):
                raise DataError(
                    f"{path}: column {name!r} holds {kind}, but features are real numbers. Name it in "
                    "without=, or give it as the labels."
                )
        arrays = [column.to_numpy() for column in values]
        out = np.empty((table.num_rows, len(arrays)), np.result_type(*(f.dtype for f in arrays)))
        for place, column in enumerate(arrays):
            out[:, place] = column
        return out


def _lists(path: Path, name: str, column: ChunkedArray) -> Array:
    """Return a column of lists of one length as a matrix."""
    whole = column.combine_chunks()
    flat = whole.flatten().to_numpy(zero_copy_only=False)
    lengths = set(whole.value_lengths().to_pylist())
    if len(lengths) != 1 or flat.dtype.kind not in "fiu":
        raise DataError(f"{path}: the lists of column {name!r} are not numbers, or of several lengths.")
    return np.asarray(flat.reshape(len(column), -1))


def _labels(column: ChunkedArray) -> Array:
    """Return names or numbers; an empty cell is a row without a label."""
    if column.null_count or "string" in str(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy())


def _check(path: Path, shape: tuple[int, ...], dtype: DType) -> None:
    if len(shape) not in (1, 2) or 0 in shape:
        raise DataError(f"{path}: has shape {tuple(shape)}, but rows have one or two dimensions.")
    if dtype.hasobject:
        raise DataError(f"{path}: holds Python objects. Store numbers or names.")
