"""The head of the page: which data, which method, and the button that starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from unseen.labelling import PoolData
from unseen.methods import DEFAULT, DEFAULT_FOR_TEXTS
from unseen.serving.studio.data_sources import photographs, texts
from unseen.serving.studio.outcomes import offered
from unseen.serving.studio.roots import Roots

EMBEDDED, FOLDER = "Printed letters → handwritten digits", "A folder of photographs"
TEXTS = "A file of texts"
NOTHING = "nothing"


class SetupPanel:
    """The controls above the results.

    Parameters
    ----------
    roots : Roots
        The folders that may be read.
    folder : path, optional
        Labelled photographs, to begin with.
    start : callable
        Called when "Learn" is pressed.
    """

    def __init__(self, roots: Roots, folder: Path | None, start: Callable[[], object]) -> None:
        self.roots = roots
        with ui.element("div").classes("setup"):
            self._draw_data(folder)
            self._draw_methods(start)

    @property
    def methods(self) -> list[str]:
        """The method, and the one that it is compared with if there is one."""
        names = [self.method.value]
        if self.other.value not in (NOTHING, self.method.value):
            names.append(self.other.value)
        return names

    async def load(self, embedded: Callable[[], PoolData]) -> PoolData:
        """Return the data that was asked for; ``embedded`` makes that of the library."""
        if self.source.value == EMBEDDED:
            return await asyncio.to_thread(embedded)
        loop = asyncio.get_running_loop()

        def show_progress(done: int, total: int) -> None:
            loop.call_soon_threadsafe(self.start.set_text, f"Encoding: {done} of {total}")

        if self.source.value == TEXTS:
            if not self.texts.value:
                raise ValueError("Name the file of texts.")
            return await asyncio.to_thread(
                lambda: texts(
                    self.roots.path(self.texts.value),
                    self.roots.optional_path(self.text_classes.value),
                    self.column.value or "",
                    self.roots.optional_path(self.text_seen.value),
                    show_progress,
                )
            )
        if not self.seen.value:
            raise ValueError("Name the folder of labelled photographs.")
        return await asyncio.to_thread(
            lambda: photographs(
                self.roots.path(self.seen.value),
                self.roots.optional_path(self.unlabelled.value),
                self.roots.optional_path(self.table.value),
                held_out=self.roots.names(self.held_out.value),
                backbone=self.roots.backbone(self.backbone.value),
                on_progress=show_progress,
            )
        )

    def _draw_data(self, folder: Path | None) -> None:
        with ui.element("section").classes("card").props('aria-label="Data"'):
            ui.html("<h2>1 · Data</h2>", sanitize=False)
            first = FOLDER if folder else EMBEDDED
            self.source = ui.radio([EMBEDDED, FOLDER, TEXTS], value=first).props("dense")
            with ui.column().classes("w-full").style("gap:.4rem; width:100%") as box:
                start = "" if folder is None else str(folder)
                self.seen = _field("Labelled photographs: a folder with one sub-folder a class", start)
                self.unlabelled = _field("Photographs to label: a folder")
                self.table = _field("Classes: a CSV of attributes or descriptions, or a .txt of names")
                self.held_out = _field("Or hold out classes of the labelled ones, as a trial: fox,bat")
                self.backbone = _field("Backbone (empty: efficientnet-lite0)")
            box.bind_visibility_from(self.source, "value", value=FOLDER)
            with ui.column().classes("w-full").style("gap:.4rem; width:100%") as text_box:
                self.texts = _field("Texts to label: .csv, .tsv, .jsonl or .parquet")
                self.column = _field("Their column (empty: text)")
                self.text_classes = _field(
                    "Classes: a CSV of names, descriptions or examples, or a .txt"
                )
                self.text_seen = _field("Texts with labels, in a column label; not needed")
            text_box.bind_visibility_from(self.source, "value", value=TEXTS)
            self.source.on_value_change(self._suggest_method)
            text = "3,216 printed letters are labelled; 1,797 handwritten digits are not."
            ui.label(text).classes("soft").bind_visibility_from(self.source, "value", value=EMBEDDED)

    def _suggest_method(self) -> None:
        """Choose the method that is meant for the kind of data."""
        self.method.value = DEFAULT_FOR_TEXTS if self.source.value == TEXTS else DEFAULT

    def _draw_methods(self, start: Callable[[], object]) -> None:
        with ui.element("section").classes("card").props('aria-label="Method"'):
            ui.html("<h2>2 · Method</h2>", sanitize=False)
            names = offered()
            self.method = ui.select(names, value=names[0], label="Method")
            self.method.props("outlined dense options-dense")
            self.other = ui.select([NOTHING, *names], value=NOTHING, label="Compare with")
            self.other.props("outlined dense options-dense")
            self.start = ui.button("Learn", on_click=start).props("unelevated no-caps")


def _field(label: str, value: str = "") -> Any:
    return ui.input(label, value=value).props("outlined dense").style("width:100%")
