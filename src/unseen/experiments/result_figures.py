"""The data of the paper's figures: plain numbers with the keys of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from unseen.experiments import paper
from unseen.experiments.answer_tables import reliability_figures
from unseen.experiments.result_store import Row
from unseen.experiments.results import Results
from unseen.methods import find
from unseen.reporting.figures import Figure, Line


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
    for make in (*makers, reliability_figures, confusions):
        made += make(results)
    return [figure for figure in made if figure.lines]


def figure_4(results: Results) -> list[Figure]:
    """Fig. 4: ASTE against TASTE on every data set; and the paper's own numbers."""
    lines = []
    for method in ("ASTE", "TASTE"):
        rows_of = {d: results.select(d, method) for d in results.datasets}
        rows_of = {d: rows for d, rows in rows_of.items() if rows}
        if rows_of:
            lines.append(_line(method, list(rows_of), list(rows_of.values())))
    published = {(p.method, p.column): p.mean for t in ("II", "III") for p in paper.accuracies(t)}
    published_text = ", ".join(
        f"{c} {published['ASTE', c]:g} → {published['TASTE', c]:g}" for c in paper.COLUMNS
    )
    caption = (
        "Structural embedding without (ASTE) and with unlabelled rows (TASTE). The paper, on VGG-19 "
        f"features, not comparable with ours: {published_text}."
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
        rows = [r for r in rows if r.preset == "default" and not r.parameters]
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
    caption = (
        "Of the rows first trusted in a round, the share whose final label is right. True labels "
        "are used here, after the fit, and nowhere else."
    )

    def draw(dataset: str, name: str) -> Figure:
        transductive = results.methods(transductive=True)
        lines = [line for method in transductive for line in _purity(results, dataset, method)]
        title = f"Self-paced rounds, {dataset}"
        return Figure(name, title, "lines", "round", "right, %", lines, caption)

    return _one_a_dataset(results, "rounds", draw)


def _purity(results: Results, dataset: str, method: str) -> list[Line]:
    """Return a line for each first trial with more than one measured round: a curve needs two."""
    form = find(method)
    fast_form_of = form.plain_name if form.fast else ""
    lines = []
    for row in results.select(dataset, method):
        measured = [h for h in row.history if h.get("purity") is not None]
        if row.trial == 0 and len(measured) > 1:
            x, y = [h["round"] for h in measured], [100 * h["purity"] for h in measured]
            lines.append(Line(method, x, y, [row.key] * len(x), fast_form_of=fast_form_of))
    return lines


def classes(results: Results) -> list[Figure]:
    """Per-class accuracy of the best inductive and the best transductive method."""
    caption = "The best inductive and the best transductive method here, trial 0, class by class."

    def draw(dataset: str, name: str) -> Figure:
        lines = []
        for row in _best_first_trials(results, dataset):
            shares = row.metrics["by_class"]
            y, keys = [100 * v for v in shares.values()], [row.key] * len(shares)
            lines.append(Line(row.method, list(shares), y, keys))
        title = f"Per-class accuracy, {dataset}"
        return Figure(name, title, "bars", "", "accuracy, %", lines, caption)

    return _one_a_dataset(results, "classes", draw)


def confusions(results: Results) -> list[Figure]:
    """Confusion of the best method on each data set: which class was predicted for which."""

    def draw(dataset: str, name: str) -> Figure | None:
        rows = [r for r in _best_first_trials(results, dataset) if "confusion" in r.metrics]
        if not rows:
            return None
        row = max(rows, key=lambda r: r.accuracy)
        labels = row.metrics["confusion"]["classes"]
        counts = np.array(row.metrics["confusion"]["counts"], dtype=float)
        shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        lines = [Line(n, labels, s.tolist(), [row.key]) for n, s in zip(labels, shares, strict=True)]
        caption = f"{row.method}, trial 0. Rows: the true class; columns: the predicted class, in %."
        return Figure(name, f"Confusion, {dataset}", "matrix", "predicted", "true", lines, caption)

    return _one_a_dataset(results, "confusion", draw)


def _one_a_dataset(
    results: Results, prefix: str, draw: Callable[[str, str], Figure | None]
) -> list[Figure]:
    """Return what ``draw`` makes of each data set and the name of its figure.

    Simulated data sets, whose classes mean nothing, are left out if there are others.
    """
    real = [d for d in results.datasets if not d.startswith("simulated")]
    figures = (draw(dataset, f"{prefix}_{_file(dataset)}") for dataset in real or results.datasets)
    return [figure for figure in figures if figure is not None]


def _best_first_trials(results: Results, dataset: str) -> list[Row]:
    """Return the first trial of the best inductive and of the best transductive method."""
    return [row for kind in (False, True) for row in _best(results, dataset, kind)[:1]]


def _best(results: Results, dataset: str, transductive: bool) -> list[Row]:
    """Return the trials of the method with the best mean accuracy."""
    groups = [results.select(dataset, m) for m in results.methods(transductive=transductive)]
    groups = [rows for rows in groups if rows]
    return max(groups, key=lambda rows: np.mean([r.accuracy for r in rows]), default=[])


def _line(label: str, x: list[float] | list[str], groups: list[list[Row]]) -> Line:
    means = [100 * float(np.mean([r.accuracy for r in rows])) for rows in groups]
    spreads = [
        100 * float(np.std([r.accuracy for r in rows], ddof=min(1, len(rows) - 1))) for rows in groups
    ]
    return Line(label, x, means, [r.key for rows in groups for r in rows], spreads)


def _of(row: Row, dataset: str, method: str) -> bool:
    plain = row.setting == "zsl" and row.prior == "default" and row.preset == "default"
    plain = plain and not row.parameters
    return row.dataset == dataset and row.method == method and plain


def _file(dataset: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in Path(dataset).name)
