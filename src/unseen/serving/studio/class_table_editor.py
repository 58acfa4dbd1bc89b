"""The part of the start page about classes: shown, added to, edited and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from nicegui import ui

from unseen.exceptions import DataError
from unseen.serving.studio.class_table import (
    check_html,
    class_names,
    save_table,
    seen_classes,
    table_text,
    with_class,
)
from unseen.serving.studio.sessions import TEXTS, Source

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library


class ClassTableEditor:
    """The controls that show and edit the classes.

    Parameters
    ----------
    library : Library
    source : callable
        Returns the data that the page names.
    show_problem : callable
        Called with a text.
    texts : bool
        Whether texts are labelled: their classes have no attributes.
    """

    def __init__(
        self,
        library: Library,
        source: Callable[[], Source],
        show_problem: Callable[[str], None],
        texts: bool = False,
    ) -> None:
        self._library, self._source, self._show_problem = library, source, show_problem
        self._loaded = ""
        self._loaded_from: object = None
        with ui.element("div").classes("fields"):
            with ui.element("div").classes("line"):
                ui.button("Show and check the classes", on_click=self.check).props("outline no-caps")
            self._box = ui.element("div").classes("fields")
            self._box.visible = False
            with self._box:
                self._checked = ui.html("", sanitize=False)
                ui.html("<h3>Add a class</h3>", sanitize=False)
                with ui.element("div").classes("line add-class"):
                    self._name = ui.input("Its name").props("outlined dense")
                    self._description = ui.input("Its description").props("outlined dense")
                    self._like = None if texts else ui.select([], label="Attributes like")
                    if self._like is not None:
                        self._like.props("outlined dense")
                    ui.button("Add", on_click=self._add).props("outline no-caps")
                self.text = ui.textarea("The table; it can be edited").props("outlined dense rows=6")
                self.text.classes("table-text")

    def _place(self) -> object:
        source = self._source()
        return source.kind, source.classes, source.seen

    @property
    def edited(self) -> bool:
        """Whether the table that the page names was changed on the page."""
        same = self._loaded_from == self._place()
        return same and bool(self._loaded) and str(self.text.value) != self._loaded

    def path(self) -> str:
        """Return the table to learn with: the one that was named, or the edited one."""
        if not self.edited:
            return self._source().classes
        return str(save_table(str(self.text.value), self._library))

    async def check(self) -> None:
        """Read the table if that was not done, and say how well it separates the classes."""
        await self._guarded(self._check)

    async def _check(self) -> None:
        source = self._source()
        if self._loaded_from != self._place():
            self._loaded = await asyncio.to_thread(table_text, self._library, source)
            self._loaded_from = self._place()
            self.text.value = self._loaded
        self._box.visible = True
        names = class_names(str(self.text.value))
        if self._like is not None:
            self._like.set_options(names)
        path = save_table(str(self.text.value), self._library)
        seen = await asyncio.to_thread(seen_classes, self._library, source)
        self._checked.content = await asyncio.to_thread(check_html, path, seen, source.kind == TEXTS)

    async def _add(self) -> None:
        async def add() -> None:
            name = str(self._name.value or "").strip()
            if not name:
                raise DataError("Name the class.")
            described = str(self._description.value or "")
            like = "" if self._like is None else str(self._like.value or "")
            self.text.value = with_class(str(self.text.value), name, described, like) + "\n"
            self._name.value = self._description.value = ""
            await self._check()

        await self._guarded(add)

    async def _guarded(self, act: Callable[[], Awaitable[None]]) -> None:
        self._show_problem("")
        try:
            await act()
        except (ValueError, OSError) as error:
            self._show_problem(str(error))
