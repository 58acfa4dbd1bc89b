"""Rounds, and where two methods differ, as plain HTML with one listener for all clicks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from unseen.metrics import unsure
from unseen.reporting.html_page import table_box
from unseen.serving.studio.outcomes import Outcome, Snapshot, said
from unseen.serving.studio.overview_html import item_text, picture_address

LETTERS = 60
"""Of a text about which two methods differ."""


def rounds_html(
    history: list[Snapshot], result: Snapshot | None, total: int, shown_round: int | None, given: int
) -> str:
    """Return a table with one column a round, which stays when the rounds are over.

    A column has a button with its bars, share trusted (blue) and mean confidence (grey), and figures
    below. ``shown_round`` is the place of the round on the page, or None for the result; ``given`` is
    how many labels of a person it learned with.
    """
    if not history:
        return ""
    columns = [(place, _round_name(snapshot), snapshot) for place, snapshot in enumerate(history)]
    if result is not None:
        columns.append((-1, "result", result))
    current = -1 if shown_round is None else shown_round
    heads = "".join(_round(*column, total, column[0] == current) for column in columns)
    lines = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td>{tell(snapshot, place < 0)}</td>" for place, _, snapshot in columns)
        + "</tr>"
        for name, tell in FIGURES.items()
    )
    yours = f", with {given:,} label{'s' * (given != 1)} of yours" if given else ""
    return (
        f'<div class="rounds"><table><caption>Round by round{yours}</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _round(place: int, name: str, snapshot: Snapshot, total: int, current: bool) -> str:
    share, sure = snapshot.trusted / max(total, 1), float(snapshot.confidence.mean())
    called = f"{'round ' * name.isdigit()}{name}"
    now = ' aria-current="true"' if current else ""
    return (
        f'<th scope="col"><button type="button" data-round="{place}"{now} aria-label="{called}" '
        f'title="{called}: {share:.0%} trusted, {sure:.0%} sure">'
        f'<span class="bars" aria-hidden="true"><i class="share" style="height:{100 * share:.0f}%">'
        f'</i><i style="height:{100 * sure:.0f}%"></i></span>{name}</button></th>'
    )


def _round_name(snapshot: Snapshot) -> str:
    return f"{snapshot.number}" if snapshot.number else "start"


FIGURES: dict[str, Callable[[Snapshot, bool], str]] = {
    "joined": lambda snapshot, final: "–" if final else f"{int(snapshot.joined.sum()):,}",
    "trusted": lambda snapshot, _: f"{snapshot.trusted:,}",
    "classes": lambda snapshot, _: f"{snapshot.covered:,}",
    "sure": lambda snapshot, _: f"{float(snapshot.confidence.mean()):.0%}",
}
"""What is told of a round, or of the result."""


def status_text(snapshot: Snapshot, classes: list[str], total: int, final: bool, going: bool) -> str:
    """Say in one line how far it is."""
    mean = f"{float(snapshot.confidence.mean()):.0%} sure on average" if total else "nothing to label"
    if final:
        doubtful = int(unsure(snapshot.confidence).sum())
        found = f"{len(np.unique(snapshot.labels))} of {len(classes)} classes found"
        return f"Result · {doubtful:,} of {total:,} unsure · {found} · {mean}"
    where = "Start" if snapshot.number == 0 else f"Round {snapshot.number}"
    return (
        f"{where}{' …' if going else ''} · {int(snapshot.joined.sum()):,} joined · "
        f"{snapshot.trusted:,} of {total:,} trusted · "
        f"{snapshot.covered} of {len(classes)} classes covered · {mean}"
    )


def differences_html(key: str, outcomes: list[Outcome], rows: list[int]) -> str:
    """Return the pictures about which two methods differ."""
    parts, data = [], outcomes[0].fitted.task.data
    for row in rows:
        names = [said(o.classes[o.result.labels[row]]) for o in outcomes]
        sure = [f"{o.result.confidence[row]:.0%}" for o in outcomes]
        item = item_text(data, row, LETTERS)
        label = f"{item}: {names[0]} {sure[0]} or {names[1]} {sure[1]}"
        shown = f'<img src="{picture_address(key, row)}" alt="" loading="lazy">'
        if data.texts is not None:
            shown = f'<span class="words">{escape(item)}</span>'
        parts.append(
            f'<button type="button" class="tile both" data-row="{row}" aria-label="{escape(label)}">'
            f"{shown} <span>"
            f"{escape(names[0])} <small>{sure[0]}</small> or<br>"
            f"{escape(names[1])} <small>{sure[1]}</small></span></button>"
        )
    return f'<div class="tiles">{"".join(parts)}</div>'


def comparison_html(outcomes: list[Outcome]) -> str:
    """Return a table of both methods: pictures a class, certainty, rounds, and hindsight."""
    heads = "".join(f'<th scope="col" class="n">{escape(o.method)}</th>' for o in outcomes)

    def line(name: str, values: list[str], kind: str = "") -> str:
        cells = "".join(f'<td class="n">{value}</td>' for value in values)
        return f'<tr class="{kind}"><th scope="row">{name}</th>{cells}</tr>'

    lines = [
        line(
            "learns from the pool", ["yes" if o.fitted.rounds is not None else "no" for o in outcomes]
        ),
        line("rounds", [f"{max(len(o.history) - 1, 0)}" for o in outcomes]),
        line("sure on average", [f"{o.result.confidence.mean():.0%}" for o in outcomes]),
        line("seconds", [f"{o.fitted.seconds:.2f}" for o in outcomes]),
    ]
    right = [o.fitted.accuracy() for o in outcomes]
    if right[0] is not None:
        lines.append(line("right, per class *", [f"{r:.1%}" for r in right if r is not None], "truth"))
    counts = [np.bincount(o.result.labels, minlength=len(o.classes)) for o in outcomes]
    for place, name in enumerate(outcomes[0].classes):
        lines.append(line(escape(said(name)), [f"{c[place]:,}" for c in counts], "count"))
    table = table_box(f"<th></th>{heads}", lines)
    return table + (hindsight() if right[0] is not None else "")


def hindsight() -> str:
    """Say where the truth comes from."""
    return (
        '<p class="soft">* In hindsight: the classes of these pictures are known, and are used for '
        "this line alone. Pictures that you labelled do not count.</p>"
    )
