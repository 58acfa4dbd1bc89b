"""The picture of the house, drawn from the code: packages on their layers, imports as lines."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import grimp
import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

WIDTH, HEIGHT = 1.9, 0.56


def layers(root: Path) -> list[list[str]]:
    """Return the layers of the import contract, the highest first."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip() for name in layer.split("|")] for layer in contract]


def imports(names: set[str]) -> set[tuple[str, str]]:
    """Return which part of the house imports which."""
    graph = grimp.build_graph("unseen")
    found = set()
    for module in graph.modules:
        owner = module.partition(".")[2].partition(".")[0]
        for other in graph.find_modules_directly_imported_by(module):
            target = other.partition(".")[2].partition(".")[0]
            if owner != target and {owner, target} <= names:
                found.add((owner, target))
    return found


def draw(root: Path, path: Path) -> None:
    """Draw the layers from the command line down to the types."""
    rows = layers(root)
    figure, axes = plt.subplots(figsize=(9.5, 0.72 * len(rows)), layout="constrained")
    places = {}
    for depth, row in enumerate(rows):
        for number, name in enumerate(row):
            places[name] = ((number - (len(row) - 1) / 2) * (WIDTH + 0.25), -depth)
    everywhere = set(rows[-1]) | set(rows[-2])  # files, types and errors serve all: no lines
    for owner, target in imports(set(places) - everywhere):
        (x, y), (to_x, to_y) = places[owner], places[target]
        axes.plot([x, to_x], [y, to_y], color="#8aa0b8", linewidth=0.7, alpha=0.5, zorder=1)
    for name, (x, y) in places.items():
        box = FancyBboxPatch(
            (x - WIDTH / 2, y - HEIGHT / 2), WIDTH, HEIGHT,
            boxstyle="round,pad=0.02,rounding_size=0.12",
            facecolor="#eef3f9", edgecolor="#35506e", zorder=2,
        )  # fmt: skip
        axes.add_patch(box)
        axes.text(x, y, name, ha="center", va="center", fontsize=9, color="#16283b", zorder=3)
    reach = max(abs(x) for x, _ in places.values()) + WIDTH
    axes.set(xlim=(-reach, reach), ylim=(-len(rows) + 0.4, 0.6))
    axes.set_axis_off()
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def write_picture(app: Any) -> None:
    """Draw it where the design notes show it."""
    path = Path(app.srcdir) / "design/generated/house.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(Path(app.srcdir).parent, path)


def setup(app: Any) -> dict[str, bool]:
    """Draw before the pages are read."""
    app.connect("builder-inited", write_picture)
    return {"parallel_read_safe": True}
