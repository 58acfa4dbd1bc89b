"""The table of classes on the start page: read, added to, kept, and checked before learning."""

from __future__ import annotations

import csv
import hashlib
import io
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen import features
from unseen.datasets.image_folder import class_folders
from unseen.exceptions import DataError
from unseen.features.separation import separation
from unseen.features.words import readable
from unseen.files import atomic_file
from unseen.labelling import make_table, read_class_texts, read_classes, read_texts, text_class_table
from unseen.labelling.table_cells import read_cells
from unseen.reporting.html_page import table_box
from unseen.rows.kernels import unit_rows
from unseen.semantics import ClassTable
from unseen.serving.studio.sessions import TEXTS, Source

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

NEW_TABLE = ["class", "description"]
NAME_COLUMNS = ("class", "name", "label")
"""Columns that may name the class, the first that is there."""
WORD_COLUMNS = ("description", "example", "text", "prompt")
"""How the columns begin whose cells are words."""
SHOWN_CLASSES = 200


def table_text(library: Library, source: Source) -> str:
    """Return the table of classes that is named, as CSV; without one, the classes that have labels."""
    if source.classes:
        path = library.roots.path(source.classes)
        if path.suffix.lower() == ".txt":
            return _csv([["class"], *([name] for name in read_classes(path).names)])
        cells = read_cells(path)
        return _csv([cells.columns, *(row for _, row in cells.rows)])
    return _csv([NEW_TABLE, *([name, ""] for name in seen_classes(library, source))])


def seen_classes(library: Library, source: Source) -> list[str]:
    """Return the classes that have labels: folders of photographs, or labels of texts."""
    if not source.seen:
        return []
    path = library.roots.path(source.seen)
    if source.kind == TEXTS:
        return sorted(set(read_texts(path, source.column or "text", "label").labels) - {""})
    held_out = {name.strip() for name in source.held_out.split(",")}
    return sorted({picture.parent.name for picture in class_folders(path).pictures} - held_out)


def class_names(text: str) -> list[str]:
    """Return the classes of a table.

    >>> class_names("size,class\\n1,fox\\n")
    ['fox']
    """
    rows = _rows(text)
    place = _name_place(rows[0])
    return [row[place] for row in rows[1:]]


def with_class(text: str, name: str, description: str, like: str) -> str:
    """Return a table with one more class.

    Numbers are those of the class that it is like; a table of words needs none.

    >>> print(with_class("class,big\\nfox,1\\n", "wolf", "", "fox"))
    class,big
    fox,1
    wolf,1
    """
    rows = _rows(text)
    place = _name_place(rows[0])
    if name in {row[place] for row in rows[1:]}:
        raise DataError(f"The table has a class {name!r} already.")
    lower = [column.lower() for column in rows[0]]
    worded = [k for k, column in enumerate(lower) if column.startswith(WORD_COLUMNS)]
    if description and not worded:
        rows = [[*row, "description" if not n else ""] for n, row in enumerate(rows)]
        worded = [len(lower)]
    model = next((row for row in rows[1:] if row[place] == like), None)
    if len(lower) > 1 + len([k for k in worded if k < len(lower)]) and model is None:
        raise DataError("Say which class has such attributes; you can change them in the table below.")
    row = list(model) if model is not None else [""] * len(rows[0])
    row[place] = name
    for k in worded:
        row[k] = description if k == worded[0] else ""
    return _csv([*rows, row]).rstrip("\n")


def save_table(text: str, library: Library) -> Path:
    """Keep an edited table with the sessions; the same text has the same file."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    path = library.sessions.folder / "tables" / f"classes-{digest}.csv"
    if not path.exists():
        with atomic_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return path


def check_html(path: Path, seen: list[str], texts: bool = False) -> str:
    """Say how well a table separates the classes, and which class each one is nearest to.

    Parameters
    ----------
    path : path
    seen : list of str
        Classes that have labels.
    texts : bool
        Whether texts are labelled: then the words of a class have a vector of the same encoder.
    """
    notes: list[str] = []
    if texts:
        given, _ = read_class_texts(path)
        table = text_class_table(given, features.text_encoder())
    else:
        given = read_classes(path)
        table, _, notes = make_table(given)
    candidates = [name for name in given.names if name not in set(seen)]
    verdict = separation(table, candidates or given.names, seen).verdict
    states = dict.fromkeys(seen, "labelled")
    lines = [
        f"<tr><td>{escape(readable(name))}</td><td>{states.get(name, 'to find')}</td>"
        f"<td>{escape(readable(near))}</td></tr>"
        for name, near in zip(given.names[:SHOWN_CLASSES], _nearest(table), strict=False)
    ]
    more = len(given.names) - len(lines)
    if more > 0:
        notes = [*notes, f"{more:,} more classes are not listed here; they take part all the same."]
    boxes = "".join(f'<p class="note">{escape(note)}</p>' for note in [verdict, *notes])
    heads = f"<th>class</th><th>{'texts' if texts else 'photographs'}</th><th>most like</th>"
    return boxes + table_box(heads, lines)


def _nearest(table: ClassTable) -> list[str]:
    unit = unit_rows(table.vectors.astype(np.float64))
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -np.inf)
    names = [str(c) for c in table.classes.tolist()]
    return [names[k] for k in likeness.argmax(axis=1)] if len(names) > 1 else [""]


def _rows(text: str) -> list[list[str]]:
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if not rows:
        raise DataError("The table is empty. Its first line names the columns: class,description")
    return rows


def _name_place(header: list[str]) -> int:
    lower = [column.strip().lower() for column in header]
    for name in NAME_COLUMNS:
        if name in lower:
            return lower.index(name)
    raise DataError(f"The table has no column 'class'; columns are {', '.join(header[:8])}.")


def _csv(rows: list[list[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
