"""How much memory Parquet may take once it is decoded: a value that is repeated is stored once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, DEFLATE_RATIO, check_size, need

if TYPE_CHECKING:
    from pyarrow import ChunkedArray
    from pyarrow.parquet import RowGroupMetaData

FREE_DECODED_BYTES = 2**30
"""What any file may expand to; more only if it is long enough to hold that."""

PYTHON_TEXT_BYTES = 57
"""What Python takes for a text, beside its letters."""


def decoded_bytes(row_group: RowGroupMetaData) -> int:
    """Return how many bytes a row group of Parquet says that its values take in memory."""
    columns = [row_group.column(i) for i in range(row_group.num_columns)]
    return int(max(8 * sum(c.num_values for c in columns), row_group.total_byte_size))


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
