"""Parquet as a matrix of numbers and columns of names."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, need, reading
from unseen.parquet_budget import check_decoded, check_texts, decoded_bytes, read_columns
from unseen.typing import Array

if TYPE_CHECKING:
    from pyarrow import ChunkedArray
    from pyarrow.parquet import ParquetFile

PathLike = str | os.PathLike[str]


def read_parquet_columns(
    path: PathLike, text: Collection[str], *, max_bytes: int = DEFAULT_MAX_BYTES
) -> tuple[Array, list[str], dict[str, list[str]]]:
    """Read Parquet as a matrix of its number columns, their names, and the ``text`` columns."""
    with reading(path):
        file = open_parquet(path, text, max_bytes=max_bytes)
        names = [str(n) for n in file.schema_arrow.names]
        strings: dict[str, list[str]] = {}
        for name in (n for n in names if n in text):
            column = _column(path, file, name)
            max_bytes -= check_texts(path, column, max_bytes)
            cells = enumerate(column.to_pylist())
            strings[name] = [_text_cell(path, name, row, value) for row, value in cells]
        numeric = [n for n in names if n not in text]
        types = [np.dtype(_number_type(path, file, n)) for n in numeric]
        rows = file.metadata.num_rows
        values = np.empty((rows, len(numeric)), np.result_type(*types) if types else np.float64)
        for position, name in enumerate(numeric):
            column = _column(path, file, name)
            if column.null_count:
                raise DataError(f"{path}: column {name!r} has {column.null_count} empty cell(s).")
            values[:, position] = column.to_numpy()
    return values, numeric, strings


def open_parquet(
    path: PathLike, text: Collection[str] = (), *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Any:
    """Open a Parquet file; refuse one that expands beyond the limit or names a column twice.

    Columns named in ``text`` are read as numbers of a dictionary, so that a text that is stored once
    and repeated a million times takes the memory of one until :func:`check_texts` has looked at it.
    """
    parquet = need("pyarrow.parquet", path)
    with reading(path):
        file = parquet.ParquetFile(path, memory_map=False)
        _check_parquet(path, file, max_bytes)
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise DataError(f"{path}: names a column twice.")
        coded = [n for n in names if n in text and "string" in str(file.schema_arrow.field(n).type)]
        return parquet.ParquetFile(path, memory_map=False, read_dictionary=coded) if coded else file


def _column(path: PathLike, file: ParquetFile, name: str) -> ChunkedArray:
    return read_columns(path, file, [name]).column(0)


def _check_parquet(path: PathLike, file: ParquetFile, max_bytes: int) -> None:
    metadata = file.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    claimed = sum(decoded_bytes(file, i) for i in range(len(groups)))
    claimed = max(claimed, 8 * metadata.num_rows * metadata.num_columns)
    check_decoded(path, "the table", claimed, max_bytes)
    if sum(g.num_rows for g in groups) != metadata.num_rows:
        raise DataError(f"{path}: its row groups do not add up to {metadata.num_rows} rows.")


def _number_type(path: PathLike, file: ParquetFile, name: str) -> str:
    kind = str(file.schema_arrow.field(name).type)
    known = {"float": "f4", "double": "f8", "halffloat": "f2"}
    if kind in known:
        return known[kind]
    if kind.startswith(("int", "uint")):
        return kind
    raise DataError(f"{path}: column {name!r} holds {kind}, but features are real numbers.")


def _text_cell(path: PathLike, name: str, row: int, value: object) -> str:
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise DataError(f"{path}: row {row}, column {name!r}: holds {value!r}, not a name.")
    return str(value)
