"""Labels given by hand: the dialogue that asks for the class of a picture, and the labels so far."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments, KeyEventArguments

from unseen.features.words import readable
from unseen.serving.studio.gallery_html import gallery
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.method_board import REPORT_PRESSED_BUTTON
from unseen.serving.studio.outcomes import NONE_OF_THESE, said
from unseen.serving.studio.overview_html import picture_address
from unseen.serving.studio.picture_lists import YOURS

CLASS_BUTTONS = 12
"""Classes that are offered as buttons; the others are in a list below."""


class ClassDialogue:
    """Ask for the class of some rows, one after the other.

    Keys: 1 to 9 choose a class, 0 none of them, arrows go on and back without a label.

    Parameters
    ----------
    live : LiveSession
    rows : list of int
        Of the pool.
    closed : callable
        Called when the dialogue ends.
    """

    def __init__(self, live: LiveSession, rows: list[int], closed: Callable[[], None]) -> None:
        self._live, self._rows, self._place = live, rows, 0
        with ui.dialog() as self._dialog, ui.element("div").classes("chooser"):
            self._dialog.props('aria-label="Which class is it?"')
            self._box = ui.element("div").classes("fields")
            ui.keyboard(self._key, ignore=["input", "select", "textarea"])

        def hidden() -> None:
            self._dialog.delete()
            closed()

        self._dialog.on("hide", hidden)
        self._draw()
        self._dialog.open()

    @property
    def _may_be_none(self) -> bool:
        """Whether items may belong to none: not if a class has the name that would say so."""
        return self._live.data is not None and NONE_OF_THESE not in self._live.data.candidates

    @property
    def _row(self) -> int:
        return self._rows[self._place]

    def _draw(self) -> None:
        live, row = self._live, self._row
        outcome = live.results[0]
        probabilities, classes = outcome.result.probabilities[row], outcome.classes
        order = sorted(range(len(classes)), key=lambda k: -probabilities[k])
        self._order = [k for k in order if classes[k] != NONE_OF_THESE]
        self._classes = classes
        label = live.marked.get(row)
        current = label if label is not None else classes[order[0]]
        self._box.clear()
        with self._box:
            ui.html("<h2>Which class is it?</h2>", sanitize=False)
            self._draw_item(row)
            source = "Your label" if label is not None else "The answer"
            many = f" · {self._place + 1:,} of {len(self._rows):,}" if len(self._rows) > 1 else ""
            ui.label(f"{self._name(row)} · {source}: {said(current)}{many}").classes("soft")
            # tabindex: Quasar returns a Tab that leaves the dialogue to its first element that has one.
            buttons = "".join(
                f'<button type="button" class="choice" tabindex="0" data-pick="{k}" '
                f'aria-pressed="{str(classes[k] == current).lower()}">'
                f"{_key(number)}{escape(readable(classes[k]))}"
                f"<small>{probabilities[k]:.0%}</small></button>"
                for number, k in enumerate(self._order[:CLASS_BUTTONS], 1)
            )
            ui.html(f'<div class="choices">{buttons}</div>', sanitize=False).on(
                "click",
                lambda event: self._give(classes[int(event.args["pick"])]),
                js_handler=REPORT_PRESSED_BUTTON,
            )
            if len(self._order) > CLASS_BUTTONS:
                rest = [classes[k] for k in self._order[CLASS_BUTTONS:]]
                another = ui.select(rest, label="Another class", with_input=True)
                another.props("outlined dense").on_value_change(lambda event: self._give(event.value))
            self._draw_buttons(label)

    def _draw_item(self, row: int) -> None:
        data = self._live.data
        assert data is not None
        if data.texts is not None:
            ui.label(data.texts[row]).classes("item-text")
            return
        ui.html(
            f'<img class="big" src="{picture_address(self._live.key, row)}?large=true" '
            f'alt="{escape(self._name(row))}">',
            sanitize=False,
        )

    def _name(self, row: int) -> str:
        data = self._live.data
        assert data is not None
        return data.paths[row].name if data.texts is None else f"row {data.text_rows[row]}"

    def _draw_buttons(self, label: str | None) -> None:
        with ui.element("div").classes("line"):
            if self._may_be_none:
                none = ui.button("None of these", on_click=lambda: self._give(NONE_OF_THESE))
                none.props("outline no-caps")
            if self._place:
                ui.button("Back", on_click=self._previous).props("flat no-caps")
            if label is not None:
                ui.button("Take it back", on_click=lambda: self._give(None)).props("flat no-caps")
            if self._place + 1 < len(self._rows):
                ui.button("Skip", on_click=self._next).props("flat no-caps")
            ui.button("Close", on_click=self._dialog.close).props("flat no-caps")
        several = " · <kbd>←</kbd> back · <kbd>→</kbd> skip" * (len(self._rows) > 1)
        most = f" to <kbd>{min(len(self._order), 9)}</kbd>" * (len(self._order) > 1)
        none_key = " · <kbd>0</kbd> none of these" * self._may_be_none
        keys = f"<kbd>1</kbd>{most} the class{none_key}{several} · <kbd>Esc</kbd> close"
        ui.html(keys, sanitize=False).classes("soft keys-line")

    def _give(self, label: str | None) -> None:
        self._live.give(self._row, label)
        self._next()

    def _previous(self) -> None:
        if self._place:
            self._place -= 1
            self._draw()

    def _next(self) -> None:
        self._place += 1
        if self._place < len(self._rows):
            self._draw()
        else:
            self._dialog.close()

    def _key(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.action.repeat or self._place >= len(self._rows):
            return
        number = event.key.number
        if number == 0 and self._may_be_none:
            self._give(NONE_OF_THESE)
        elif number == 0:
            return
        elif number is not None and number <= len(self._order):
            self._give(self._classes[self._order[number - 1]])
        elif event.key.arrow_right:
            self._next()
        elif event.key.arrow_left:
            self._previous()


def _key(number: int) -> str:
    """Return the key that chooses a class, where there is one."""
    return f'<kbd aria-hidden="true">{number}</kbd>' if number <= 9 else ""


def draw_labels(box: ui.element, live: LiveSession, choose: Callable[[int], None]) -> None:
    """Draw the labels that were given by hand, each with its picture."""
    box.clear()
    given = live.session.labels
    box.visible = bool(given)

    def pressed(event: GenericEventArguments) -> None:
        choose(int(event.args["row"]))

    with box:
        ui.html(f"<h2>Your labels <small>{len(given):,}</small></h2>", sanitize=False)
        rows = live.marked
        shown = gallery(live, YOURS, "Your labels", len(rows), rows, kind="captioned")
        ui.html(shown, sanitize=False).on("click", pressed, js_handler=REPORT_PRESSED_BUTTON)
        note = (
            "Continue learns again; these keep your label, and count as sure. What is none of these is "
            "left out."
        )
        ui.label(note).classes("soft")
