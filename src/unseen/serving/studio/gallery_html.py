"""Galleries of pictures as plain HTML; ``gallery.js`` draws those near the window."""

from __future__ import annotations

from html import escape

import numpy as np

from unseen.reporting.html_page import meter
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.outcomes import Snapshot, said
from unseen.serving.studio.overview_html import picture_address
from unseen.serving.studio.picture_lists import class_list, list_address, rows_of_class
from unseen.typing import Array

CONFIDENCE_BINS = np.linspace(0, 1, 11)


def gallery(live: LiveSession, what: str, name: str, count: int, *shown: object, kind: str = "") -> str:
    """Return a gallery.

    Parameters
    ----------
    live : LiveSession
    what : str
        The name of its list, which the browser asks for when the gallery comes near the window.
    name : str
    count : int
        Of its pictures.
    *shown
        What its list depends on.
    kind : str
        "captioned" if the answer stands below each picture; such a gallery scrolls in a box of its own.
    """
    shelf = ('<div class="shelf">', "</div>") if kind else ("", "")
    return (
        f'{shelf[0]}<div class="gallery {kind}" role="group" aria-label="{escape(name)}" '
        f'data-count="{count}" '
        f'data-list="{escape(list_address(live, what, *shown))}"'
        f"{pictures_attribute(live)}></div>{shelf[1]}"
    )


def pictures_attribute(live: LiveSession) -> str:
    """Return where the pictures are; texts need none."""
    if live.data is None or live.data.texts is not None:
        return ""
    return f' data-pictures="{picture_address(live.key, "")}"'


def classes_html(
    live: LiveSession, method: str, snapshot: Snapshot, shown_round: int | None, classes: list[str]
) -> str:
    """Return a part for each class: how many pictures, how sure, and all of them.

    Parameters
    ----------
    live : LiveSession
    method : str
    snapshot : Snapshot
        The pool after a round, or the result.
    shown_round : int or None
        The place of the round; None for the result.
    classes : list of str
        Of the snapshot's columns.
    """
    corrections, confidence = live.marked, snapshot.confidence
    parts = []
    for place, name in enumerate(classes):
        rows = rows_of_class(snapshot, place, corrections, shown_round is None)
        new = 0 if shown_round is None else int(snapshot.joined[rows].sum())
        given = [(row, corrections[row]) for row in rows.tolist() if row in corrections]
        shown = (rows, confidence[rows], given)
        what = class_list(method, shown_round, place)
        pictures = gallery(live, what, said(name), len(rows), *shown) if len(rows) else _NOTHING
        parts.append(
            f'<section class="class" aria-label="{escape(said(name))}"><header><h3>'
            f"{escape(said(name))}</h3><span>{len(rows):,}</span>"
            + (f'<span class="new">+{new:,} now</span>' if new else "")
            + (_confidence_html(confidence[rows]) if len(rows) else "")
            + f"</header>{pictures}</section>"
        )
    return "".join(parts)


_NOTHING = '<span class="soft">Nothing has this class.</span>'


def _confidence_html(confidence: Array) -> str:
    """Return bars that say how many answers are how sure, from 0 to 100%, and the mean."""
    counts, _ = np.histogram(confidence, CONFIDENCE_BINS)
    most = max(int(counts.max()), 1)
    said = ", ".join(
        f"{count:,} from {low:.0%} to {high:.0%}"
        for count, low, high in zip(counts, CONFIDENCE_BINS, CONFIDENCE_BINS[1:], strict=False)
        if count
    )
    bars = "".join(f'<i style="height:{max(100 * count / most, 6):.0f}%"></i>' for count in counts)
    mean = float(confidence.mean())
    return (
        f'<span class="spread" role="img" aria-label="How sure: {said}" title="How sure: {said}">'
        f'{bars}</span>{meter(mean)}<span class="soft">{mean:.0%} sure</span>'
    )
