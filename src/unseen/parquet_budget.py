"""How much memory Parquet may take once it is decoded: a value that is repeated is stored once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, DEFLATE_RATIO, check_size, need

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Table
    from pyarrow.parquet import ParquetFile

FREE_DECODED_BYTES = 2**30
"""What any file may expand to; more only if it is long enough to hold that."""

BATCH_ROWS = 2**16
"""Rows that are decoded at a time."""

PYTHON_TEXT_BYTES = 57
"""What Python takes for a text, beside its letters."""


def decoded_bytes(file: ParquetFile, group: int) -> int:
    """Return how many bytes a row group of an open Parquet file says that its values take in memory.

    What it says of single columns is asked for only where a row may have several values, since pyarrow
    ends the process where that is damaged.
    """
    row_group = file.metadata.row_group(group)
    values = row_group.num_rows * row_group.num_columns
    if any(file.schema.column(i).max_repetition_level for i in range(len(file.schema))):
        values = sum(row_group.column(i).num_values for i in range(row_group.num_columns))
    return int(max(8 * values, row_group.total_byte_size))


def read_columns(
    path: str | os.PathLike[str], file: ParquetFile, columns: list[str], row_group: int | None = None
) -> Table:
    """Read columns of a Parquet file as an Arrow table, and no more rows than the file says.

    They are read in batches: a column that has more values than rows is noticed before all of them
    are in memory.
    """
    arrow = need("pyarrow", path)
    groups = range(file.metadata.num_row_groups) if row_group is None else [row_group]
    rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    batches, count = [], 0
    for batch in file.iter_batches(BATCH_ROWS, list(groups), columns, use_threads=False):
        count += len(batch)
        if count > rows:
            break
        batches.append(batch)
    if count != rows:
        raise DataError(f"{path}: holds other numbers of rows than it says, {rows:,}. Write it again.")
    schema = batches[0].schema if batches else file.schema_arrow.empty_table().select(columns).schema
    return arrow.Table.from_batches(batches, schema)


def check_decoded(
    path: str | os.PathLike[str], what: str, decoded: int, max_bytes: int = DEFAULT_MAX_BYTES
) -> None:
    """Refuse what a few stored bytes cannot honestly expand to: equal values are stored once."""
    check_size(path, what, decoded, max_bytes)
    stored = Path(path).stat().st_size
    if decoded > max(FREE_DECODED_BYTES, stored * DEFLATE_RATIO):
        raise DataError(
            f"{path}: {what} would expand from {stored:,} to {decoded:,} bytes. Its rows are nearly "
            "all the same, or it was made to fill the memory. Store fewer rows."
        )


def check_texts(
    path: str | os.PathLike[str], column: ChunkedArray, max_bytes: int = DEFAULT_MAX_BYTES
) -> int:
    """Return how many bytes the texts of an Arrow column will take, or refuse them."""
    compute = need("pyarrow.compute", path)
    total = 0
    for chunk in getattr(column, "chunks", [column]):
        lengths = None
        if hasattr(chunk, "dictionary"):
            if "string" in str(chunk.type.value_type):
                lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
        elif "string" in str(chunk.type):
            lengths = compute.binary_length(chunk)
        if lengths is not None:
            total += int(compute.sum(lengths).as_py() or 0)
    total += PYTHON_TEXT_BYTES * len(column)
    check_decoded(path, "a column of texts", total, max_bytes)
    return total
