"""One open page of the studio: what it was asked, what it shows, what was corrected."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from unseen.labelling import PoolData
from unseen.serving.studio import pool_html
from unseen.serving.studio.class_chooser import ask_for_class, draw_corrections
from unseen.serving.studio.downloads import DOWNLOADS
from unseen.serving.studio.method_board import REPORT_PRESSED_BUTTON, MethodBoard
from unseen.serving.studio.outcomes import Outcome, Snapshot, compare, learn
from unseen.serving.studio.setup_panel import SetupPanel

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

SHOWN_DIFFERENCES = 24
"""Pictures about which two methods differ that are shown."""


class Desk:
    """One open page.

    Parameters
    ----------
    library : Library
        What it shares with other pages.
    folder : path, optional
        Labelled photographs, to begin with.
    pace : float
        Seconds for which a round is shown at least.
    """

    def __init__(self, library: Library, folder: Path | None, pace: float) -> None:
        self.library, self.folder, self.pace = library, folder, pace
        self.corrections: dict[int, str] = {}
        self.boards: list[MethodBoard] = []
        self._data: PoolData | None = None
        self.key = ""

    @property
    def data(self) -> PoolData:
        """The data that was loaded last."""
        assert self._data is not None
        return self._data

    def draw(self) -> None:
        """Lay out the page."""
        style = (resources.files(__package__) / "studio.css").read_text(encoding="utf-8")
        ui.add_css(style)
        ui.colors(primary="#2f63ad")
        with ui.element("main").classes("desk"):
            ui.html(
                '<div class="lead"><h1>unseen studio</h1><span class="soft">Label pictures or texts '
                "of classes that nobody has labelled. Nothing leaves this machine.</span></div>",
                sanitize=False,
            )
            self.setup = SetupPanel(self.library.roots, self.folder, self._start)
            self.problem = ui.label("").classes("note").props("role=alert")
            self.problem.visible = False
            self.board_box = ui.element("div").classes("boards")
            self.compare_box = ui.element("section").classes("card").props('aria-label="Comparison"')
            self.corrected_box = ui.element("section").classes("card")
            self.corrected_box.props('aria-label="Your labels"')
            self.download_box = ui.element("section").classes("card").props('aria-label="Downloads"')
        for box in (self.compare_box, self.corrected_box, self.download_box):
            box.visible = False

    # ------------------------------------------------------------------ learning

    async def _start(self) -> None:
        self.corrections = {}
        await self._guarded(self._load_and_learn)

    async def _continue(self) -> None:
        await self._guarded(self._learn)

    async def _guarded(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run something long: no second one beside it, and errors are shown on the page."""
        button = self.setup.start
        self.problem.visible = False
        button.disable()
        try:
            async with self.library.fitting:
                await work()
        except (ValueError, OSError) as error:  # DataError is a ValueError
            self.problem.text = str(error)
            self.problem.visible = True
        finally:
            button.enable()
            button.text = "Learn"

    async def _load_and_learn(self) -> None:
        self.setup.start.text = "Reading …"
        self._data = await self.setup.load(self.library.embedded)
        self.key = self.library.add(self._data)
        await self._learn()

    async def _learn(self) -> None:
        names = self.setup.methods
        before = {board.name: board.outcome for board in self.boards}
        for box in (self.compare_box, self.download_box):
            box.visible = False
        self.board_box.clear()
        kinds = ["two"] * (len(names) > 1) + ["texts"] * (self.data.texts is not None)
        self.board_box.classes(remove="two texts", add=" ".join(kinds))
        with self.board_box:
            self.boards = [
                MethodBoard(name, self.data, self.key, self.corrections, self._choose) for name in names
            ]
        self._draw_corrections()
        for board in self.boards:
            self.setup.start.text = f"{board.name} …"
            board.finish(await self._watch(board, before.get(board.name)))
        self._draw_comparison()
        self._draw_downloads()
        self._draw_corrections()

    async def _watch(self, board: MethodBoard, before: Outcome | None) -> Outcome:
        """Learn in a thread; show each round as it comes, long enough to be seen."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Snapshot | None]()

        def hand_over(snapshot: Snapshot) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, snapshot)

        def work() -> Outcome:
            try:
                return learn(self.data, board.name, self.corrections, before, hand_over)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        task = asyncio.ensure_future(asyncio.to_thread(work))
        while (snapshot := await queue.get()) is not None:
            board.add_round(snapshot)
            await asyncio.sleep(self.pace)
        return await task

    # ------------------------------------------------------------------ correcting

    def _choose(self, row: int, board: MethodBoard | None = None) -> None:
        """Ask for the class of a picture, if a method has an answer for it."""
        outcome = board.outcome if board is not None else None
        outcome = outcome or next(iter(self._outcomes()), None)
        if outcome is not None:
            ask_for_class(row, outcome, self.key, self.corrections.get(row), self._give)

    def _give(self, row: int, label: str | None) -> None:
        if label is None:
            self.corrections.pop(row, None)
        else:
            self.corrections[row] = label
        for board in self.boards:
            board.redraw()
        self._draw_corrections()
        self._draw_downloads()

    def _draw_corrections(self) -> None:
        draw_corrections(self.corrected_box, self.corrections, self.key, self._choose, self._continue)

    # ------------------------------------------------------------------ results

    def _outcomes(self) -> list[Outcome]:
        return [board.outcome for board in self.boards if board.outcome is not None]

    def _draw_comparison(self) -> None:
        self.compare_box.clear()
        outcomes = self._outcomes()
        self.compare_box.visible = len(outcomes) > 1
        if len(outcomes) < 2:
            return
        comparison = compare(*outcomes)
        with self.compare_box:
            names = f"{outcomes[0].method} and {outcomes[1].method}"
            ui.html(f"<h2>{escape(names)}, side by side</h2>", sanitize=False)
            ui.html(pool_html.comparison_html(outcomes), sanitize=False)
            sentence = f"They agree on {comparison.agreement:.1%} of the pictures"
            if comparison.rows:
                sentence += f", and differ on {len(comparison.rows):,}. Where both are sure:"
            ui.label(sentence)
            rows = comparison.rows[:SHOWN_DIFFERENCES]
            ui.html(pool_html.differences_html(self.key, outcomes, rows), sanitize=False).on(
                "click",
                lambda event: self._choose(int(event.args["row"]), self.boards[0]),
                js_handler=REPORT_PRESSED_BUTTON,
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
                    for text, write in DOWNLOADS.items():
                        button = ui.button(text, on_click=self._download(outcome, write))
                        button.props(f'outline no-caps aria-label="{text}, {outcome.method}"')

    def _download(
        self, outcome: Outcome, write: Callable[[Outcome, Path], Path]
    ) -> Callable[[], object]:
        async def work() -> None:
            labelled = outcome.with_labels(self.corrections)
            with tempfile.TemporaryDirectory(dir=self.library.folder) as folder:
                path = await asyncio.to_thread(write, labelled, Path(folder))
                ui.download.content(path.read_bytes(), path.name)

        return work
