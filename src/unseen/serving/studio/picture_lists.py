"""Which pictures a gallery or the map shows, told when a browser asks for it.

The page itself holds no picture, so that neither it nor its first paint grows with their number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from unseen.exceptions import DataError
from unseen.labelling import PoolData
from unseen.metrics import unsure
from unseen.serving.studio.live_session import LiveSession
from unseen.serving.studio.outcomes import Snapshot, said
from unseen.serving.studio.overview_html import item_text, map_points
from unseen.typing import Array, JsonObject

REVIEW, CHANGED, YOURS, MAP, CLASS = "review", "changed", "yours", "map", "class"
RESULT = "result"
SHOWN_LETTERS = 160
"""Letters of a text in a gallery."""

Entry = tuple[int, str, str, str]
"""Row, kinds of its tile, the name of the item or its text, and the answer."""


def list_address(live: LiveSession, what: str, *shown: object) -> str:
    """Return where a list is found; it is another one when what is shown is another."""
    digest = hashlib.blake2b(digest_size=6)
    for part in (live.key, *shown):
        digest.update(part.tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return f"/session/{live.session.identity}/list/{what}?{digest.hexdigest()}"


def class_list(method: str, shown_round: int | None, place: int) -> str:
    """Name the list of a class: of a round, or of the result."""
    return f"{CLASS}/{method}/{RESULT if shown_round is None else shown_round}/{place}"


def rows_of_class(snapshot: Snapshot, place: int, corrections: Mapping[int, str], final: bool) -> Array:
    """Return the rows of a class in the order in which they are shown.

    Those that a person labelled come first; then, while rounds run, those that just joined, and at the
    end the least sure ones, which are those to look at.
    """
    rows = np.flatnonzero(snapshot.labels == place)
    given = np.isin(rows, list(corrections))
    sure, joined = snapshot.confidence[rows], snapshot.joined[rows]
    keys = (sure, ~given) if final else (-sure, ~joined, ~given)
    return np.asarray(rows[np.lexsort(keys)])


def told(live: LiveSession, what: str) -> list[Entry] | JsonObject:
    """Return the list of this name, as the session is now."""
    data = live.data
    if data is None:
        raise DataError("Nothing was learned yet.")
    kind, *rest = what.split("/")
    if kind == CLASS:
        method, shown, place = rest
        final = shown == RESULT
        snapshot = live.snapshot(method, None if final else int(shown))
        shown_rows = rows_of_class(snapshot, int(place), live.marked, final)
        classes = live.columns(method, snapshot)
        return entries(shown_rows.tolist(), snapshot, data, live.marked, final, classes)
    if not live.results:
        raise DataError("There is no result yet.")
    outcome = live.results[0]
    if kind == MAP:
        return map_points(outcome, next(iter(live.outcomes.values())), SHOWN_LETTERS)
    rows = {
        REVIEW: live.rows_to_review,
        CHANGED: live.changed_rows,
        YOURS: list(reversed(live.marked)),  # the last one first
    }[kind]
    return entries(rows, outcome.result, data, live.marked, True, outcome.classes)


def entries(
    rows: Iterable[int],
    snapshot: Snapshot,
    data: PoolData,
    corrections: Mapping[int, str],
    final: bool,
    classes: list[str],
) -> list[Entry]:
    """Return what a gallery shows of rows; ``classes`` are those of the snapshot's columns."""
    confidence, doubtful = snapshot.confidence, unsure(snapshot.confidence)
    names = [said(name) for name in classes]
    listed = []
    for row in rows:
        if row in corrections:
            kinds, answer = "yours", f"{said(corrections[row])}, your label"
        else:
            joined = "joined " * bool(snapshot.joined[row] and not final)
            kinds = f"{joined}{'unsure' * bool(doubtful[row])}".strip()
            answer = f"{names[snapshot.labels[row]]}, {confidence[row]:.0%} sure"
        listed.append((row, kinds, item_text(data, row, SHOWN_LETTERS), answer))
    return listed
