"""The page of a session: what goes on, what was found, what to look at, and what was corrected."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from nicegui import background_tasks, ui
from nicegui.events import GenericEventArguments

from unseen.metrics import unsure
from unseen.serving.studio import overview_html, pool_html
from unseen.serving.studio.class_chooser import ClassDialogue, draw_labels
from unseen.serving.studio.gallery_html import gallery, pictures_attribute
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.method_board import REPORT_PRESSED_BUTTON, MethodBoard
from unseen.serving.studio.outcomes import Outcome, compare
from unseen.serving.studio.page_frame import page_frame, page_part
from unseen.serving.studio.picture_lists import CHANGED, MAP, REVIEW, list_address
from unseen.serving.studio.studio_downloads import draw_downloads

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

REFRESH_SECONDS = 0.2
SHOWN_DIFFERENCES = 24
"""Pictures about which two methods differ that are shown."""


class Desk:
    """One open page of a session; others may show the same session.

    Parameters
    ----------
    library : Library
        What all pages share.
    live : LiveSession
    """

    def __init__(self, library: Library, live: LiveSession) -> None:
        self.library, self.live = library, live
        self.boards: list[MethodBoard] = []
        self._version = -1
        self._drawn: object = None
        self._labels: dict[str, str] = {}
        self._asking = False
        """Whether a dialogue is open; what lies behind it is drawn again when it closes."""

    def draw(self) -> None:
        """Lay out the page, and let it follow the session."""
        source = self.live.session.source
        with page_frame(f"About {source.text()}.", source.kind):
            with ui.element("div").classes("line"):
                name = ui.input("Name of the session", value=self.live.session.name)
                name.props("outlined dense").classes("name")
                name.on("blur", lambda: self.live.rename(str(name.value)))
                ui.link("All sessions", "/")
            self._draw_work()
            self.problem = ui.label("").classes("note").props("role=alert")
            self.review = _card("Look at these first")
            self.changed = _card("What changed")
            self.labels = _card("Your labels")
            with ui.element("div").classes("overview"):
                self.map = _card("Map")
                self.doubts = _card("Confusions")
            self.downloads = _card("Downloads")
            self.compare_box = _card("Comparison")
            self.board_box = ui.element("div").classes("boards")
            ui.html(page_part("keys_help.html"), sanitize=False)
        self.dialogues = ui.element("div")
        self._draw_bar()
        self._refresh()
        ui.timer(REFRESH_SECONDS, self._refresh)

    def begin(self) -> None:
        """Learn, if there is no result and nothing goes on; a session opened again learns as before."""
        if not self.live.outcomes and not self.live.work.going:
            background_tasks.create(self.live.run(again=not self.live.session.learned))

    # ------------------------------------------------------------------ what goes on

    def _draw_work(self) -> None:
        with ui.element("section").classes("card").props('aria-label="Progress"') as self.work:
            self.work_text = ui.label("").props("role=status aria-live=polite")
            self.bar = ui.linear_progress(0, show_value=False).props('aria-label="Progress"')
            with ui.element("div").classes("line"):
                ui.button("Cancel", on_click=self.live.stop).props("outline no-caps")

    def _draw_bar(self) -> None:
        with ui.element("div").classes("bar").props('role=region aria-label="Labels and learning"'):
            self.bar_text = ui.label("")
            self.undo = ui.button("Undo", on_click=self.live.take_back).props("flat no-caps")
            self.go_on = ui.button("Continue", on_click=self._continue).props("unelevated no-caps")

    def _continue(self) -> None:
        background_tasks.create(self.live.run())

    def _refresh(self) -> None:
        """Draw what has changed since the last time."""
        live = self.live
        if live.version == self._version:
            return
        self._version = live.version
        self.work.visible, self.work_text.text = live.work.going, live.work.text
        share = live.work.share
        self.bar.props(f"indeterminate={str(share is None).lower()}")
        self.bar.value = share or 0.0
        self.problem.text, self.problem.visible = live.problem, bool(live.problem)
        given = len(live.session.labels)
        new = given - len(live.session.learned_with)
        self.bar_text.text = f"{given:,} label{'s' * (given != 1)} of yours" + f", {new:,} new" * (
            new > 0
        )
        self.undo.set_enabled(bool(live.session.undo) and not live.work.going)
        self.go_on.set_enabled(bool(live.outcomes) and not live.work.going)
        if live.work.going and live.rounds:
            self._follow_rounds()
        elif live.outcomes:
            is_new = self._drawn is not live.outcomes
            if is_new or (self._labels != live.session.labels and not self._asking):
                self._draw_result(is_new)

    def _follow_rounds(self) -> None:
        for name, history in self.live.rounds.items():
            board = next((b for b in self.boards if b.name == name and b.outcome is None), None)
            if board is None:
                if not any(b.outcome is None for b in self.boards):
                    self._clear()
                board = self._add_board(name)
            for snapshot in history[len(board.history) :]:
                board.add_round(snapshot)

    def _clear(self) -> None:
        for box in (
            self.review, self.changed, self.map, self.doubts, self.compare_box, self.downloads
        ):  # fmt: skip
            box.clear()
            box.visible = False
        self.board_box.clear()
        self.boards = []
        self._drawn = None

    def _add_board(self, name: str) -> MethodBoard:
        assert self.live.data is not None
        names = self.live.session.methods
        self.board_box.classes(remove="two", add="two" * (len(names) > 1))
        with self.board_box:
            board = MethodBoard(name, self.live, self._choose)
        self.boards.append(board)
        return board

    # ------------------------------------------------------------------ results

    def _draw_result(self, is_new: bool) -> None:
        live = self.live
        if is_new:
            history = {board.name: board.history for board in self.boards}
            self._clear()
            for name, outcome in live.outcomes.items():
                board = self._add_board(name)
                board.history = history.get(name) or list(outcome.history)
                board.finish(outcome)
        else:
            for board in self.boards:
                board.redraw()
        self._drawn, self._labels = live.outcomes, dict(live.session.labels)
        results = live.results
        self._draw_review(results[0])
        self._draw_changed(results[0])
        self._draw_overview(results[0])
        self._draw_comparison(results)
        draw_labels(self.labels, live, self._choose)
        draw_downloads(self.downloads, self.library, live)

    def _gallery(self, what: str, name: str, rows: list[int]) -> None:
        content = gallery(self.live, what, name, len(rows), rows, self.live.marked, kind="captioned")
        _clickable(content, self._pressed)

    def _draw_review(self, outcome: Outcome) -> None:
        rows = self.live.rows_to_review
        doubtful = int(unsure(outcome.result.confidence).sum())
        self.review.clear()
        self.review.visible = bool(rows)
        with self.review:
            ui.html(f"<h2>Look at these first <small>{len(rows):,}</small></h2>", sanitize=False)
            ui.label(_review_text(doubtful, len(rows), len(outcome.result.labels))).classes("soft")
            with ui.element("div").classes("line"):
                ui.button("Review them one by one", on_click=lambda: self._review(rows)).props(
                    "unelevated no-caps"
                )
            self._gallery(REVIEW, "Look at these first", rows)

    def _draw_changed(self, outcome: Outcome) -> None:
        rows = self.live.changed_rows
        self.changed.clear()
        self.changed.visible = self.live.earlier is not None
        with self.changed:
            ui.html("<h2>What changed since the last run</h2>", sanitize=False)
            total = len(outcome.result.labels)
            ui.label(
                f"{len(rows):,} of {total:,} have another class now; your own labels do not count."
            )
            if rows:
                self._gallery(CHANGED, "What changed", rows)

    def _draw_overview(self, outcome: Outcome) -> None:
        result = outcome.result
        address = list_address(self.live, MAP, result.labels, result.confidence)
        for box, title, content in (
            (self.map, "Map", overview_html.map_html(outcome, address, pictures_attribute(self.live))),
            (self.doubts, "Hard to tell apart", overview_html.confusion_html(outcome)),
        ):
            box.clear()
            box.visible = len(outcome.classes) > 1
            with box:
                ui.html(f"<h2>{title}</h2>", sanitize=False)
                _clickable(content, self._pressed)

    def _draw_comparison(self, outcomes: list[Outcome]) -> None:
        self.compare_box.clear()
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
            _clickable(pool_html.differences_html(self.live.key, outcomes, rows), self._pressed)

    def _pressed(self, event: GenericEventArguments) -> None:
        if "row" in event.args:
            self._choose(int(event.args["row"]))
        elif "pair" in event.args and self.live.results:
            one, other = map(int, event.args["pair"].split(","))
            self._review(overview_html.rows_between(self.live.results[0], one, other))

    # ------------------------------------------------------------------ correcting

    def _choose(self, row: int) -> None:
        self._review([row])

    def _review(self, rows: list[int]) -> None:
        """Ask for the class of one row after the other."""
        if self.live.results and not self.live.work.going:
            self._asking = True
            with self.dialogues:  # what was pressed may be drawn anew while the dialogue is open
                ClassDialogue(self.live, rows, self._asked)

    def _asked(self) -> None:
        self._asking, self._version = False, -1


def _review_text(doubtful: int, listed: int, total: int) -> str:
    """Say why these are to be looked at."""
    if not doubtful:
        return f"All {total:,} answers are sure. Of these, your label helps most."
    text = f"{doubtful:,} of {total:,} answers are unsure, the least sure first."
    return f"{text} Of the others, your label helps most." if listed > doubtful else text


def _card(name: str) -> ui.element:
    card = ui.element("section").classes("card").props(f'aria-label="{name}"')
    card.visible = False
    return card


def _clickable(content: str, pressed: Callable[[GenericEventArguments], None]) -> ui.html:
    return ui.html(content, sanitize=False).on("click", pressed, js_handler=REPORT_PRESSED_BUTTON)
