"""The result at a glance: a map of the pool, which classes are confused, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from unseen.features.words import readable
from unseen.metrics import unsure
from unseen.serving.studio.outcomes import Outcome
from unseen.typing import Array

MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 640, 420, 14
MOST_POINTS = 4000
"""Points on the map; of more rows, every second or third is shown."""
MOST_CONFUSED_CLASSES = 24
"""Classes in the table of confusions, those with most doubt."""
LEAST_DOUBT = 0.01
"""Share of probability below which a cell of that table is left empty."""


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


def colour(place: int, classes: int) -> str:
    """Return the colour of a class."""
    hue = place * 360 / max(classes, 1)
    return f"hsl({hue:.0f} {62 + 14 * (place % 2)}% {46 + 9 * (place % 3)}%)"


def map_html(outcome: Outcome) -> str:
    """Return the map: a point a row, coloured by class; sure ones are solid, unsure ones rings."""
    result, classes = outcome.result, outcome.classes
    pool = outcome.fitted.task.data.pool
    places = plane(pool, result.labels, len(classes))
    low, high = np.percentile(places, 0.5, axis=0), np.percentile(places, 99.5, axis=0)
    size = np.array([MAP_WIDTH, MAP_HEIGHT]) - 2 * MAP_MARGIN
    spots = MAP_MARGIN + np.clip((places - low) / np.maximum(high - low, 1e-12), 0, 1) * size
    shown = np.arange(0, len(spots), max(1, -(-len(spots) // MOST_POINTS)))
    points, doubtful = [], unsure(result.confidence)
    for row in shown[np.argsort(-result.confidence[shown], kind="stable")].tolist():
        name, paint = classes[result.labels[row]], colour(int(result.labels[row]), len(classes))
        ring = f'fill="none" stroke="{paint}" stroke-width="2"'
        look = ring if doubtful[row] else f'fill="{paint}"'
        points.append(
            f'<circle data-row="{row}" cx="{spots[row, 0]:.1f}" cy="{spots[row, 1]:.1f}" r="4" {look}>'
            f"<title>{escape(readable(name))}, {result.confidence[row]:.0%} sure</title></circle>"
        )
    keys = "".join(
        f'<span><i style="background:{colour(k, len(classes))}"></i>{escape(readable(name))}</span>'
        for k, name in enumerate(classes)
    )
    some = f" {len(shown):,} of {len(spots):,} are shown." if len(shown) < len(spots) else ""
    return (
        f'<svg class="map" viewBox="0 0 {MAP_WIDTH} {MAP_HEIGHT}" role="img" aria-label="Map of '
        f'{len(spots):,} rows in {len(classes)} classes">{"".join(points)}</svg>'
        f'<p class="keys">{keys}</p><p class="soft">The plane in which the classes differ most. Rings '
        f"are unsure. Click a point to see it.{some}</p>"
    )


def confusion_html(outcome: Outcome) -> str:
    """Return a table: what share of its probability the pictures of a class leave to each other one."""
    result, classes = outcome.result, outcome.classes
    share = np.zeros((len(classes), len(classes)))
    for place in range(len(classes)):
        rows = result.labels == place
        if rows.any():
            share[place] = result.probabilities[rows].mean(axis=0)
    doubt = 1 - np.diag(share)
    doubt[~np.isin(np.arange(len(classes)), result.labels)] = 0
    shown = np.sort(np.argsort(-doubt, kind="stable")[:MOST_CONFUSED_CLASSES])
    heads = "".join(f'<th scope="col"><span>{escape(readable(classes[k]))}</span></th>' for k in shown)
    lines = "".join(
        f'<tr><th scope="row">{escape(readable(classes[i]))}</th>'
        + "".join(_confusion_cell(int(i), int(j), float(share[i, j]), classes) for j in shown)
        + "</tr>"
        for i in shown
    )
    some = "" if len(shown) == len(classes) else f" The {len(shown)} classes with most doubt are shown."
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Table of confusions">'
        '<table class="doubt">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
        f'<p class="soft">A line is a class as it was answered; its cells say how likely the other '
        f"classes are, on average. Press a cell to see what lies between the two.{some}</p>"
    )


def _confusion_cell(one: int, other: int, share: float, classes: Sequence[str]) -> str:
    if one == other:
        return f'<td class="own">{share:.0%}</td>'
    if share < LEAST_DOUBT:
        return "<td></td>"
    said = f"{readable(classes[one])} or {readable(classes[other])}: {share:.0%}"
    return (
        f'<td><button type="button" data-pair="{one},{other}" aria-label="{escape(said)}" '
        f'style="--doubt:{min(2 * share, 1):.2f}">{share:.0%}</button></td>'
    )


def rows_between(outcome: Outcome, one: int, other: int) -> list[int]:
    """Return the rows that were answered with one class, those first that are likeliest the other."""
    result = outcome.result
    rows = np.flatnonzero(result.labels == one)
    order = np.argsort(-result.probabilities[rows, other], kind="stable")
    return [int(row) for row in rows[order]]
