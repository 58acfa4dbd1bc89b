"""The paper's figures, data first: each is plain numbers with the keys of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unseen.experiments import paper
from unseen.experiments.results import Results
from unseen.experiments.store import Row
from unseen.methods import find


@dataclass(frozen=True)
class Line:
    """One curve, or one group of bars."""

    label: str
    x: list[Any]
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
    """"bars", "lines" or "matrix"."""
    x_label: str
    y_label: str
    lines: list[Line]
    caption: str
    log_x: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON."""
        return {**vars(self), "lines": [vars(line) for line in self.lines]}


def all_figures(results: Results) -> list[Figure]:
    """Return every figure that the rows support."""
    made: list[Figure] = []
    makers: tuple[Callable[[Results], list[Figure]], ...] = (
        figure_4,
        figure_5,
        weight,
        rounds,
        classes,
    )
    for make in (*makers, confusions):
        made += make(results)
    return [figure for figure in made if figure.lines]


def figure_4(results: Results) -> list[Figure]:
    """Fig. 4: ASTE against TASTE on every data set; and the paper's own numbers."""
    lines = []
    for method in ("ASTE", "TASTE"):
        found = {d: results.select(d, method) for d in results.datasets}
        found = {d: rows for d, rows in found.items() if rows}
        if found:
            lines.append(_line(method, list(found), list(found.values())))
    published = {(p.method, p.column): p.mean for t in ("II", "III") for p in paper.accuracies(t)}
    told = ", ".join(f"{c} {published['ASTE', c]:g} → {published['TASTE', c]:g}" for c in paper.COLUMNS)
    caption = (
        "Structural embedding without (ASTE) and with unlabelled rows (TASTE). The paper, on VGG-19 "
        f"features, not comparable with ours: {told}."
    )
    title = "Fig. 4 — ASTE against TASTE"
    return [Figure("fig_4", title, "bars", "", "per-class accuracy, %", lines, caption)]


def figure_5(results: Results) -> list[Figure]:
    """Fig. 5: accuracy against the share of training rows; fast training as a dashed line."""
    made = []
    for dataset in results.datasets:
        lines = []
        for method in results.methods(fast=False):
            rows = [r for r in results.fits if _of(r, dataset, method) and r.C is None]
            shares = sorted({r.share for r in rows})
            if len(shares) > 2:
                groups = [results.select(dataset, method, share=s) for s in shares]
                lines.append(_line(method, [100 * s for s in shares], groups))
                _, fast = results.both_forms(dataset, method)
                if fast:
                    level = _line(fast[0].method, [0.0, 100.0], [fast, fast])
                    lines.append(replace(level, dashed=True, fast_form_of=method))
        caption = (
            "The start of each curve is one random row a class, the paper's start point; dashed: fast "
            "training on the means of all rows. Mean over trials; whiskers: one standard deviation."
        )
        made.append(
            Figure(
                f"fig_5_{_file(dataset)}",
                f"Fig. 5 — share of training data, {dataset}",
                "lines",
                "training rows of each class, %",
                "per-class accuracy, %",
                lines,
                caption,
            )
        )
    return made


def weight(results: Results) -> list[Figure]:
    """The paper's claim that C hardly matters."""
    lines = []
    for dataset in results.datasets:
        rows = [r for r in results.fits if r.dataset == dataset and r.C is not None]
        values = sorted({r.C for r in rows if r.C is not None})
        if len(values) > 2:
            method = rows[0].method
            groups = [results.select(dataset, method, C=value) for value in values]
            lines.append(_line(f"{method}, {dataset}", values, groups))
    spans = [f"{line.label}: {min(line.y):.1f} to {max(line.y):.1f}" for line in lines]
    caption = (
        "The paper fixes C = 0.1 and says that the result is not sensitive to it. Measured over "
        f"the values drawn: {'; '.join(spans)}. Here class-wise folds choose C unless it is fixed."
    )
    title = "Does C matter?"
    axis = "C, weight of the regulariser"
    return [Figure("weight_C", title, "lines", axis, "per-class accuracy, %", lines, caption, True)]


def rounds(results: Results) -> list[Figure]:
    """The self-paced history: how pure the newly trusted rows are, round by round."""
    made = []
    for dataset in _telling(results):
        lines = []
        for method in results.methods(transductive=True):
            rows = [r for r in results.select(dataset, method) if r.trial == 0 and r.history]
            for row in rows:
                told = [h for h in row.history if h.get("purity") is not None]
                if len(told) < 2:  # all rows are trusted in one round: no curve
                    continue
                x = [h["round"] for h in told]
                y = [100 * h["purity"] for h in told]
                form = find(method)
                fast_form_of = form.plain_name if form.fast else ""
                lines.append(Line(method, x, y, [row.key] * len(x), fast_form_of=fast_form_of))
        caption = (
            "Of the rows first trusted in a round, the share whose final label is right. True labels "
            "are used here, after the fit, and nowhere else."
        )
        name, title = f"rounds_{_file(dataset)}", f"Self-paced rounds, {dataset}"
        made.append(Figure(name, title, "lines", "round", "right, %", lines, caption))
    return made


def classes(results: Results) -> list[Figure]:
    """Per-class accuracy of the best inductive and the best transductive method."""
    made = []
    for dataset in _telling(results):
        lines = []
        for transductive in (False, True):
            best = _best(results, dataset, transductive)
            if best:
                shares = best[0].metrics["by_class"]
                label, keys = best[0].method, [best[0].key] * len(shares)
                lines.append(Line(label, list(shares), [100 * v for v in shares.values()], keys))
        caption = "The best inductive and the best transductive method here, trial 0, class by class."
        name, title = f"classes_{_file(dataset)}", f"Per-class accuracy, {dataset}"
        made.append(Figure(name, title, "bars", "", "accuracy, %", lines, caption))
    return made


def confusions(results: Results) -> list[Figure]:
    """Confusion of the best method on each data set: what was taken for what."""
    made = []
    for dataset in _telling(results):
        found = [r for t in (False, True) for r in _best(results, dataset, t)[:1]]
        found = [r for r in found if "confusion" in r.metrics]
        if not found:
            continue
        row = max(found, key=lambda r: r.accuracy)
        names = row.metrics["confusion"]["classes"]
        counts = np.array(row.metrics["confusion"]["counts"], dtype=float)
        shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        lines = [Line(n, names, s.tolist(), [row.key]) for n, s in zip(names, shares, strict=True)]
        caption = f"{row.method}, trial 0. Rows: the true class; columns: what it was taken for, in %."
        name, title = f"confusion_{_file(dataset)}", f"Confusion, {dataset}"
        made.append(Figure(name, title, "matrix", "predicted", "true", lines, caption))
    return made


def _telling(results: Results) -> list[str]:
    """Return the data sets whose classes mean something; simulated ones if there are no others."""
    real = [d for d in results.datasets if not d.startswith("simulated")]
    return real or results.datasets


def _best(results: Results, dataset: str, transductive: bool) -> list[Row]:
    """Return the trials of the method with the best mean accuracy."""
    groups = [results.select(dataset, m) for m in results.methods(transductive=transductive)]
    groups = [rows for rows in groups if rows]
    return max(groups, key=lambda rows: np.mean([r.accuracy for r in rows]), default=[])


def _line(label: str, x: list[Any], groups: list[list[Row]]) -> Line:
    means = [100 * float(np.mean([r.accuracy for r in rows])) for rows in groups]
    spreads = [
        100 * float(np.std([r.accuracy for r in rows], ddof=min(1, len(rows) - 1))) for rows in groups
    ]
    return Line(label, x, means, [r.key for rows in groups for r in rows], spreads)


def _of(row: Row, dataset: str, method: str) -> bool:
    plain = row.setting == "zsl" and row.prior == "default"
    return row.dataset == dataset and row.method == method and plain


def _file(dataset: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in Path(dataset).name)
