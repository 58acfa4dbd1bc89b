"""The first page: sessions to go on with, and what a new one is about."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from unseen import methods
from unseen.serving.studio.class_table_editor import ClassTableEditor
from unseen.serving.studio.method_choice import NEEDS_NO_LABEL, MethodChoice
from unseen.serving.studio.page_frame import page_frame
from unseen.serving.studio.path_field import PathField
from unseen.serving.studio.sessions import EXAMPLE, PHOTOGRAPHS, TEXTS, Session, Source

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

SHOWN_SESSIONS = 8
KINDS = {
    EXAMPLE: "The example: printed letters → handwritten digits",
    PHOTOGRAPHS: "A folder of photographs",
    TEXTS: "A file of texts",
}
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet")
TEXT_FILES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".gz")
DROP_HINT = "Drop a folder or a file on its field, or press Browse. Nothing is copied or uploaded."
STRANGERS = "Some may belong to none of these classes: look for them"
LESSON = (
    "Start with the example: nothing is needed for it. It learns from 3,216 printed letters with "
    "labels and names 1,797 handwritten digits, which nobody labelled. Then correct some, and let it "
    "learn again."
)


class StartPage:
    """The page.

    Parameters
    ----------
    library : Library
        What all pages share.
    folder : path, optional
        Labelled photographs, to begin with.
    """

    def __init__(self, library: Library, folder: Path | None) -> None:
        self.library, self.folder = library, folder

    def draw(self) -> None:
        """Lay out the page."""
        with page_frame("Label pictures or texts of classes that nobody has labelled."):
            self.problem = ui.label("").classes("note").props("role=alert")
            self.problem.visible = False
            self._draw_recent()
            with ui.element("div").classes("setup"):
                self._draw_data()
                with ui.element("section").classes("card").props('aria-label="Method"'):
                    ui.html("<h2>2 · Method</h2>", sanitize=False)
                    self.method_box = ui.element("div").classes("fields")
                    self._draw_methods()
                    self.name = _field("Name of the session (not needed)")
                    ui.button("Learn", on_click=self._start).props("unelevated no-caps")

    # ------------------------------------------------------------------ sessions

    def _draw_recent(self) -> None:
        sessions = self.library.sessions.recent()
        with ui.element("section").classes("card").props('aria-label="Sessions"'):
            ui.html(
                "<h2>Go on</h2>" if sessions else "<h2>For the first time here?</h2>", sanitize=False
            )
            if not sessions:
                ui.label(LESSON)
            for session in sessions[:SHOWN_SESSIONS]:
                self._draw_session(session)

    def _draw_session(self, session: Session) -> None:
        with ui.element("div").classes("line session") as line:
            ui.link(session.name, f"/session/{session.identity}")
            given = len(session.labels)
            when = time.strftime("%d %b, %H:%M", time.localtime(session.changed))
            text = f"{given:,} label{'s' * (given != 1)} of yours · changed {when}"
            ui.label(text).classes("soft")

            def remove() -> None:
                self.library.sessions.remove(session)
                line.delete()

            button = ui.button("Remove", on_click=remove).props("flat dense no-caps")
            button.props["aria-label"] = f"Remove the session {session.name}"

    # ------------------------------------------------------------------ a new session

    def _draw_data(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Data"'):
            ui.html("<h2>1 · Data</h2>", sanitize=False)
            first = PHOTOGRAPHS if self.folder else EXAMPLE
            self.kind = ui.radio(KINDS, value=first).props("dense")
            with ui.element("div").classes("fields") as photographs:
                self._draw_photographs()
            photographs.bind_visibility_from(self.kind, "value", value=PHOTOGRAPHS)
            with ui.element("div").classes("fields") as texts:
                self._draw_texts()
            texts.bind_visibility_from(self.kind, "value", value=TEXTS)
            self.strangers = ui.checkbox(STRANGERS).props("dense")
            self.strangers.bind_visibility_from(self.kind, "value", lambda kind: kind != EXAMPLE)
            self.kind.on_value_change(self._draw_methods)

    def _draw_photographs(self) -> None:
        ui.label(DROP_HINT).classes("soft")
        start = "" if self.folder is None else str(self.folder)
        self.seen = self._path("Labelled photographs: one sub-folder a class", (), start)
        self.pool = self._path("Photographs to label: a folder")
        self.classes = self._path("Classes: a table of attributes or descriptions", TABLES)
        with ui.expansion("More options").props("dense"), ui.element("div").classes("fields"):
            self.held_out = _field("A trial: hold out classes of the labelled ones, as fox,otter")
            self.backbone = _field("Backbone (empty: efficientnet-lite0)")
        self.editor = ClassTableEditor(self.library, self._source, self._show_problem)

    def _draw_texts(self) -> None:
        ui.label(DROP_HINT).classes("soft")
        self.texts = self._path("Texts to label: .csv, .tsv, .jsonl or .parquet", TEXT_FILES)
        self.text_classes = self._path("Classes: names, descriptions or examples", TABLES)
        with ui.expansion("More options").props("dense"), ui.element("div").classes("fields"):
            self.column = _field("Column of the texts (empty: text)")
            self.text_seen = self._path("Texts with labels; not needed", TEXT_FILES)
        self.text_editor = ClassTableEditor(self.library, self._source, self._show_problem, texts=True)

    def _path(self, label: str, suffixes: tuple[str, ...] = (), value: str = "") -> PathField:
        return PathField(self.library, label, self._show_problem, suffixes, value)

    def _draw_methods(self) -> None:
        self.method_box.clear()
        with self.method_box:
            self.methods = MethodChoice(self.kind.value == TEXTS)

    def _source(self) -> Source:
        if self.kind.value == TEXTS:
            return Source(
                TEXTS, self.text_seen.text, self.texts.text, self.text_classes.text,
                column=_text(self.column), strangers=bool(self.strangers.value),
            )  # fmt: skip
        if self.kind.value == EXAMPLE:
            return Source()
        return Source(
            PHOTOGRAPHS, self.seen.text, self.pool.text, self.classes.text, _text(self.held_out),
            _text(self.backbone), strangers=bool(self.strangers.value),
        )  # fmt: skip

    def _start(self) -> None:
        self._show_problem("")
        try:
            source = self._source()
            if source.kind != EXAMPLE:
                source.classes = (self.text_editor if source.kind == TEXTS else self.editor).path()
            _check(source, self.library)
            _check_unlabelled(source, self.methods.names)
            session = self.library.sessions.new(source, self.methods.names, _text(self.name))
        except (ValueError, OSError) as error:
            self._show_problem(str(error))
        else:
            ui.navigate.to(f"/session/{session.identity}")

    def _show_problem(self, text: str) -> None:
        self.problem.text, self.problem.visible = text, bool(text)


def _check(source: Source, library: Library) -> None:
    """Refuse what cannot be read, before a session is made of it."""
    if source.kind == PHOTOGRAPHS and not source.seen:
        raise ValueError("Name the folder of labelled photographs.")
    if source.kind == PHOTOGRAPHS and not source.pool and not source.held_out:
        raise ValueError("Name the folder of photographs to label, or classes to hold out for a trial.")
    if source.kind == TEXTS and not source.pool:
        raise ValueError("Name the file of texts.")
    for place in (source.seen, source.pool):
        path = library.roots.optional_path(place)
        if path is not None and not path.exists():
            raise ValueError(f"{path}: no such folder or file.")
    if source.classes and not Path(source.classes).is_relative_to(library.sessions.folder):
        library.roots.path(source.classes)
    library.roots.names(source.held_out)
    library.roots.backbone(source.backbone)


def _check_unlabelled(source: Source, names: list[str]) -> None:
    """Refuse what needs labelled texts where there are none, before anything is read."""
    if source.kind != TEXTS or source.seen:
        return
    where = "and none are named: name their file under More options"
    for name in names:
        if methods.find(name).estimator.needs_labelled_rows:
            raise ValueError(
                f"{name} learns from texts with labels, {where}, or choose a method of the kind "
                f"“{NEEDS_NO_LABEL}”."
            )
    if source.strangers:
        raise ValueError(
            f"Looking for texts of no class is rehearsed on texts with labels, {where}, or do without."
        )


def _field(label: str, value: str = "") -> ui.input:
    return ui.input(label, value=value).props("outlined dense").style("width:100%")


def _text(field: ui.input) -> str:
    return str(field.value or "").strip()
