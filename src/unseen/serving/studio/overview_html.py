"""The result at a glance: a map of the pool, and which classes are hard to tell apart."""

from __future__ import annotations

from html import escape

import numpy as np

from unseen.labelling import PoolData
from unseen.metrics import unsure
from unseen.serving.studio.outcomes import NONE_OF_THESE, Outcome, said
from unseen.typing import Array, Codes, JsonObject

MOST_POINTS = 4000
"""Points on the map; of more rows, every second or third is shown."""
MOST_CONFUSED_CLASSES = 24
"""Classes in the table of confusions, those with most doubt."""


def picture_address(key: str, row: int | str) -> str:
    """Return where the page finds the picture of a row; ``key`` is that of its data."""
    return f"/picture/{key}/{row}"


def item_text(data: PoolData, row: int, letters: int) -> str:
    """Return what an item is called: the name of its file, or the beginning of its text."""
    if data.texts is None:
        return data.paths[row].name
    text = data.texts[row] if data.texts else f"row {data.text_rows[row]}"
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def plane(pool: Array, labels: Array, classes: int) -> Array:
    """Return two coordinates of each row: the plane in which the means of the classes differ most.

    Examples
    --------
    >>> plane(np.array([[0.0, 0, 1], [0, 0, 2], [4, 0, 1], [4, 0, 2]]), np.array([0, 0, 1, 1]), 2)[:, 0]
    array([-2., -2.,  2.,  2.])
    """
    rows = np.asarray(pool, dtype=np.float64)
    middle = rows.mean(axis=0)
    filled = [k for k in range(classes) if (labels == k).any()]
    means = np.stack([rows[labels == k].mean(axis=0) for k in filled]) - middle
    directions = np.linalg.svd(means, full_matrices=False)[2][:2]
    directions = directions * np.where(directions.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    places = (rows - middle) @ directions.T
    return places if places.shape[1] == 2 else np.column_stack([places, np.zeros(len(places))])


def colour(place: int, classes: list[str]) -> str:
    """Return the colour of a class, the same with and without "none of these", which is grey."""
    if classes[place] == NONE_OF_THESE:
        return "hsl(0 0% 52%)"
    hue = place * 360 / sum(name != NONE_OF_THESE for name in classes)
    return f"hsl({hue:.0f} {62 + 14 * (place % 2)}% {46 + 9 * (place % 3)}%)"


def shown_points(rows: int) -> Codes:
    """Return the rows that are on the map."""
    return np.arange(0, rows, max(1, -(-rows // MOST_POINTS)))


def map_points(outcome: Outcome, learned: Outcome, letters: int) -> JsonObject:
    """Return the points of the map: classes with their colours, and where each row lies, from 0 to 1.

    Parameters
    ----------
    outcome : Outcome
        What is shown, with the labels that a person gave since.
    learned : Outcome
        The same without them: it says where the rows lie, so that they stay there.
    letters : int
        Of a text that are shown.
    """
    result, classes = outcome.result, outcome.classes
    data = outcome.fitted.task.data
    places = plane(data.pool, learned.result.labels, len(classes))
    low, high = np.percentile(places, 0.5, axis=0), np.percentile(places, 99.5, axis=0)
    spots = np.clip((places - low) / np.maximum(high - low, 1e-12), 0, 1).round(4)
    shown, doubtful, sure = shown_points(len(spots)), unsure(result.confidence), result.confidence
    names = [said(name) for name in classes]
    points = []
    for row in shown[np.argsort(-sure[shown], kind="stable")].tolist():
        place = int(result.labels[row])
        answer = f"{names[place]}, {sure[row]:.0%} sure"
        name = item_text(data, row, letters)
        points.append([*spots[row].tolist(), place, int(doubtful[row]), row, name, answer])
    colours = [[names[k], colour(k, classes)] for k in range(len(names))]
    return {"classes": colours, "points": points}


def map_html(outcome: Outcome, address: str, pictures: str) -> str:
    """Return the frame of the map, which ``pool_map.js`` fills: a point a row, coloured by class.

    ``address`` is that of its points; ``pictures`` is an attribute that says where the pictures are.
    """
    classes, rows = outcome.classes, len(outcome.result.labels)
    keys = "".join(
        f'<span><i style="background:{colour(k, classes)}"></i>{escape(said(name))}</span>'
        for k, name in enumerate(classes)
    )
    shown = len(shown_points(rows))
    some = f" {shown:,} of {rows:,} are shown." if shown < rows else ""
    return (
        f'<div class="map" tabindex="0" role="group" aria-label="Map of {rows:,} items in '
        f'{len(classes)} classes. Arrow keys go from point to point, Enter opens one." '
        f'data-list="{escape(address)}"{pictures}><canvas aria-hidden="true"></canvas>'
        f'<div class="tip" role="status" hidden></div></div><p class="keys">{keys}</p>'
        '<p class="soft">The plane in which the classes differ most: alike items lie near each other. '
        f"A ring is an unsure answer. Click a point to see it.{some}</p>"
    )


def runners_up(outcome: Outcome) -> tuple[Codes, Codes, Codes]:
    """Return the unsure rows, the class that each was answered with, and the next best one."""
    result = outcome.result
    rows = np.flatnonzero(unsure(result.confidence))
    order = np.argsort(-result.probabilities[rows], axis=1, kind="stable")
    return rows, order[:, 0], order[:, 1]


def confusion_html(outcome: Outcome) -> str:
    """Return a table: between which two classes the unsure answers lie, and how many."""
    classes = outcome.classes
    counts = np.bincount(outcome.result.labels, minlength=len(classes))
    between = np.zeros((len(classes), len(classes)), dtype=int)
    _, first, second = runners_up(outcome)
    np.add.at(between, (first, second), 1)
    if not between.any():
        return '<p class="soft">No answer is unsure.</p>'
    doubt = between.sum(axis=0) + between.sum(axis=1)
    some = np.argsort(-doubt, kind="stable")[:MOST_CONFUSED_CLASSES]
    shown = np.sort(some[doubt[some] > 0]) if len(classes) > MOST_CONFUSED_CLASSES else np.sort(some)
    heads = "".join(f'<th scope="col"><span>{escape(said(classes[k]))}</span></th>' for k in shown)
    lines = "".join(
        f'<tr><th scope="row">{escape(said(classes[i]))}</th>'
        + "".join(
            f'<td class="own">{counts[i]:,}</td>'
            if i == j
            else _confusion_cell(int(i), int(j), int(between[i, j]), int(counts[i]), classes)
            for j in shown
        )
        + "</tr>"
        for i in shown
    )
    few = "" if len(shown) == len(classes) else f" The {len(shown)} classes with most doubt are shown."
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Which classes are confused">'
        '<table class="doubt">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
        '<p class="soft">A line is a class as it was answered, with its number of items. The other '
        "cells say how many of them are unsure and might be the class above. Press one to look at "
        f"them.{few}</p>"
    )


def _confusion_cell(one: int, other: int, count: int, total: int, classes: list[str]) -> str:
    if not count:
        return "<td></td>"
    text = f"{said(classes[one])} or {said(classes[other])}: {count:,} unsure"
    return (
        f'<td><button type="button" data-pair="{one},{other}" aria-label="{escape(text)}" '
        f'title="{escape(text)}" style="--doubt:{min(0.3 + count / max(total, 1), 1):.2f}">'
        f"{count:,}</button></td>"
    )


def rows_between(outcome: Outcome, one: int, other: int) -> list[int]:
    """Return the unsure rows that were answered with one class and might be another."""
    rows, first, second = runners_up(outcome)
    chosen = rows[(first == one) & (second == other)]
    return [int(row) for row in chosen[np.argsort(outcome.result.confidence[chosen], kind="stable")]]
