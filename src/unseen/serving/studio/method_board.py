"""One method on the page: its rounds, its notes, and its classes with their pictures."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import ui

from unseen.labelling import PoolData
from unseen.serving.studio import pool_html
from unseen.serving.studio.outcomes import Outcome, Snapshot

REPORT_PRESSED_BUTTON = """(event) => {
  const hit = event.target.closest('[data-row],[data-more],[data-round],[data-pick]');
  if (hit) emit({...hit.dataset});
}"""
"""One listener for all buttons in a piece of HTML: it says which of them was pressed."""

_LEGEND = (
    '<i class="share"></i>share trusted <i></i>mean confidence <i class="joined"></i>joined this round '
    '<i class="unsure"></i>unsure'
)


class MethodBoard:
    """One method: its rounds and its classes.

    Parameters
    ----------
    name : str
        Of the method.
    data : PoolData
    key : str
        Of the pictures.
    corrections : dict
        Row of the pool → the class that a person gave it; the page changes it.
    choose : callable
        Called with a row that was pressed, and this board.
    """

    def __init__(
        self,
        name: str,
        data: PoolData,
        key: str,
        corrections: dict[int, str],
        choose: Callable[[int, MethodBoard], None],
    ) -> None:
        self.name, self.data, self.key, self._choose = name, data, key, choose
        self.corrections, self.given = corrections, len(corrections)
        self.outcome: Outcome | None = None
        self.history: list[Snapshot] = []
        self.shown_round: Snapshot | None = None
        self.opened: frozenset[str] = frozenset()
        self.going = True
        with ui.element("section").classes("card").props(f'aria-label="{name}"'):
            ui.html(f"<h2>{escape(name)}</h2>", sanitize=False)
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
        classes, total = self.data.candidates, len(self.data.pool)
        place = None if final else self.history.index(snapshot)
        self.status.text = pool_html.status_text(snapshot, classes, total, final, self.going)
        accuracy = None
        if final and self.outcome is not None:
            accuracy = self.outcome.fitted.accuracy()
        if accuracy is not None:
            self.status.text += f" · in hindsight {accuracy:.1%} right, per class"
        self.rounds.content = pool_html.rounds_html(self.history, result, total, place, self.given)
        self.legend.visible = bool(self.history)
        self.classes.content = pool_html.classes_html(
            self.key, snapshot, classes, self.corrections, self.opened, final
        )

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
            self.show(self.outcome.with_labels(self.corrections).result, final=True)

    def redraw(self) -> None:
        """Draw what is shown once more."""
        if self.shown_round is not None:
            self.show(self.shown_round)
        else:
            self.show_result()

    def _pressed(self, event: Any) -> None:
        pressed = event.args
        if "row" in pressed:
            self._choose(int(pressed["row"]), self)
        elif "more" in pressed:
            self.opened = self.opened ^ {pressed["more"]}
            self.redraw()
        elif "round" in pressed and self.outcome is not None:
            place = int(pressed["round"])
            if place < 0:
                self.show_result()
            else:
                self.show(self.history[place])


def _clickable_html(pressed: Callable[[object], None]) -> Any:
    return ui.html("", sanitize=False).on("click", pressed, js_handler=REPORT_PRESSED_BUTTON)
