"""The cells of a table as people have it: CSV with any usual separator and encoding, or Excel."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unseen.exceptions import DataError
from unseen.files import check_size, need, reading
from unseen.spreadsheet_cells import original_cell

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
FORMER_SUFFIXES = (".xls", ".ods", ".numbers")
"""Spreadsheets that are not read."""
MOST_BYTES = 256 * 2**20
"""Of a table of classes, after it is unpacked."""
MOST_CELLS = 20_000_000
SEPARATORS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Cells:
    """A table of texts: the names of its columns, and its rows with their lines in the file."""

    columns: list[str]
    rows: list[tuple[int, list[str]]]
    decimal_commas: bool = False
    """Whether 0,5 is a number: where commas do not separate the cells."""

    def number(self, cell: str) -> float | None:
        """Return the number in a cell, or None if it holds none."""
        text = cell.strip()
        if self.decimal_commas and _DECIMAL_COMMA.fullmatch(text):
            text = text.replace(",", ".")
        try:
            return float(text)
        except ValueError:
            return None


def read_cells(path: Path) -> Cells:
    """Read a table with a header.

    Parameters
    ----------
    path : path
        CSV or TSV in UTF-8, UTF-16 or Latin-1, cells separated by commas, semicolons, tabs or bars,
        whichever splits the header most often; or Excel (``.xlsx``), of which the first sheet is read.
    """
    suffix = path.suffix.lower()
    if suffix in FORMER_SUFFIXES:
        raise DataError(f"{path}: is not read as {suffix}. Save it as .xlsx or .csv.")
    with reading(path):
        if suffix in EXCEL_SUFFIXES:
            lines, separator = _excel_lines(path), ""
        else:
            text = _text(path)
            separator = _separator(text)
            lines = _csv_lines(text, separator)
        header_line, header = next(lines, (1, []))
        while header and not header[-1].strip():
            header = header[:-1]
        columns = [original_cell(name.strip()) for name in header]
        _check_columns(path, header_line, columns)
        rows: list[tuple[int, list[str]]] = []
        for line, row in lines:
            rows.append(_row(path, line, row, len(columns)))
            if len(rows) * len(columns) > MOST_CELLS:
                raise DataError(f"{path}: has more than {MOST_CELLS:,} cells. Give fewer rows.")
        return Cells(columns, rows, separator != ",")


def _check_columns(path: Path, line: int, columns: list[str]) -> None:
    if not columns:
        raise DataError(f"{path}: is empty. The first line names the columns.")
    taken: set[str] = set()
    for place, name in enumerate(columns, 1):
        if not name or name in taken:
            raise DataError(
                f"{path}: line {line}, column {place}: the name {name!r} is empty or there twice. Give "
                "every column its own name."
            )
        taken.add(name)


def _row(path: Path, line: int, row: list[str], columns: int) -> tuple[int, list[str]]:
    if len(row) > columns and not any(cell.strip() for cell in row[columns:]):
        row = row[:columns]
    if len(row) != columns:
        raise DataError(f"{path}: line {line} has {len(row)} cells, but the header names {columns}.")
    return line, [original_cell(cell) for cell in row]


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8 or UTF-16, or else in the encoding of Western Windows."""
    check_size(path, "the table", path.stat().st_size, MOST_BYTES)
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _separator(text: str) -> str:
    """Return what splits the header into most cells; a comma if nothing does."""
    header = text.lstrip().partition("\n")[0]
    return max(SEPARATORS, key=lambda sign: len(next(csv.reader([header], delimiter=sign), [])))


def _csv_lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, row


def _excel_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of the first sheet; what it would expand to is checked before."""
    library = need("openpyxl", path, "excel")
    with zipfile.ZipFile(path) as archive:
        check_size(path, "the table", sum(item.file_size for item in archive.infolist()), MOST_BYTES)
    book = library.load_workbook(path, read_only=True, data_only=True)
    try:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file claims may be absurd
        cells = width = 0
        for line, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells += len(row)  # those of empty rows, too, which are passed over below
            if cells > MOST_CELLS:
                raise DataError(f"{path}: has more than {MOST_CELLS:,} cells. Save the table as .csv.")
            texts = [_cell_text(value) for value in row]
            if any(text.strip() for text in texts):
                width = width or len(texts)
                yield line, texts + [""] * (width - len(texts))
    finally:
        book.close()


def _cell_text(value: object) -> str:
    """Return what a cell of Excel holds as a text; ticked is 1."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
