"""A dialogue that finds a folder or a file below the folders that the studio may read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nicegui import ui

from unseen.exceptions import DataError
from unseen.serving.studio.roots import Roots

MOST_ENTRIES, MOST_RECENT = 500, 5
"""Entries of a folder, and places used before, that are listed."""


def entries(folder: Path, suffixes: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Return the sub-folders of a folder and its files of these endings; hidden ones are left out."""
    folders, files = [], []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    folders.append(entry.name)
                elif entry.name.lower().endswith(suffixes):
                    files.append(entry.name)
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror}).") from None
    return sorted(folders)[:MOST_ENTRIES], sorted(files)[:MOST_ENTRIES]


class FolderBrowser:
    """The dialogue.

    Parameters
    ----------
    roots : Roots
    title : str
    choose : callable
        Called with the path that was chosen.
    suffixes : tuple of str
        How files end that may be chosen; () to choose a folder.
    start : str
        Where to begin, if that is a folder below a root.
    recent : sequence of paths
        What was chosen before.
    """

    def __init__(
        self,
        roots: Roots,
        title: str,
        choose: Callable[[str], object],
        suffixes: tuple[str, ...] = (),
        start: str = "",
        recent: Sequence[Path] = (),
    ) -> None:
        self._roots, self._choose, self._suffixes = roots, choose, suffixes
        self._recent = recent[:MOST_RECENT]
        with ui.dialog() as self._dialog, ui.element("div").classes("chooser browser"):
            self._dialog.props(f'aria-label="{title}"')
            ui.label(title).classes("title").props('role=heading aria-level="2"')
            if self._recent:
                ui.label("Used before").classes("soft")
                with ui.element("div").classes("entries"):
                    for path in self._recent:
                        self._entry(str(path), partial(self._take, path), "history")
            self._list = ui.element("div").classes("entries")
            with ui.element("div").classes("line"):
                if not suffixes:
                    ui.button("Choose this folder", on_click=self._take).props("unelevated no-caps")
                ui.button("Close", on_click=self._dialog.close).props("flat no-caps")
        self._dialog.on("hide", self._dialog.delete)
        self._open(self._start(start))
        self._dialog.open()

    def _start(self, text: str) -> Path:
        try:
            path = self._roots.path(text) if text else self._roots.folders[0]
        except DataError:
            path = self._roots.folders[0]
        while not path.is_dir() and path != path.parent:
            path = path.parent
        return path if self._allowed(path) else self._roots.folders[0]

    def _allowed(self, path: Path) -> bool:
        return self._roots.holds(path)

    def _open(self, folder: Path) -> None:
        self._folder = folder
        self._list.clear()
        with self._list:
            ui.label(str(folder)).classes("soft")
            for root in self._roots.folders:
                if root != folder and not folder.is_relative_to(root):
                    self._entry(str(root), partial(self._open, root), "home")
            if self._allowed(folder.parent) and folder.parent != folder:
                self._entry("one folder up", lambda: self._open(folder.parent), "arrow_upward")
            try:
                folders, files = entries(folder, self._suffixes)
            except DataError as error:
                ui.label(str(error)).classes("note")
                return
            for name in folders:
                self._entry(name, partial(self._enter, folder / name), "folder")
            if self._suffixes:
                for name in files:
                    self._entry(name, partial(self._take, folder / name), "description")
            elif not folders:
                ui.label("There is no folder in it.").classes("soft")

    def _entry(self, text: str, act: Callable[[], None], icon: str) -> None:
        entry = ui.button(text, on_click=act, icon=icon).props("flat no-caps align=left")
        entry.classes("entry").props["aria-label"] = f"folder {text}" if icon == "folder" else text

    def _enter(self, folder: Path) -> None:
        if self._allowed(folder):
            self._open(folder)
        else:
            ui.notify("This is a link that leads out of the folders that may be read.")

    def _take(self, path: Path | None = None) -> None:
        self._dialog.close()
        self._choose(str(path or self._folder))


def choose_place(title: str, places: Sequence[Path], choose: Callable[[str], object]) -> None:
    """Ask which of some places is meant."""
    with ui.dialog() as dialog, ui.element("div").classes("chooser browser"):
        dialog.props(f'aria-label="{title}"')
        ui.label(title).classes("title").props('role=heading aria-level="2"')

        def take(path: Path) -> None:
            dialog.close()
            choose(str(path))

        with ui.element("div").classes("entries"):
            for path in places:
                entry = ui.button(str(path), on_click=partial(take, path))
                entry.props("flat no-caps align=left").classes("entry")
        ui.button("Close", on_click=dialog.close).props("flat no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()
