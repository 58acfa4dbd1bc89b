"""Tables whose numbers name the stored rows that they were computed from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape

from unseen.reporting.html_page import table_box

WIDE_TABLE_COLUMNS = 8
"""Columns above which a table is set smaller."""
BREAKABLE_CELL_LETTERS, LONG_CELL_LETTERS = 18, 40
"""Letters above which a cell may be broken into lines, and above which these lines are long."""
LONG_TABLE_ROWS = 24
"""Rows above which a table scrolls in its own box."""

NO_NUMBER = ("diverged", "failed", "skipped")
"""What stands in a column of numbers where a fit gave none."""


@dataclass(frozen=True)
class Value:
    """One entry of a table."""

    text: str = ""
    number: float | None = None
    keys: tuple[str, ...] = ()
    """The stored rows that the number was computed from."""
    source: str = ""
    """Which number of those rows: "mean accuracy", "deviation of seconds" …"""
    best: bool = False
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table before it is written anywhere."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[list[Value]]
    notes: list[str] = field(default_factory=list)


def table_html(table: Table) -> str:
    """Return a sortable table; a cell's ``data-keys`` are the stored rows of its number."""
    numeric = [_is_numeric([row[i] for row in table.rows]) for i in range(len(table.columns))]
    heads = "".join(sortable_head(c.strip(), n) for c, n in zip(table.columns, numeric, strict=True))
    lines = [
        "<tr>" + "".join(_cell(v, n) for v, n in zip(row, numeric, strict=True)) + "</tr>"
        for row in table.rows
    ]
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    box = "scroll" + " long" * (len(table.rows) > LONG_TABLE_ROWS)
    box += " wide" * (len(table.columns) > WIDE_TABLE_COLUMNS)
    return (
        f'<h3 id="{escape(table.name)}">{escape(table.title)}</h3>\n'
        + table_box(heads, lines, "sortable", box)
        + f'\n<ul class="notes">{notes}</ul>'
    )


def sortable_head(text: str, numeric: bool) -> str:
    """Return a heading that sorts its column when it is pressed."""
    kind = " class=n" if numeric else ""
    return f'<th scope="col"{kind}><button type="button">{_breakable(text)}</button></th>'


def _is_numeric(column: list[Value]) -> bool:
    """Tell whether a column is set to the right: numbers, or texts that begin as numbers do.

    A word that stands for a missing number ("diverged") does not count, unless nothing else is there.
    """
    if column and all(value.text == "–" for value in column):
        return True
    texts = [value.text for value in column if value.text not in ("", "–")]
    numbers = [text for text in texts if re.match(r"(< |[+−])?\d+(\.\d+)?( |$)", text)]
    return bool(texts) and all(text in numbers or text in NO_NUMBER for text in texts)


def _breakable(text: str) -> str:
    """Return text that may also be broken after the hyphens and underscores of long names."""
    return re.sub(r"([-_@])(?=\w)", r"\1<wbr>", escape(text))


def _cell(value: Value, numeric: bool) -> str:
    length = len(value.text)
    is_long = length > LONG_CELL_LETTERS
    is_breakable = length > BREAKABLE_CELL_LETTERS
    kinds = ["n"] * numeric + ["best"] * value.best
    kinds += ["words"] * (is_breakable and not is_long) + ["sentence"] * is_long
    attributes = f' class="{" ".join(kinds)}"' if kinds else ""
    if value.number is not None:
        attributes += f' data-value="{escape(repr(value.number))}"'
    if value.keys:
        many = f"{len(value.keys)} row{'s' * (len(value.keys) > 1)}"
        keys = escape(" ".join(value.keys))
        attributes += f' data-keys="{keys}" data-source="{escape(value.source)}"'
        attributes += f' title="{escape(value.source)} of {many}: {keys}"'
    note = f" {escape(value.note)}" if value.note else ""
    text = _breakable(value.text) if is_breakable else escape(value.text)
    return f"<td{attributes}>{text}{note}</td>"
