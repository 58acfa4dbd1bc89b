"""A field for a folder or a file: typed, looked for, or dropped on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.events import GenericEventArguments

from unseen.exceptions import DataError
from unseen.serving.studio.dropped_items import Dropped, places_of
from unseen.serving.studio.folder_browser import FolderBrowser, choose_place

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

REPORT_DROP = """(event) => {
  event.preventDefault();
  event.stopPropagation();
  event.currentTarget.classList.remove('dropping');
  window.describeDrop(event).then((dropped) => dropped && emit(dropped));
}"""
MARK_DROP = "(event) => { event.preventDefault(); event.currentTarget.classList.add('dropping'); }"
UNMARK_DROP = "(event) => event.currentTarget.classList.remove('dropping')"


class PathField:
    """The field.

    Parameters
    ----------
    library : Library
    label : str
    show_problem : callable
        Called with a text.
    suffixes : tuple of str
        How files end that may be chosen; () for a folder.
    value : str
    """

    def __init__(
        self,
        library: Library,
        label: str,
        show_problem: Callable[[str], None],
        suffixes: tuple[str, ...] = (),
        value: str = "",
    ) -> None:
        self._library, self._label, self._suffixes = library, label, suffixes
        self._show_problem = show_problem
        self._input = ui.input(label, value=value).props("outlined dense").classes("path")
        with self._input.add_slot("append"):
            button = ui.button("Browse", on_click=self._browse).props("flat dense no-caps")
            button.props(f'aria-label="Browse: {label}"')
        self._input.on("drop", self._dropped, js_handler=REPORT_DROP)
        self._input.on("dragover", js_handler=MARK_DROP)
        self._input.on("dragleave", js_handler=UNMARK_DROP)

    @property
    def text(self) -> str:
        """What stands in the field."""
        return str(self._input.value or "").strip()

    def _recent(self) -> list[Path]:
        """Return the folders or files that earlier sessions used, the last first."""
        sources = [session.source for session in self._library.sessions.recent()]
        paths = [Path(place) for s in sources for place in (s.seen, s.pool, s.classes) if place]
        roots, wanted = self._library.roots, self._suffixes
        return [
            path
            for path in dict.fromkeys(paths)
            if roots.holds(path)
            and (path.name.lower().endswith(wanted) and path.is_file() if wanted else path.is_dir())
        ]

    def _browse(self) -> None:
        FolderBrowser(
            self._library.roots, self._label, self._input.set_value, self._suffixes, self.text,
            self._recent(),
        )  # fmt: skip

    async def _dropped(self, event: GenericEventArguments) -> None:
        self._show_problem("")
        try:
            dropped = Dropped.told(event.args)
            if dropped.is_folder == bool(self._suffixes):
                kind = "a file" if self._suffixes else "a folder"
                raise DataError(f"{dropped.name}: {kind} belongs here. {self._label}.")
            nearby = [path.parent for path in self._recent()]
            places = await asyncio.to_thread(places_of, dropped, self._library.roots, nearby)
        except DataError as error:
            self._show_problem(str(error))
            return
        if len(places) == 1:
            self._input.set_value(str(places[0]))
        else:
            title = f"There are {len(places)} of the name {dropped.name}. Which one is it?"
            choose_place(title, places, self._input.set_value)
