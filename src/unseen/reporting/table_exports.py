"""Tables as CSV, JSON and LaTeX."""

from __future__ import annotations

import csv
import io
import json

from unseen.reporting.value_table import Table, Value
from unseen.spreadsheet_cells import neutral_cell
from unseen.typing import JsonObject

_ESCAPES = {"\\": r"\textbackslash{}", **{c: f"\\{c}" for c in "&%$#_{}"}, "~": r"\textasciitilde{}"}
_SYMBOLS = {
    "±": r"$\pm$", "↑": r"$\uparrow$", "†": r"$\dagger$", "–": "--", "—": "---", "ε̄": r"$\bar\epsilon$",
    "ε": r"$\epsilon$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "“": "``", "”": "''",
}  # fmt: skip


def to_csv(table: Table) -> str:
    """Return the shown texts and, in columns of their own, the numbers and the rows behind them."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*(neutral_cell(c.strip()) for c in table.columns), "rows"])
    for row in table.rows:
        keys = dict.fromkeys(key for value in row for key in value.keys)
        writer.writerow([*(_cell(value) for value in row), neutral_cell(" ".join(keys))])
    return stream.getvalue()


def to_json(table: Table) -> JsonObject:
    """Return plain Python values, for JSON: every number with the keys of its rows."""
    return {
        "name": table.name,
        "title": table.title,
        "columns": [c.strip() for c in table.columns],
        "rows": [[_entry(v) for v in row] for row in table.rows],
        "notes": table.notes,
    }


def to_latex(table: Table) -> str:
    """Return a tabular with the best in bold, ready to be read into a paper."""
    lines = [
        f"% {table.title}. Written by unseen bench.",
        rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
        r"\hline",
        " & ".join(_latex(c.strip()) for c in table.columns) + r" \\",
        r"\hline",
    ]
    for row in table.rows:
        cells = [rf"\textbf{{{_latex(_plain(v))}}}" if v.best else _latex(_plain(v)) for v in row]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", *(f"% {n}" for n in table.notes), ""])


def _plain(value: Value) -> str:
    return f"{value.text} {value.note}".strip()


def _cell(value: Value) -> str:
    """Return the shown text; a number may begin with a sign, a name that does is neutralised."""
    return _plain(value) if value.number is not None else neutral_cell(_plain(value))


def _entry(value: Value) -> object:
    if value.number is None:
        return value.text
    return {k: v for k, v in vars(value).items() if v not in ("", (), False)}


def _latex(text: str) -> str:
    escaped = "".join(_ESCAPES.get(c, c) for c in text)
    for symbol, command in _SYMBOLS.items():
        escaped = escaped.replace(symbol, command)
    return escaped


def dumps(value: object) -> str:
    """Return JSON text with a newline at its end."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
