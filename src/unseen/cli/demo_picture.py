"""The picture of ``unseen demo``: confident and wrong digits, by predicted class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_digits

from unseen.datasets.record import ZeroShotDataset
from unseen.metrics import per_class_accuracy
from unseen.typing import Array

RIGHT, WRONG = 10, 6
"""Tiles a row."""
TILE = 0.9
FIRST, GAP = 1.95, 0.8
INK, BLUE, ORANGE, GREY = "#1b1f24", "#3b6fb6", "#d9541e", "#6b7280"


def draw(path: Path, name: str, model: Any, data: ZeroShotDataset) -> None:
    """Draw one row for each class that ``model`` predicted: its surest right and wrong digits."""
    true = data.y[data.test_unseen]
    confidence = model.predict_proba(data.X[data.test_unseen])
    predicted = model.classes_[confidence.argmax(axis=1)]
    order = np.argsort(-confidence.max(axis=1), kind="stable")
    images = load_digits().images
    width = FIRST + RIGHT + GAP + WRONG + 0.2
    rows = len(model.classes_)
    figure = Figure(figsize=(0.55 * width, 0.55 * (rows + 2.0)), facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(rows + 0.65, -1.35), aspect="equal")
    axes.axis("off")
    accuracy = 100 * per_class_accuracy(true, predicted)
    title = f"{name}: {len(true):,} handwritten digits, per-class accuracy {accuracy:.1f}%"
    _headings(axes, title, rows, data)
    for row, label in enumerate(model.classes_):
        given = order[predicted[order] == label]
        right, wrong = given[true[given] == label], given[true[given] != label]
        axes.text(0.3, row + 0.45, str(label), size=21, color=INK, ha="center", va="center")
        share = f"{len(right)} of {len(given)}" if len(given) else "never"
        axes.text(0.72, row + 0.45, share, size=7, color=GREY, ha="left", va="center")
        for place, sample in enumerate(right[:RIGHT]):
            _tile(axes, FIRST + place, row, images[sample], BLUE, None)
        for place, sample in enumerate(wrong[:WRONG]):
            _tile(axes, FIRST + RIGHT + GAP + place, row, images[sample], ORANGE, str(true[sample]))
        if len(right) and not len(wrong):
            x = FIRST + RIGHT + GAP
            axes.text(x, row + 0.45, "no mistake", size=8, color=GREY, ha="left", va="center")
    figure.savefig(path, dpi=130, format="png", metadata={"Software": None})


def _headings(axes: Any, title: str, rows: int, data: ZeroShotDataset) -> None:
    axes.text(0.1, -0.95, title, size=12, weight="bold", color=INK, va="center")
    axes.text(0.1, -0.25, "predicted (right)", size=8, color=GREY, va="center")
    axes.text(FIRST, -0.25, "surest of the right ones", size=8, color=BLUE, va="center")
    text = "surest of the wrong ones, and what they are"
    axes.text(FIRST + RIGHT + GAP, -0.25, text, size=8, color=ORANGE, va="center")
    text = f"No digit was labelled · {data.name} · {data.features} · made by: unseen demo"
    axes.text(0.1, rows + 0.3, text, size=7, color=GREY, va="center")


def _tile(axes: Any, x: float, y: float, image: Array, colour: str, true: str | None) -> None:
    extent = (x, x + TILE, y + TILE, y)
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=16, extent=extent, interpolation="nearest")
    thick = 0.8 if true is None else 2.0
    axes.add_patch(Rectangle((x, y), TILE, TILE, fill=False, edgecolor=colour, linewidth=thick))
    if true is not None:
        box = {"facecolor": colour, "edgecolor": "none", "boxstyle": "square,pad=0.15"}
        place = x + TILE - 0.12, y + TILE - 0.14
        axes.text(*place, true, size=7, color="white", ha="center", va="center", bbox=box)
