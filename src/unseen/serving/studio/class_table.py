"""The classes on the start page: shown, added to, edited, and checked before anything is learned."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from nicegui import ui

from unseen.datasets.image_folder import class_folders
from unseen.exceptions import DataError
from unseen.features.separation import separation
from unseen.files import atomic_file
from unseen.labelling import make_table, read_classes
from unseen.labelling.table_cells import read_cells
from unseen.reporting.html_page import table_box
from unseen.semantics import ClassTable
from unseen.serving.studio.sessions import Source

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

NEW_TABLE = ["class", "description"]
SHOWN_CLASSES = 200


def table_text(library: Library, source: Source) -> str:
    """Return the table of classes that is named, as CSV; without one, the names of the folders."""
    if source.classes:
        path = library.roots.path(source.classes)
        if path.suffix.lower() == ".txt":
            return _csv([["class"], *([name] for name in read_classes(path).names)])
        cells = read_cells(path)
        return _csv([cells.columns, *(row for _, row in cells.rows)])
    names: list[str] = []
    if source.seen and library.roots.path(source.seen).is_dir():
        pictures = class_folders(library.roots.path(source.seen)).pictures
        names = sorted({path.parent.name for path in pictures})
    return _csv([NEW_TABLE, *([name, ""] for name in names)])


def with_class(text: str, name: str, description: str, like: str) -> str:
    """Return a table with one more class.

    Numbers are those of the class that it is like; a table of words needs none.

    >>> print(with_class("class,big\\nfox,1\\n", "wolf", "", "fox"))
    class,big
    fox,1
    wolf,1
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    header = rows[0]
    lower = [column.lower() for column in header]
    if "class" not in lower:
        raise DataError(f"The table has no column 'class'; columns are {', '.join(header[:8])}.")
    if name in {row[lower.index("class")] for row in rows[1:]}:
        raise DataError(f"The table has a class {name!r} already.")
    if description and "description" not in lower:
        rows = [[*row, "description" if not n else ""] for n, row in enumerate(rows)]
        header, lower = rows[0], [*lower, "description"]
    model = next((row for row in rows[1:] if row[lower.index("class")] == like), None)
    numeric = [c for c in lower if c not in ("class", "description")]
    if numeric and model is None:
        raise DataError("Say which class has such attributes; you can change them in the table below.")
    row = list(model) if model is not None else [""] * len(header)
    row[lower.index("class")] = name
    if "description" in lower:
        row[lower.index("description")] = description
    return _csv([*rows, row]).rstrip("\n")


def save_table(text: str, library: Library) -> Path:
    """Keep an edited table with the sessions; the same text has the same file."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    path = library.sessions.folder / "tables" / f"classes-{digest}.csv"
    if not path.exists():
        with atomic_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return path


def check_html(path: Path, seen: list[str]) -> str:
    """Say how well a table separates the classes, and which class each one is nearest to."""
    given = read_classes(path)
    table, _, notes = make_table(given)
    candidates = [name for name in given.names if name not in set(seen)]
    verdict = separation(table, candidates or given.names, seen).verdict
    lines = [
        f"<tr><td>{escape(name)}</td><td>{'labelled' if name in set(seen) else 'to find'}</td>"
        f"<td>{escape(near)}</td></tr>"
        for name, near in zip(given.names[:SHOWN_CLASSES], _nearest(table), strict=False)
    ]
    boxes = "".join(f'<p class="note">{escape(note)}</p>' for note in [verdict, *notes])
    return boxes + table_box("<th>class</th><th></th><th>most like</th>", lines)


def _nearest(table: ClassTable) -> list[str]:
    vectors = table.vectors.astype(np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(length > 0, length, 1.0)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -np.inf)
    names = [str(c) for c in table.classes.tolist()]
    return [names[k] for k in likeness.argmax(axis=1)] if len(names) > 1 else [""]


def _csv(rows: list[list[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


class ClassTableEditor:
    """The part of the start page about classes.

    Parameters
    ----------
    library : Library
    source : callable
        Returns the data that the page names.
    show_problem : callable
        Called with a text.
    """

    def __init__(
        self, library: Library, source: Callable[[], Source], show_problem: Callable[[str], None]
    ) -> None:
        self._library, self._source, self._show_problem = library, source, show_problem
        self._loaded = ""
        with ui.element("div").classes("fields"):
            with ui.element("div").classes("line"):
                ui.button("Show and check the classes", on_click=self.check).props("outline no-caps")
            self._box = ui.element("div").classes("fields")
            self._box.visible = False
            with self._box:
                self._checked = ui.html("", sanitize=False)
                with ui.element("div").classes("line"):
                    self._name = ui.input("Add a class: its name").props("outlined dense")
                    self._description = ui.input("Its description").props("outlined dense")
                    self._like = ui.select([], label="Attributes like").props("outlined dense")
                    ui.button("Add", on_click=self._add).props("outline no-caps")
                self.text = ui.textarea("The table; it can be edited").props("outlined dense rows=6")
                self.text.classes("table-text")

    @property
    def edited(self) -> bool:
        """Whether the table was changed on the page."""
        return bool(self._loaded) and str(self.text.value) != self._loaded

    def path(self) -> str:
        """Return the table to learn with: the one that was named, or the edited one."""
        return (
            str(save_table(str(self.text.value), self._library))
            if self.edited
            else self._source().classes
        )

    async def check(self) -> None:
        """Read the table if that was not done, and say how well it separates the classes."""
        await self._guarded(self._check)

    async def _check(self) -> None:
        if not self._loaded:
            self._loaded = await asyncio.to_thread(table_text, self._library, self._source())
            self.text.value = self._loaded
        self._box.visible = True
        names = [row[0] for row in csv.reader(io.StringIO(str(self.text.value))) if row][1:]
        self._like.set_options(names)
        path = save_table(str(self.text.value), self._library)
        seen = await asyncio.to_thread(self._seen)
        self._checked.content = await asyncio.to_thread(check_html, path, seen)

    def _seen(self) -> list[str]:
        folder = self._source().seen
        if not folder:
            return []
        pictures = class_folders(self._library.roots.path(folder)).pictures
        held_out = {name.strip() for name in self._source().held_out.split(",")}
        return sorted({path.parent.name for path in pictures} - held_out)

    async def _add(self) -> None:
        async def add() -> None:
            name = str(self._name.value or "").strip()
            if not name:
                raise DataError("Name the class.")
            described, like = str(self._description.value or ""), str(self._like.value or "")
            self.text.value = with_class(str(self.text.value), name, described, like) + "\n"
            self._name.value = self._description.value = ""
            await self._check()

        await self._guarded(add)

    async def _guarded(self, act: Callable[[], object]) -> None:
        self._show_problem("")
        try:
            await act()  # type: ignore[misc]
        except (ValueError, OSError) as error:
            self._show_problem(str(error))
