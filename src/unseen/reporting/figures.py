"""Figures: plain numbers first, then drawn as SVG whose text follows the colour of the page."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from unseen.files import need
from unseen.metrics import Reliability
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.axes import Axes

INK = "#123457"
"""Stands for the colour of text, and becomes ``currentColor`` in the SVG."""
COLOURS = ("#3b7dd8", "#e2762d", "#2fa36b", "#b45bc7", "#c9a227", "#d64f6a", "#5aa9b8")
MARKERS = "os^Dv"
"""One for each turn of the colours, so that no two curves look alike."""
MANY_CLASSES = 25


@dataclass(frozen=True)
class Line:
    """One curve, or one group of bars."""

    label: str
    x: list[float] | list[str]
    y: list[float]
    keys: list[str]
    deviation: list[float] = field(default_factory=list)
    dashed: bool = False
    fast_form_of: str = ""
    """The label of the plain form, whose colour the line of a fast form shares."""


@dataclass(frozen=True)
class Figure:
    """A figure before it is drawn."""

    name: str
    title: str
    kind: str
    """"bars", "lines", "matrix" or "reliability"."""
    x_label: str
    y_label: str
    lines: list[Line]
    caption: str
    log_x: bool = False

    def to_dict(self) -> JsonObject:
        """Return plain Python values, for JSON."""
        return {**vars(self), "lines": [vars(line) for line in self.lines]}


def need_matplotlib() -> ModuleType:
    """Return matplotlib, or say how to install it: drawing alone needs it."""
    return need("matplotlib", "figures", "figures")


def can_draw() -> bool:
    """Tell whether figures can be drawn here; a page that can do without them asks first."""
    return importlib.util.find_spec("matplotlib") is not None


def reliability_figure(
    name: str, title: str, diagrams: Mapping[str, Reliability], caption: str, keys: Sequence[str] = ()
) -> Figure:
    """Return a reliability diagram: the share of right answers against confidence, bin by bin.

    Parameters
    ----------
    diagrams : mapping
        Label of the curve → bins; its expected calibration error is added to the label.
    keys : sequence of str
        The stored row of each curve, if there are any.
    """
    lines = []
    for place, (label, bins) in enumerate(diagrams.items()):
        said, were = (100 * bins.confidence).tolist(), (100 * bins.accuracy).tolist()
        of_row = [keys[place]] * len(said) if keys else []
        lines.append(Line(f"{label}, ECE {bins.error:.3f}", said, were, of_row))
    return Figure(name, title, "reliability", "confidence, %", "right answers, %", lines, caption)


def draw(figure: Figure) -> str:
    """Return the SVG, transparent, with identifiers that begin with the figure's name.

    Examples
    --------
    >>> curve = Line("ASTE", [1, 2], [50.0, 60.0], [])
    >>> svg = draw(Figure("demo", "Demo", "lines", "round", "%", [curve], ""))
    >>> svg.startswith("<svg") and "currentColor" in svg
    True
    """
    matplotlib = need_matplotlib()
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    style: dict[object, object] = {
        "svg.fonttype": "none",
        "svg.hashsalt": figure.name,
        "font.size": 10,
        "font.family": "sans-serif",
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(style):
        width = 7.2
        if figure.kind == "matrix":
            canvas = Canvas(figsize=(6.0, 5.4), layout="constrained")
        elif figure.kind == "reliability":
            canvas = Canvas(figsize=(width, 4.6), layout="constrained")
        else:
            canvas = Canvas(figsize=(width, 3.8), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.add_subplot()
        kinds = {"bars": _bars, "lines": _curves, "matrix": _matrix, "reliability": _reliability}
        kinds[figure.kind](axes, figure)
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _adopted(stream.getvalue(), figure)


def _curves(axes: Axes, figure: Figure) -> None:
    owners = [line.fast_form_of or line.label for line in figure.lines]
    order = list(dict.fromkeys(owners))
    for line, owner in zip(figure.lines, owners, strict=True):
        turn, place = divmod(order.index(owner), len(COLOURS))
        colour = COLOURS[place]
        spread = line.deviation if any(line.deviation) and not line.dashed else None
        axes.errorbar(
            line.x,
            line.y,
            yerr=spread,
            color=colour,
            label=_literal(line.label),
            linestyle="--" if line.dashed or line.fast_form_of else "-",
            marker=None if line.dashed else MARKERS[turn % len(MARKERS)],
            markersize=4,
            linewidth=1.2 if line.dashed else 1.8,
            capsize=2,
        )
    if figure.log_x:
        axes.set_xscale("log")
    if axes.get_ylim()[1] > 100 and figure.y_label.endswith("%"):  # nothing is above
        axes.set_ylim(top=102)
    if figure.x_label == "round":
        axes.locator_params(axis="x", integer=True)
    _frame(axes, figure)


def _reliability(axes: Axes, figure: Figure) -> None:
    axes.plot([0, 100], [0, 100], color=INK, linestyle="--", linewidth=1, alpha=0.6)
    for place, line in enumerate(figure.lines):
        turn, colour = divmod(place, len(COLOURS))
        axes.plot(
            line.x,
            line.y,
            color=COLOURS[colour],
            marker=MARKERS[turn % len(MARKERS)],
            markersize=5,
            linewidth=1.6,
            label=_literal(line.label),
        )
    axes.set(xlim=(0, 102), ylim=(0, 102), aspect="equal")
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    axes.grid(color=INK, alpha=0.12)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8, borderaxespad=0)


def _bars(axes: Axes, figure: Figure) -> None:
    names = list(dict.fromkeys(x for line in figure.lines for x in line.x))
    many = len(names) > MANY_CLASSES
    width = 0.8 / len(figure.lines)
    for i, line in enumerate(figure.lines):
        place = [names.index(x) - 0.4 + (i + 0.5) * width for x in line.x]
        spread = line.deviation if any(line.deviation) else None
        axes.bar(
            place, line.y, width, yerr=spread, color=COLOURS[i], label=_literal(line.label), ecolor=INK
        )
        if len(names) <= 6:
            for x, y in zip(place, line.y, strict=True):
                axes.annotate(
                    f"{y:.1f}", (x, y), (0, 3), textcoords="offset points", ha="center", size=9
                )
    size = 5.5 if many else 10
    long = max(len(part) for n in names for part in str(n).split("@")) * len(names) > 84
    tick_labels = [_literal(n) if many else _literal(n).replace("@", "\n@") for n in names]
    axes.set_xticks(range(len(names)), tick_labels, rotation=90 if long else 0, size=size)
    axes.set_xlim(-0.6, len(names) - 0.4)
    _frame(axes, figure)


def _matrix(axes: Axes, figure: Figure) -> None:
    values = np.array([line.y for line in figure.lines])
    names = [_literal(line.label) for line in figure.lines]
    image = axes.imshow(values, cmap="viridis", vmin=0, vmax=100)
    size = 9 if len(names) <= MANY_CLASSES else 4.5
    axes.set_xticks(range(len(names)), names, rotation=90, size=size)
    axes.set_yticks(range(len(names)), names, size=size)
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    bar = axes.figure.colorbar(image, shrink=0.8)
    bar.set_label("% of the true class")
    if len(names) <= 12:
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                if value >= 0.5:
                    ink = "white" if value < 60 else "black"
                    axes.text(j, i, f"{value:.0f}", ha="center", va="center", size=8, color=ink)


def _literal(name: object) -> str:
    """Return a name that matplotlib does not take for a formula."""
    return str(name).replace("$", r"\$")


def _frame(axes: Axes, figure: Figure) -> None:
    axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
    axes.grid(axis="y", color=INK, alpha=0.15)
    axes.set_axisbelow(True)
    if len(figure.lines) > 1 or figure.kind == "lines":
        axes.legend(
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=4,
            fontsize=8,
            borderaxespad=0.3,
        )


def _adopted(svg: str, figure: Figure) -> str:
    """Fit an SVG to stand inside a page: no prolog, own identifiers, the page's colour, a title."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r'\bid="', f'id="{figure.name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{figure.name}-", svg)
    svg = re.sub(r'href="#', f'href="#{figure.name}-', svg)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    title = escape(figure.title)
    return f'{head} role="img" aria-label="{title}"><title>{title}</title>{rest}'


def figure_html(figure: Figure) -> str:
    """Return a figure with its drawing inside and its caption."""
    return (
        f'<h3 id="{escape(figure.name)}">{escape(figure.title)}</h3>\n<figure>{draw(figure)}'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )
