"""A picture of answers: one row a class, its most confident right and wrong images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.reporting.figures import need_matplotlib
from unseen.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIGHT_TILES, WRONG_TILES = 10, 6
"""Images of a row."""
TILE_SIDE = 0.9
FIRST_TILE_X, WRONG_TILES_GAP = 1.95, 0.8
"""In tiles, as all places here."""
INK, BLUE, ORANGE, GREY = "#1b1f24", "#3b6fb6", "#d9541e", "#6b7280"


def draw_answers(
    path: Path,
    title: str,
    source: str,
    images: Array,
    truth: Array,
    classes: Array,
    probabilities: Array,
) -> None:
    """Draw one row for each class: its most confident right and wrong images.

    Parameters
    ----------
    path : path
        The PNG to write.
    title, source : str
        Above and below the rows.
    images : array of shape (n, height, width)
        Ink from 0 to 16.
    truth : array of shape (n,)
        The class of each image.
    classes : array of shape (L,)
    probabilities : array of shape (n, L)
    """
    need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    predicted = classes[probabilities.argmax(axis=1)]
    order = np.argsort(-probabilities.max(axis=1), kind="stable")
    wrong_tiles_x = FIRST_TILE_X + RIGHT_TILES + WRONG_TILES_GAP
    width = wrong_tiles_x + WRONG_TILES + 0.2
    figure = Figure(figsize=(0.55 * width, 0.55 * (len(classes) + 2.0)), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(len(classes) + 0.65, -1.35), aspect="equal")
    axes.axis("off")
    _headings(axes, title, wrong_tiles_x)
    axes.text(0.1, len(classes) + 0.3, source, size=7, color=GREY, va="center")
    for row, label in enumerate(classes):
        answered = order[predicted[order] == label]
        right, wrong = answered[truth[answered] == label], answered[truth[answered] != label]
        axes.text(0.3, row + 0.45, str(label), size=21, color=INK, ha="center", va="center")
        share = f"{len(right)} of {len(answered)}" if len(answered) else "never"
        axes.text(0.72, row + 0.45, share, size=7, color=GREY, ha="left", va="center")
        for place, sample in enumerate(right[:RIGHT_TILES]):
            _tile(axes, FIRST_TILE_X + place, row, images[sample], BLUE, None)
        for place, sample in enumerate(wrong[:WRONG_TILES]):
            _tile(axes, wrong_tiles_x + place, row, images[sample], ORANGE, str(truth[sample]))
        if len(right) and not len(wrong):
            text = "no mistake"
            axes.text(wrong_tiles_x, row + 0.45, text, size=8, color=GREY, ha="left", va="center")
    figure.savefig(path, dpi=130, format="png", metadata={"Software": None, "Title": title})


def _headings(axes: Axes, title: str, wrong_tiles_x: float) -> None:
    axes.text(0.1, -0.95, title, size=12, weight="bold", color=INK, va="center")
    axes.text(0.1, -0.25, "predicted (right)", size=8, color=GREY, va="center")
    axes.text(FIRST_TILE_X, -0.25, "most confident right answers", size=8, color=BLUE, va="center")
    text = "most confident wrong answers, and the true class"
    axes.text(wrong_tiles_x, -0.25, text, size=8, color=ORANGE, va="center")


def _tile(axes: Axes, x: float, y: float, image: Array, colour: str, true: str | None) -> None:
    from matplotlib.patches import Rectangle

    extent = (x, x + TILE_SIDE, y + TILE_SIDE, y)
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=16, extent=extent, interpolation="nearest")
    thick = 0.8 if true is None else 2.0
    axes.add_patch(
        Rectangle((x, y), TILE_SIDE, TILE_SIDE, fill=False, edgecolor=colour, linewidth=thick)
    )
    if true is not None:
        box = {"facecolor": colour, "edgecolor": "none", "boxstyle": "square,pad=0.15"}
        place = x + TILE_SIDE - 0.12, y + TILE_SIDE - 0.14
        axes.text(*place, true, size=7, color="white", ha="center", va="center", bbox=box)
