"""Galleries of pictures as plain HTML; ``gallery.js`` draws those near the window.

Thousands of pictures change with every round. A gallery is one element that lists them, so that neither
the page nor its first paint grows with their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

from unseen.features.words import readable
from unseen.labelling import PoolData
from unseen.metrics import unsure
from unseen.reporting.html_page import meter
from unseen.serving.studio.outcomes import Snapshot
from unseen.typing import Array

CONFIDENCE_BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
LEAST_TO_REVIEW = 24
"""Pictures to look at first, however sure all of them are."""
SHOWN_LETTERS = 80
"""Letters of a text that are read out."""


def picture_address(key: str, row: int | str) -> str:
    """Return where the page finds the picture of a row; ``key`` is that of its data."""
    return f"/picture/{key}/{row}"


def gallery(key: str, name: str, pictures: Iterable[tuple[int, str, str]]) -> str:
    """Return a gallery; ``pictures`` are row, kinds of its tile, and what is said of it."""
    listed = json.dumps([list(picture) for picture in pictures], ensure_ascii=False)
    return (
        f'<div class="gallery" role="group" aria-label="{escape(name)}" '
        f'data-address="{picture_address(key, "")}" data-pictures="{escape(listed)}"></div>'
    )


def tile(
    row: int, snapshot: Snapshot, name: str, corrections: Mapping[int, str], data: PoolData, final: bool
) -> tuple[int, str, str]:
    """Return a picture of a gallery: its row, the kinds of its tile, and what is said of it."""
    confidence = float(snapshot.confidence[row])
    kinds = ["yours"] if row in corrections else ["joined"] * bool(snapshot.joined[row] and not final)
    kinds += ["unsure"] * bool(unsure([confidence])[0])
    given = "your label" if row in corrections else f"{confidence:.0%} sure"
    item = f"picture {row}" if not data.texts else data.texts[row][:SHOWN_LETTERS]
    return row, " ".join(kinds), f"{item}: {readable(name)}, {given}"


def classes_html(
    key: str,
    snapshot: Snapshot,
    classes: list[str],
    corrections: Mapping[int, str],
    data: PoolData,
    final: bool,
) -> str:
    """Return a part for each class: how many pictures, how sure, and all of them.

    While rounds run, those that just joined come first; at the end, the least sure ones, which are
    those to look at.
    """
    labels, confidence = snapshot.labels, snapshot.confidence
    parts = []
    for place, name in enumerate(classes):
        rows = np.flatnonzero(labels == place)
        joined = snapshot.joined[rows]
        rows = rows[np.lexsort((confidence[rows],) if final else (-confidence[rows], ~joined))]
        ordered = sorted(rows.tolist(), key=lambda row: row not in corrections)
        mean = float(confidence[rows].mean()) if len(rows) else 0.0
        new = 0 if final else int(joined.sum())
        tiles = [tile(row, snapshot, name, corrections, data, final) for row in ordered]
        pictures = gallery(key, readable(name), tiles) if tiles else _NO_PICTURE
        parts.append(
            f'<section class="class" aria-label="{escape(readable(name))}"><header><h3>'
            f"{escape(readable(name))}</h3><span>{len(rows):,}</span>"
            + (f'<span class="new">+{new:,} now</span>' if new else "")
            + f"{_confidence_bars(confidence[rows])}{meter(mean)}"
            f'<span class="soft">{mean:.0%} sure</span></header>{pictures}</section>'
        )
    return "".join(parts)


_NO_PICTURE = '<span class="soft">no picture</span>'


def _confidence_bars(confidence: Array) -> str:
    """Return bars: how many answers are how sure, from unsure to sure."""
    counts, _ = np.histogram(confidence, CONFIDENCE_BINS)
    most = max(int(counts.max()), 1)
    said = ", ".join(
        f"{count:,} from {low:.0%} to {high:.0%}"
        for count, low, high in zip(counts, CONFIDENCE_BINS, CONFIDENCE_BINS[1:], strict=False)
        if count
    )
    bars = "".join(f'<i style="height:{max(100 * count / most, 4):.0f}%"></i>' for count in counts)
    return (
        f'<span class="spread" role="img" aria-label="confidence: {said}" title="{said}">{bars}</span>'
    )


def rows_to_review(snapshot: Snapshot, corrections: Mapping[int, str]) -> list[int]:
    """Return the rows to look at, least sure first: the unsure ones, and some in any case."""
    order = np.argsort(snapshot.confidence, kind="stable").tolist()
    rows = [row for row in order if row not in corrections]
    doubtful = int(unsure(snapshot.confidence[rows]).sum()) if rows else 0
    return rows[: max(doubtful, LEAST_TO_REVIEW)]
