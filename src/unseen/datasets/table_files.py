"""Tables with a header: CSV and Parquet, as numbers and columns of names."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.datasets.parquet import read_parquet_columns
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, check_size, reading
from unseen.spreadsheet_cells import neutral_cell, original_cell
from unseen.typing import Array, DType

PathLike = str | os.PathLike[str]

BLOCK_CELLS = 2**20
"""Cells that are kept as Python's numbers, which take ten times the memory of an array's."""


@dataclass(frozen=True)
class Table:
    """A table: a matrix of numbers, the names of its columns, and the columns of names."""

    numbers: Array
    columns: list[str]
    text: dict[str, list[str]]

    @property
    def rows(self) -> int:
        """How many rows there are, under the header."""
        return len(self.numbers)


def read_table(
    path: PathLike,
    text: Collection[str],
    *,
    dtype: npt.DTypeLike = np.float64,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Table:
    """Read a CSV or Parquet file whose columns are numbers, but for those named in ``text``.

    An empty cell, a word among numbers, or a row that is too short is an error that names the
    line and the column; nothing is filled in.
    """
    if Path(path).suffix.lower() == ".parquet":
        return Table(*read_parquet_columns(path, text, max_bytes=max_bytes))
    with reading(path):
        check_size(path, "the table", Path(path).stat().st_size, max_bytes)
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            lines = _rows(path, csv.reader(file, strict=True))
            _, header = next(lines, (1, []))
            names = [original_cell(name.strip()) for name in header]
            _check_header(path, names)
            return _body(path, lines, names, text, np.dtype(dtype))


def _rows(path: PathLike, reader: Any) -> Iterator[tuple[int, list[str]]]:
    for row in reader:
        if row:
            yield reader.line_num, row


def _check_header(path: PathLike, names: Sequence[str]) -> None:
    if not names:
        raise DataError(f"{path}: is empty. The first line names the columns.")
    taken: set[str] = set()
    for position, name in enumerate(names):
        if not name or name in taken:
            raise DataError(
                f"{path}: line 1, column {position + 1}: the name {name!r} is empty or there "
                "twice. Give every column its own name."
            )
        taken.add(name)


def _body(
    path: PathLike,
    lines: Iterator[tuple[int, list[str]]],
    names: Sequence[str],
    text: Collection[str],
    dtype: DType,
) -> Table:
    places = {name: i for i, name in enumerate(names) if name in text}
    numeric = [i for i, name in enumerate(names) if name not in places]
    strings: dict[str, list[str]] = {name: [] for name in places}
    block_rows = max(1, BLOCK_CELLS // len(names))
    blocks: list[Array] = []
    block: list[list[float]] = []
    for line, row in lines:
        if len(row) != len(names):
            raise DataError(
                f"{path}: line {line} has {len(row)} cells, but the header names {len(names)}."
            )
        for name, values in strings.items():
            values.append(_name(path, line, name, original_cell(row[places[name]])))
        block.append(_numbers(path, line, names, row, numeric))
        if len(block) == block_rows:
            blocks.append(np.array(block, dtype).reshape(len(block), len(numeric)))
            block = []
    blocks.append(np.array(block, dtype).reshape(len(block), len(numeric)))
    return Table(np.concatenate(blocks), [names[i] for i in numeric], strings)


def _name(path: PathLike, line: int, column: str, value: str) -> str:
    if not value.strip() or "\n" in value or "\r" in value or "\x00" in value:
        raise DataError(f"{path}: line {line}, column {column!r}: {value!r} is not a name.")
    return value


def _numbers(
    path: PathLike, line: int, names: Sequence[str], row: Sequence[str], numeric: Iterable[int]
) -> list[float]:
    try:
        return [float(row[i]) for i in numeric]
    except ValueError:
        for i in numeric:
            try:
                float(row[i])
            except ValueError:
                fault = "is empty" if not row[i].strip() else f"holds {row[i]!r}, not a number"
                raise DataError(
                    f"{path}: line {line}, column {names[i]!r}: {fault}. Fill it in, or leave "
                    "the row or column out."
                ) from None
        raise


def number_format(numbers: Array) -> str:
    """Return the shortest format that keeps every number of this type exactly."""
    return (
        {2: "%.5g", 4: "%.9g"}.get(numbers.dtype.itemsize, "%.17g")
        if numbers.dtype.kind == "f"
        else "%d"
    )


def write_table(
    path: PathLike, columns: Sequence[str], text: dict[str, Sequence[str]], numbers: Array
) -> None:
    """Write a CSV that :func:`read_table` reads back bit for bit, and no spreadsheet runs."""
    pattern = ",".join([number_format(numbers)] * len(columns))
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([neutral_cell(name) for name in (*text, *columns)])
        for row, values in enumerate(numbers):
            cells = (pattern % tuple(values.tolist())).split(",") if columns else []
            writer.writerow([*(neutral_cell(names[row]) for names in text.values()), *cells])
