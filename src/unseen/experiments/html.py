"""Pieces of the report: escaped text, tables whose numbers name their rows, figures."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from html import escape
from importlib import resources
from typing import Any

from unseen.experiments.drawing import draw
from unseen.experiments.figures import Figure
from unseen.experiments.results import Table, Value

TEMPLATE = "report_template.html"
WIDE = 8
"""Columns above which a table is set smaller."""
WORDS, SENTENCE = 18, 40
"""Letters above which a cell may be broken into lines, and above which these are long."""
LONG = 24
"""Rows above which a table scrolls in its own box."""


def filled_page(
    *, title: str, subtitle: str, contents: str, body: str, footer: str, style: str = ""
) -> str:
    """Return a whole page in the style of all reports; every part is HTML, ``style`` is CSS."""
    text = (resources.files(__package__) / TEMPLATE).read_text(encoding="utf-8")
    return string.Template(text).substitute(
        title=title, subtitle=subtitle, contents=contents, body=body, footer=footer, style=style
    )


def section(name: str, title: str, *parts: str) -> str:
    """Return a section with its heading."""
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n' + "\n".join(parts) + "</section>"


def table_html(table: Table) -> str:
    """Return a sortable table; a cell's ``data-keys`` are the stored rows of its number."""
    numeric = [_is_numeric([row[i] for row in table.rows]) for i in range(len(table.columns))]
    heads = "".join(
        f'<th scope="col"{" class=n" if n else ""}>{_button(c)}</th>'
        for c, n in zip(table.columns, numeric, strict=True)
    )
    lines = [
        "<tr>" + "".join(_cell(v, n) for v, n in zip(row, numeric, strict=True)) + "</tr>"
        for row in table.rows
    ]
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    box = "scroll" + " long" * (len(table.rows) > LONG) + " wide" * (len(table.columns) > WIDE)
    return (
        f'<h3 id="{table.name}">{escape(table.title)}</h3>\n<div class="{box}" tabindex="0">'
        f'<table class="sortable"><thead><tr>{heads}</tr></thead><tbody>\n'
        + "\n".join(lines)
        + f'\n</tbody></table></div>\n<ul class="notes">{notes}</ul>'
    )


def _is_numeric(column: list[Value]) -> bool:
    """Tell whether a column is set to the right: numbers, or texts that begin as numbers do."""
    texts = [value.text for value in column if value.text not in ("", "–")]
    return bool(texts) and all(re.match(r"(< |[+−])?\d+(\.\d+)?( |$)", text) for text in texts)


def _button(text: str) -> str:
    return f'<button type="button">{_breakable(text.strip())}</button>'


def _breakable(text: str) -> str:
    """Return text that may be broken at the marks in long names, too."""
    return re.sub(r"([-_@])(?=\w)", r"\1<wbr>", escape(text))


def _cell(value: Value, numeric: bool) -> str:
    length = len(value.text)
    kinds = ["n"] * numeric + ["best"] * value.best
    kinds += ["words"] * (WORDS < length <= SENTENCE) + ["sentence"] * (length > SENTENCE)
    attributes = f' class="{" ".join(kinds)}"' if kinds else ""
    if value.number is not None:
        attributes += f' data-value="{value.number!r}"'
    if value.keys:
        many = f"{len(value.keys)} row{'s' * (len(value.keys) > 1)}"
        attributes += f' data-keys="{" ".join(value.keys)}" data-source="{escape(value.source)}"'
        attributes += f' title="{escape(value.source)} of {many}: {" ".join(value.keys)}"'
    note = f" {escape(value.note)}" if value.note else ""
    text = _breakable(value.text) if length > WORDS else escape(value.text)
    return f"<td{attributes}>{text}{note}</td>"


def figure_html(figure: Figure) -> str:
    """Return a figure with its drawing inside and its caption."""
    return (
        f'<h3 id="{figure.name}">{escape(figure.title)}</h3>\n<figure>{draw(figure)}'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def thumbnails(hardest: Iterable[dict[str, Any]]) -> str:
    """Return pictures of wrong answers, surest first; rows without a picture are told in words."""
    pictures, words = [], []
    for item in hardest:
        text = (
            f"<b>{escape(item['true'])}</b> taken for <b>{escape(item['predicted'])}</b>, "
            f"{100 * item['confidence']:.0f}% sure"
        )
        if item["picture"]:
            alt = f"row {item['row']}: {escape(item['true'])}"
            pictures.append(f'<div><img src="{item["picture"]}" alt="{alt}">{text}</div>')
        else:
            words.append(f"<li>row {item['row']}: {text}</li>")
    shown = f'<div class="thumbs">{"".join(pictures)}</div>' if pictures else ""
    return shown + (f"<ul>{''.join(words)}</ul>" if words else "")
