"""Texts in files: CSV, TSV, JSON lines (each also as ``.gz``) and Parquet."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from unseen.datasets.parquet import open_parquet
from unseen.datasets.splits import read_lines
from unseen.exceptions import DataError
from unseen.features import Broken
from unseen.files import DEFAULT_MAX_BYTES, check_size, reading
from unseen.labelling.classes import CLASS_COLUMN, Given, from_names, named_column
from unseen.labelling.table_cells import EXCEL_SUFFIXES, FORMER_SUFFIXES, read_cells
from unseen.parquet_budget import PYTHON_TEXT_BYTES, check_texts
from unseen.spreadsheet_cells import original_cell
from unseen.typing import JsonObject

LONGEST_LINE = 2**24
"""Letters of a line."""
MOST_BYTES = DEFAULT_MAX_BYTES
"""That the rows of a file may take in memory."""
ROW_BYTES = PYTHON_TEXT_BYTES + 100
"""What a row takes beside its letters: its text, and its numbers."""
MOST_EMPTY_ROWS = 1_000_000
"""Rows without a text, each of which is listed."""
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
NAME_COLUMNS = ("class", "name", "label")
"""Columns that may name the class, the first that is there."""
TEXT_COLUMNS = ("description", "example", "text", "prompt")
"""How the columns begin whose cells are texts of the class: example, example2, example_long …"""

Record = tuple[int, JsonObject]
"""The line in the file, and column → cell."""


@dataclass(frozen=True)
class TextRows:
    """Texts of a file, those that are empty left out."""

    path: Path
    texts: list[str]
    rows: list[int]
    """The row of each text in the file, from 0; a header is no row."""
    labels: list[str] = field(default_factory=list)
    """The label of each text, "" for none; empty if no column of labels was asked for."""
    lines: list[int] = field(default_factory=list)
    """The line of each text in the file."""
    broken: list[Broken] = field(default_factory=list)


def is_text_file(path: Path) -> bool:
    """Tell a file of texts by the end of its name."""
    return Path(path.name.lower().removesuffix(".gz")).suffix in SUFFIXES


def read_texts(path: Path, column: str = "text", label_column: str = "") -> TextRows:
    """Read a column of texts and, if asked for, a column of labels.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson``, each also with ``.gz``, or ``.parquet``.
    column : str
    label_column : str
        An empty cell, or null, is no label.
    """
    rows = TextRows(path, [], [])
    for row, (line, record) in enumerate(
        _records(path, [column, *[label_column] * bool(label_column)])
    ):
        text = _cell(path, line, column, record)
        if not text:
            rows.broken.append(Broken(Path(f"{path}:{line}"), "the text is empty"))
            if len(rows.broken) > MOST_EMPTY_ROWS:
                raise DataError(
                    f"{path}: has no text in more than {MOST_EMPTY_ROWS:,} rows of the column "
                    f"{column!r}. Check the column, or leave them out.",
                    options=("column",),
                )
            continue
        rows.texts.append(text)
        rows.rows.append(row)
        rows.lines.append(line)
        if label_column:
            rows.labels.append(_cell(path, line, label_column, record))
    if not rows.texts:
        raise DataError(
            f"{path}: has no text in the column {column!r}. Check the column.", options=("column",)
        )
    return rows


def read_class_texts(path: Path, class_column: str = CLASS_COLUMN) -> tuple[Given, list[str]]:
    """Read the classes and their texts; also return the class of every row of the file.

    Parameters
    ----------
    path : path
        ``.txt``: one name a line. CSV, TSV or Excel as in
        :func:`~unseen.labelling.table_cells.read_cells`; any other as :func:`read_texts`. With a column
        ``class``, ``name`` or ``label``, and columns that begin with ``description``, ``example``,
        ``text`` or ``prompt``. A class may have several of them, and several rows. Without any text it
        is known by its name.
    class_column : str
        The column of the names, if it has another name.
    """
    if path.suffix.lower() == ".txt":
        names = read_lines(path)
        return from_names(names, str(path)), names
    texts: dict[str, list[str]] = {}
    row_names = []
    for line, record in _class_records(path):
        asked = [class_column] if class_column != CLASS_COLUMN else NAME_COLUMNS
        column = next((c for c in asked if c in record), "")
        column = column or named_column(path, list(record), class_column)
        name = _cell(path, line, column, record)
        if not name:
            raise DataError(
                f"{path}: line {line}: the class has no name. Fill the column {column!r} in."
            )
        row_names.append(name)
        own_texts = texts.setdefault(name, [])
        for key in record:
            if key != column and key.lower().startswith(TEXT_COLUMNS):
                text = _cell(path, line, key, record)
                own_texts += [text] if text else []
    if not texts:
        raise DataError(f"{path}: names no class. Write one row for each class under the header.")
    described = {name: own_texts for name, own_texts in texts.items() if own_texts}
    return Given(str(path), list(texts), descriptions=dict(described)), row_names


def _class_records(path: Path) -> Iterator[Record]:
    if path.suffix.lower() not in (".csv", ".tsv", *EXCEL_SUFFIXES, *FORMER_SUFFIXES):
        yield from _records(path, [])
        return
    cells = read_cells(path)
    for line, row in cells.rows:
        yield line, dict(zip(cells.columns, row, strict=True))


def _cell(path: Path, line: int, column: str, record: dict[str, object]) -> str:
    """Return a cell as a text, "" for an empty one."""
    value = record.get(column)
    if value is None or value != value:  # null, or NaN
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(
            f"{path}: line {line}, column {column!r}: holds {str(value)[:60]!r}, but a text is needed. "
            "Write it as a text."
        )
    return str(value).strip()


def _records(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    """Yield the rows of a file; the columns must be in its header, or in each JSON object."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        raise DataError(
            f"{path}: is no file of texts that is known. Its name must end in {', '.join(SUFFIXES)}; "
            "all but Parquet may be compressed, with .gz."
        )
    with reading(path):
        if suffix == ".parquet":
            yield from _parquet_records(path, columns)
            return
        compressed = path.suffix.lower() == ".gz"
        check_size(path, "the file", path.stat().st_size)
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if compressed
            else path.open("r", encoding="utf-8-sig", newline="")
        ) as file:
            lines = _bounded(path, file)
            if suffix in (".jsonl", ".ndjson"):
                yield from _json_records(path, lines, columns)
            else:
                yield from _table_records(path, lines, "\t" if suffix == ".tsv" else ",", columns)


def _bounded(path: Path, file: IO[str]) -> Iterator[str]:
    """Yield lines; refuse a compressed file that expands beyond the limit, also in one line."""
    held = 0
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise DataError(f"{path}: has a line of more than {LONGEST_LINE:,} letters. Is it text?")
        held += len(line) + ROW_BYTES
        if held > MOST_BYTES:
            check_size(path, "the file", held, MOST_BYTES)
        yield line


def _table_records(
    path: Path, lines: Iterator[str], delimiter: str, columns: Sequence[str]
) -> Iterator[Record]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if not header:
        raise DataError(f"{path}: is empty. The first line names the columns.")
    _check_columns(path, 1, header, columns)
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{path}: line {reader.line_num} has {len(cells)} cells, but the header names "
                f"{len(header)}. Put quotes around a text that holds the separator."
            )
        yield reader.line_num, dict(zip(header, map(original_cell, cells), strict=True))


def _json_records(path: Path, lines: Iterator[str], columns: Sequence[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"{path}: line {number}: is no JSON ({error.msg}, column {error.colno}). Write one "
                "object a line."
            ) from None
        if not isinstance(record, dict):
            raise DataError(
                f"{path}: line {number}: holds {line.strip()[:40]!r}, but an object is needed: "
                '{"text": …}.'
            )
        _check_columns(path, number, list(record), columns)
        yield number, record


def _parquet_records(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    file = open_parquet(path, columns)
    names = [str(name) for name in file.schema_arrow.names]
    _check_columns(path, 1, names, columns)
    row, budget = 0, DEFAULT_MAX_BYTES
    for batch in file.iter_batches(columns=list(columns) or names):
        budget -= sum(check_texts(path, column, budget) for column in batch.columns)
        for record in batch.to_pylist():
            row += 1
            yield row, record


def _check_columns(path: Path, line: int, there: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            raise DataError(
                f"{path}: line {line} has no column {name!r}. It has {', '.join(map(repr, there[:8]))}"
                ". Name the one that holds the texts, or the labels.",
                options=("column", "label_column"),
            )
