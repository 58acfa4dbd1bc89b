"""The page of ``unseen studio``: NiceGUI's controls around what :mod:`drawn` draws."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable
from functools import lru_cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Response
from nicegui import app as nicegui_app
from nicegui import ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from unseen.features.words import readable
from unseen.serving.studio import drawn
from unseen.serving.studio.learning import (
    Comparison,
    Outcome,
    Snapshot,
    compare,
    learn,
    offered,
    write_labels,
    write_model,
    write_page,
)
from unseen.serving.studio.material import Material, embedded, photographs

HOSTS = ["127.0.0.1", "localhost", "[::1]"]
EMBEDDED, FOLDER = "Printed letters → handwritten digits", "A folder of photographs"
NOTHING = "nothing"
DIFFERENCES = 24
CHOICES = 12
"""Classes that are offered as buttons; the others are in a list below."""
SIDE = 192
PATIENCE = 30.0
"""Seconds for which a page is kept whose browser is silent: a fit may take all of a machine's time."""

_LISTEN = """(event) => {
  const hit = event.target.closest('[data-row],[data-more],[data-round],[data-pick]');
  if (hit) emit({...hit.dataset});
}"""
"""One listener for all that is drawn as HTML: it says which button was pressed."""


def build(folder: Path | None = None, pace: float = 0.6) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    folder : path, optional
        Labelled photographs, to begin with.
    pace : float
        Seconds for which a round is shown at least.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)
    scratch = tempfile.TemporaryDirectory(prefix="unseen-studio-", ignore_cleanup_errors=True)
    shelf = Shelf(Path(scratch.name))
    nicegui_app.on_shutdown(scratch.cleanup)
    app.get("/picture/{key}/{row}")(shelf.picture)

    @ui.page("/")
    def page() -> None:
        Desk(shelf, folder, pace).draw()

    ui.run_with(
        app, title="unseen studio", favicon="🔎", dark=None, tailwind=False,
        show_welcome_message=False, reconnect_timeout=PATIENCE,
    )  # fmt: skip
    return app


class Shelf:
    """What all pages of this process share: the embedded data and the pictures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.materials: dict[str, Material] = {}
        self.fitting = asyncio.Lock()
        self._embedded: Material | None = None

    def embedded(self) -> Material:
        """Return the embedded data, made once."""
        if self._embedded is None:
            self._embedded = embedded(self.folder)
        return self._embedded

    def picture(self, key: str, row: int) -> Response:
        """Answer with a thumbnail; rows are numbers, so that no path can be asked for."""
        material = self.materials.get(key)
        if material is None or not 0 <= row < len(material.paths):
            raise HTTPException(404, "There is no such picture.")
        kind, data = _thumbnail(material.paths[row])
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=3600"})


@lru_cache(maxsize=4096)
def _thumbnail(path: Path) -> tuple[str, bytes]:
    from unseen.features.pictures import open_picture

    data = path.read_bytes()
    if len(data) < 4096 and path.suffix.lower() == ".png":
        return "image/png", data
    small = open_picture(data, SIDE)
    small.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=82)
    return "image/jpeg", buffer.getvalue()


class Board:
    """One method: its rounds and its classes."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.desk, self.name, self.given = desk, name, len(desk.corrections)
        self.outcome: Outcome | None = None
        self.history: list[Snapshot] = []
        self.shown: Snapshot | None = None
        self.opened: frozenset[str] = frozenset()
        self.going = True
        with ui.element("section").classes("card").props(f'aria-label="{name}"'):
            ui.html(f"<h2>{escape(name)}</h2>", sanitize=False)
            self.status = ui.label("Learning …").classes("status").props("role=status aria-live=polite")
            self.rounds = ui.html("", sanitize=False).on("click", self._pressed, js_handler=_LISTEN)
            self.legend = ui.html(_LEGEND, sanitize=False).classes("soft legend")
            self.legend.visible = False
            self.notes = ui.column()
            self.classes = ui.html("", sanitize=False).on("click", self._pressed, js_handler=_LISTEN)

    def show(self, snapshot: Snapshot, final: bool = False) -> None:
        """Draw a round, or the result."""
        self.shown = None if final else snapshot
        result = None if self.outcome is None else self.outcome.result
        material, classes = self.desk.material, self.desk.material.candidates
        place = None if final else self.history.index(snapshot)
        total = len(material.pool)
        self.status.text = drawn.status_text(snapshot, classes, total, final, self.going)
        right = self.outcome.accuracy(material) if final and self.outcome is not None else None
        if right is not None:
            self.status.text += f" · in hindsight {right:.1%} right, per class"
        self.rounds.content = drawn.rounds_html(self.history, result, total, place, self.given)
        self.legend.visible = bool(self.history)
        self.classes.content = drawn.classes_html(
            material, snapshot, classes, self.desk.corrections, self.opened, final
        )

    def finish(self, outcome: Outcome) -> None:
        """Keep the outcome and draw it."""
        self.outcome, self.going = outcome, False
        with self.notes:
            for note in outcome.notes:
                ui.label(note).classes("note")
        self.show_result()

    def show_result(self) -> None:
        """Draw the result, with the labels that were given since."""
        if self.outcome is not None:
            self.show(self.outcome.with_labels(self.desk.corrections).result, final=True)

    def redraw(self) -> None:
        """Draw what is shown once more."""
        if self.shown is not None:
            self.show(self.shown)
        else:
            self.show_result()

    def _pressed(self, event: Any) -> None:
        pressed = event.args
        if "row" in pressed:
            self.desk.choose(int(pressed["row"]), self)
        elif "more" in pressed:
            self.opened = self.opened ^ {pressed["more"]}
            self.redraw()
        elif "round" in pressed and self.outcome is not None:
            place = int(pressed["round"])
            if place < 0:
                self.show_result()
            else:
                self.show(self.history[place])


_LEGEND = (
    '<i class="share"></i>share trusted <i></i>mean confidence <i class="joined"></i>joined this round '
    '<i class="unsure"></i>unsure'
)


class Desk:
    """One open page: what it was asked, what it shows, what was corrected."""

    def __init__(self, shelf: Shelf, folder: Path | None, pace: float) -> None:
        self.shelf, self.folder, self.pace = shelf, folder, pace
        self.corrections: dict[int, str] = {}
        self.boards: list[Board] = []
        self._material: Material | None = None

    @property
    def material(self) -> Material:
        """The data that was loaded last."""
        assert self._material is not None
        return self._material

    # ------------------------------------------------------------------ drawing

    def draw(self) -> None:
        """Lay out the page."""
        style = (resources.files(__package__) / "studio.css").read_text(encoding="utf-8")
        ui.add_css(style)
        ui.colors(primary="#2f63ad")
        with ui.element("main").classes("desk"):
            ui.html(
                '<div class="lead"><h1>unseen studio</h1><span class="soft">Label pictures of classes '
                "that nobody has labelled. Nothing leaves this machine.</span></div>",
                sanitize=False,
            )
            with ui.element("div").classes("setup"):
                self._draw_data()
                self._draw_methods()
            self.problem = ui.label("").classes("note").props("role=alert")
            self.problem.visible = False
            self.board_box = ui.element("div").classes("boards")
            self.compare_box = ui.element("section").classes("card").props('aria-label="Comparison"')
            self.corrected_box = ui.element("section").classes("card")
            self.corrected_box.props('aria-label="Your labels"')
            self.download_box = ui.element("section").classes("card").props('aria-label="Downloads"')
        for box in (self.compare_box, self.corrected_box, self.download_box):
            box.visible = False

    def _draw_data(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Data"'):
            ui.html("<h2>1 · Data</h2>", sanitize=False)
            first = FOLDER if self.folder else EMBEDDED
            self.source = ui.radio([EMBEDDED, FOLDER], value=first).props("dense")
            with ui.column().classes("w-full").style("gap:.4rem; width:100%") as box:
                start = "" if self.folder is None else str(self.folder)
                self.seen = _field("Labelled photographs: a folder with one sub-folder a class", start)
                self.unlabelled = _field("Photographs to label: a folder")
                self.table = _field("Classes: a CSV of attributes or descriptions, or a .txt of names")
                self.held_out = _field("Or hold out classes of the labelled ones, as a trial: fox,bat")
                self.backbone = _field("Backbone (empty: efficientnet-lite0)")
            box.bind_visibility_from(self.source, "value", value=FOLDER)
            text = "3,216 printed letters are labelled; 1,797 handwritten digits are not."
            ui.label(text).classes("soft").bind_visibility_from(self.source, "value", value=EMBEDDED)

    def _draw_methods(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Method"'):
            ui.html("<h2>2 · Method</h2>", sanitize=False)
            names = offered()
            self.method = ui.select(names, value=names[0], label="Method")
            self.method.props("outlined dense options-dense")
            others = [NOTHING, *names]
            self.other = ui.select(others, value=NOTHING, label="Compare with")
            self.other.props("outlined dense options-dense")
            self.start = ui.button("Learn", on_click=self._start).props("unelevated no-caps")

    # ------------------------------------------------------------------ learning

    async def _start(self) -> None:
        self.corrections = {}
        await self._guarded(self._load_and_learn)

    async def _continue(self) -> None:
        await self._guarded(self._learn)

    async def _guarded(self, work: Callable[[], Any]) -> None:
        """Run something long: no second one beside it, and what is wrong is told on the page."""
        self.problem.visible = False
        self.start.disable()
        try:
            async with self.shelf.fitting:
                await work()
        except (ValueError, OSError) as error:  # DataError is a ValueError
            self.problem.text = str(error)
            self.problem.visible = True
        finally:
            self.start.enable()
            self.start.text = "Learn"

    async def _load_and_learn(self) -> None:
        self.start.text = "Reading …"
        if self.source.value == EMBEDDED:
            found = await asyncio.to_thread(self.shelf.embedded)
        else:
            found = await self._photographs()
        self._material = found
        self.shelf.materials[found.key] = found
        await self._learn()

    async def _photographs(self) -> Material:
        loop = asyncio.get_running_loop()

        def tell(done: int, total: int) -> None:
            loop.call_soon_threadsafe(self.start.set_text, f"Looking at pictures: {done} of {total}")

        if not self.seen.value:
            raise ValueError("Name the folder of labelled photographs.")
        return await asyncio.to_thread(
            photographs,
            Path(self.seen.value).expanduser(),
            _path(self.unlabelled.value),
            _path(self.table.value),
            held_out=self.held_out.value or "",
            backbone=self.backbone.value or "",
            on_progress=tell,
        )

    async def _learn(self) -> None:
        names = [self.method.value]
        if self.other.value not in (NOTHING, self.method.value):
            names.append(self.other.value)
        before = {board.name: board.outcome for board in self.boards}
        for box in (self.compare_box, self.download_box):
            box.visible = False
        self.board_box.clear()
        self.board_box.classes(remove="two", add="two" if len(names) > 1 else "")
        with self.board_box:
            self.boards = [Board(self, name) for name in names]
        self._draw_corrections()
        for board in self.boards:
            self.start.text = f"{board.name} …"
            board.finish(await self._watch(board, before.get(board.name)))
        self._draw_comparison()
        self._draw_downloads()
        self._draw_corrections()

    async def _watch(self, board: Board, before: Outcome | None) -> Outcome:
        """Learn in a thread; show each round as it comes, long enough to be seen."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Snapshot | None]()

        def hand_over(snapshot: Snapshot, _: list[str]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, snapshot)

        def work() -> Outcome:
            try:
                return learn(self.material, board.name, self.corrections, before, hand_over)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        task = asyncio.ensure_future(asyncio.to_thread(work))
        while (snapshot := await queue.get()) is not None:
            board.history.append(snapshot)
            board.show(snapshot)
            await asyncio.sleep(self.pace)
        return await task

    # ------------------------------------------------------------------ correcting

    def choose(self, row: int, board: Board | None) -> None:
        """Ask for the class of a picture."""
        outcome = board.outcome if board is not None else None
        outcome = outcome or next((b.outcome for b in self.boards if b.outcome is not None), None)
        if outcome is None:
            return
        chances = outcome.result.probabilities[row]
        order = sorted(range(len(chances)), key=lambda k: -chances[k])
        now = self.corrections.get(row, outcome.classes[order[0]])
        with ui.dialog() as dialog, ui.element("div").classes("chooser"):
            ui.html("<h2>Which class is it?</h2>", sanitize=False)
            name = escape(self.material.paths[row].name)
            address = drawn.picture_address(self.material, row)
            ui.html(f'<img class="big" src="{address}" alt="{name}">', sanitize=False).style(
                "display:flex; justify-content:center"
            )
            told = "Your label" if row in self.corrections else f"{outcome.method} says"
            ui.label(f"{told}: {readable(now)} · {name}").classes("soft")
            # tabindex: Quasar returns a Tab that leaves the dialogue to its first element that has one.
            buttons = "".join(
                f'<button type="button" class="choice" tabindex="0" data-pick="{k}" '
                f'aria-pressed="{str(outcome.classes[k] == now).lower()}">'
                f"{escape(readable(outcome.classes[k]))}<small>{chances[k]:.0%}</small></button>"
                for k in order[:CHOICES]
            )
            ui.html(f'<div class="choices">{buttons}</div>', sanitize=False).on(
                "click",
                lambda e: self._give(row, outcome.classes[int(e.args["pick"])], dialog),
                js_handler=_LISTEN,
            )
            if len(order) > CHOICES:
                rest = [outcome.classes[k] for k in order[CHOICES:]]
                another = ui.select(rest, label="Another class", with_input=True).props(
                    "outlined dense"
                )
                another.on_value_change(lambda e: self._give(row, e.value, dialog))
            with ui.element("div").classes("line"):
                if row in self.corrections:
                    ui.button("Take it back", on_click=lambda: self._give(row, None, dialog)).props(
                        "flat no-caps"
                    )
                ui.button("Close", on_click=dialog.close).props("flat no-caps")
        dialog.on("hide", dialog.delete)
        dialog.open()

    def _give(self, row: int, label: str | None, dialog: Any) -> None:
        dialog.close()
        if label is None:
            self.corrections.pop(row, None)
        else:
            self.corrections[row] = label
        for board in self.boards:
            board.redraw()
        self._draw_corrections()
        self._draw_downloads()

    def _draw_corrections(self) -> None:
        self.corrected_box.clear()
        self.corrected_box.visible = bool(self.corrections)
        if not self.corrections:
            return
        count = len(self.corrections)
        with self.corrected_box:
            ui.html("<h2>Your labels</h2>", sanitize=False)
            chips = "".join(
                f'<button type="button" class="chip" data-row="{row}" '
                f'aria-label="picture {row}: {escape(readable(label))}, change">'
                f'<img src="{drawn.picture_address(self.material, row)}" alt="">'
                f"{escape(readable(label))}</button>"
                for row, label in self.corrections.items()
            )
            ui.html(f'<div class="tiles">{chips}</div>', sanitize=False).on(
                "click", lambda e: self.choose(int(e.args["row"]), None), js_handler=_LISTEN
            )
            with ui.element("div").classes("line"):
                text = f"Continue with {count} label{'s' * (count != 1)} of yours"
                ui.button(text, on_click=self._continue).props("unelevated no-caps")
                told = "It learns again; these pictures keep your label, and count as sure."
                ui.label(told).classes("soft")

    # ------------------------------------------------------------------ results

    def _outcomes(self) -> list[Outcome]:
        return [board.outcome for board in self.boards if board.outcome is not None]

    def _draw_comparison(self) -> None:
        self.compare_box.clear()
        outcomes = self._outcomes()
        self.compare_box.visible = len(outcomes) > 1
        if len(outcomes) < 2:
            return
        found: Comparison = compare(*outcomes)
        with self.compare_box:
            names = f"{outcomes[0].method} and {outcomes[1].method}"
            ui.html(f"<h2>{escape(names)}, side by side</h2>", sanitize=False)
            ui.html(drawn.comparison_html(self.material, outcomes), sanitize=False)
            told = f"They agree on {found.agreement:.1%} of the pictures"
            if found.rows:
                told += f", and differ on {len(found.rows):,}. Where both are sure:"
            ui.label(told)
            shown = drawn.differences_html(self.material, outcomes, found.rows[:DIFFERENCES])
            ui.html(shown, sanitize=False).on(
                "click", lambda e: self.choose(int(e.args["row"]), self.boards[0]), js_handler=_LISTEN
            )

    def _draw_downloads(self) -> None:
        self.download_box.clear()
        outcomes = self._outcomes()
        self.download_box.visible = bool(outcomes)
        with self.download_box:
            ui.html("<h2>3 · Download</h2>", sanitize=False)
            for outcome in outcomes:
                with ui.element("div").classes("line"):
                    if len(outcomes) > 1:
                        ui.label(outcome.method).style("min-width:11rem")
                    for text, write in (
                        ("Labels (CSV)", write_labels),
                        ("Model file", write_model),
                        ("Report (HTML)", write_page),
                    ):
                        button = ui.button(text, on_click=self._download(outcome, write))
                        button.props(f'outline no-caps aria-label="{text}, {outcome.method}"')

    def _download(self, outcome: Outcome, write: Callable[..., Path]) -> Callable[[], Any]:
        async def work() -> None:
            given = outcome.with_labels(self.corrections)
            with tempfile.TemporaryDirectory(dir=self.shelf.folder) as folder:
                path = await asyncio.to_thread(write, given, self.material, Path(folder))
                ui.download.content(path.read_bytes(), path.name)

        return work


def _field(label: str, value: str = "") -> Any:
    return ui.input(label, value=value).props("outlined dense").style("width:100%")


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
