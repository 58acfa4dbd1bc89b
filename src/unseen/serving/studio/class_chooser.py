"""Labels given by hand: the dialogue that asks for the class of a picture, and the labels so far."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import ui

from unseen.features.words import readable
from unseen.serving.studio.method_board import REPORT_PRESSED_BUTTON
from unseen.serving.studio.outcomes import Outcome
from unseen.serving.studio.pool_html import picture_address

CLASS_BUTTONS = 12
"""Classes that are offered as buttons; the others are in a list below."""


def ask_for_class(
    row: int, outcome: Outcome, key: str, label: str | None, give: Callable[[int, str | None], None]
) -> None:
    """Open the dialogue.

    Parameters
    ----------
    row : int
        Of the pool.
    outcome : Outcome
        Its probabilities order the classes.
    key : str
        Of the pictures.
    label : str or None
        The label that a person gave before.
    give : callable
        Called with the row and its class; with None if the label is taken back.
    """
    probabilities, classes = outcome.result.probabilities[row], outcome.classes
    order = sorted(range(len(classes)), key=lambda k: -probabilities[k])
    current = label or classes[order[0]]
    with ui.dialog() as dialog, ui.element("div").classes("chooser"):

        def choose(name: str | None) -> None:
            dialog.close()
            give(row, name)

        ui.html("<h2>Which class is it?</h2>", sanitize=False)
        data = outcome.fitted.task.data
        name = data.paths[row].name if data.texts is None else f"row {data.text_rows[row]}"
        if data.texts is None:
            ui.html(
                f'<img class="big" src="{picture_address(key, row)}" alt="{escape(name)}">',
                sanitize=False,
            ).style("display:flex; justify-content:center")
        else:
            ui.label(data.texts[row])
        source = "Your label" if label is not None else f"{outcome.method} says"
        ui.label(f"{source}: {readable(current)} · {name}").classes("soft")
        # tabindex: Quasar returns a Tab that leaves the dialogue to its first element that has one.
        buttons = "".join(
            f'<button type="button" class="choice" tabindex="0" data-pick="{k}" '
            f'aria-pressed="{str(classes[k] == current).lower()}">'
            f"{escape(readable(classes[k]))}<small>{probabilities[k]:.0%}</small></button>"
            for k in order[:CLASS_BUTTONS]
        )
        ui.html(f'<div class="choices">{buttons}</div>', sanitize=False).on(
            "click",
            lambda event: choose(classes[int(event.args["pick"])]),
            js_handler=REPORT_PRESSED_BUTTON,
        )
        if len(order) > CLASS_BUTTONS:
            rest = [classes[k] for k in order[CLASS_BUTTONS:]]
            another = ui.select(rest, label="Another class", with_input=True).props("outlined dense")
            another.on_value_change(lambda event: choose(event.value))
        with ui.element("div").classes("line"):
            if label is not None:
                ui.button("Take it back", on_click=lambda: choose(None)).props("flat no-caps")
            ui.button("Close", on_click=dialog.close).props("flat no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()


def draw_corrections(
    box: Any,
    corrections: dict[int, str],
    key: str,
    choose: Callable[[int], None],
    learn_again: Callable[[], object],
) -> None:
    """Draw the labels that were given by hand, each with its picture, and the button to continue."""
    box.clear()
    box.visible = bool(corrections)
    if not corrections:
        return
    count = len(corrections)
    with box:
        ui.html("<h2>Your labels</h2>", sanitize=False)
        chips = "".join(
            f'<button type="button" class="chip" data-row="{row}" '
            f'aria-label="picture {row}: {escape(readable(label))}, change">'
            f'<img src="{picture_address(key, row)}" alt="">{escape(readable(label))}</button>'
            for row, label in corrections.items()
        )
        ui.html(f'<div class="tiles">{chips}</div>', sanitize=False).on(
            "click", lambda event: choose(int(event.args["row"])), js_handler=REPORT_PRESSED_BUTTON
        )
        with ui.element("div").classes("line"):
            text = f"Continue with {count} label{'s' * (count != 1)} of yours"
            ui.button(text, on_click=learn_again).props("unelevated no-caps")
            note = "It learns again; these pictures keep your label, and count as sure."
            ui.label(note).classes("soft")
