"""One method on the page: its rounds, its notes, and its classes with their pictures."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments

from unseen.serving.studio import pool_html
from unseen.serving.studio.gallery_html import classes_html
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.outcomes import Outcome, Snapshot

REPORT_PRESSED_BUTTON = """(event) => {
  const hit = event.target.closest('[data-row],[data-round],[data-pick],[data-pair]');
  if (hit) emit({...hit.dataset});
}"""
"""One listener for all buttons in a piece of HTML: it says which of them was pressed."""

_LEGEND = (
    '<span><i class="share"></i>trusted: likelier than all other classes together</span>'
    "<span><i></i>how sure, on average</span>"
    '<span><i class="joined"></i>joined in this round</span><span><i class="unsure"></i>unsure</span>'
)


def noun(live: LiveSession) -> str:
    """Return what an item is called."""
    return "picture" if live.data is None or live.data.texts is None else "text"


class MethodBoard:
    """One method: its rounds and its classes.

    Parameters
    ----------
    name : str
        Of the method.
    live : LiveSession
    choose : callable
        Called with a row that was pressed.
    """

    def __init__(self, name: str, live: LiveSession, choose: Callable[[int], None]) -> None:
        self.name, self.live, self._choose = name, live, choose
        self.outcome: Outcome | None = None
        self.history: list[Snapshot] = []
        self.shown_round: Snapshot | None = None
        self.going = True
        with ui.element("section").classes("card").props(f'aria-label="{name}"'):
            title = f"Every {noun(live)}, by class <small>{escape(name)}</small>"
            ui.html(f"<h2>{title}</h2>", sanitize=False)
            self.status = ui.label("Learning …").classes("status").props("role=status aria-live=polite")
            self.rounds = _clickable_html(self._pressed)
            self.legend = ui.html(_LEGEND, sanitize=False).classes("soft legend")
            self.legend.visible = False
            self.notes = ui.column()
            self.classes = _clickable_html(self._pressed)

    def add_round(self, snapshot: Snapshot) -> None:
        """Keep a round and draw it."""
        self.history.append(snapshot)
        self.show(snapshot)

    def show(self, snapshot: Snapshot, final: bool = False) -> None:
        """Draw a round, or the result."""
        self.shown_round = None if final else snapshot
        result = None if self.outcome is None else self.outcome.result
        data = self.live.data
        assert data is not None
        classes, total = self.live.columns(self.name, snapshot), len(data.pool)
        place = None if final else self.history.index(snapshot)
        self.status.text = pool_html.status_text(snapshot, classes, total, final, self.going)
        accuracy = None
        if final and self.outcome is not None:
            accuracy = self.outcome.fitted.accuracy()
        if accuracy is not None:
            self.status.text += f" · in hindsight {accuracy:.1%} right, per class"
        self.rounds.content = pool_html.rounds_html(
            self.history, result, total, place, len(self.live.session.learned_with)
        )
        self.legend.visible = bool(self.history)
        self.classes.content = classes_html(self.live, self.name, snapshot, place, classes)

    def finish(self, outcome: Outcome) -> None:
        """Keep the outcome and draw it."""
        self.outcome, self.going = outcome, False
        with self.notes:
            for note in outcome.fitted.notes:
                ui.label(note).classes("note")
        self.show_result()

    def show_result(self) -> None:
        """Draw the result, with the labels that were given since."""
        if self.outcome is not None:
            self.show(self.outcome.with_labels(self.live.marked).result, final=True)

    def redraw(self) -> None:
        """Draw what is shown once more."""
        if self.shown_round is not None:
            self.show(self.shown_round)
        else:
            self.show_result()

    def _pressed(self, event: GenericEventArguments) -> None:
        pressed = event.args
        if "row" in pressed:
            self._choose(int(pressed["row"]))
        elif "round" in pressed and self.outcome is not None:
            place = int(pressed["round"])
            if place < 0:
                self.show_result()
            else:
                self.show(self.history[place])


def _clickable_html(pressed: Callable[[GenericEventArguments], None]) -> ui.html:
    return ui.html("", sanitize=False).on("click", pressed, js_handler=REPORT_PRESSED_BUTTON)
