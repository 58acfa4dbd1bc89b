"""Ours beside the paper's: with the difference, both features, and whether they compare at all."""

from __future__ import annotations

import re

from unseen.experiments import paper, registry
from unseen.experiments.results import Results, Table, Value, measured

_TITLES = {
    "II": "Table II beside the paper — inductive",
    "III": "Table III beside the paper — transductive",
    "IV": "Table IV beside the paper — fast training",
}
_MARKS = {"VGG-19 (fc7)": "vgg", "GoogLeNet": "googlenet", "DeCAF": "decaf"}


def beside_paper(results: Results, table: str) -> Table:
    """Return every published number of a table, with ours on each data set of that name beside it."""
    columns = ("Method", "Paper's data", "Published", "on features", "Our data", "Ours", "on features ",
               "Difference", "Comparable?")  # fmt: skip
    ours = {registry.METHODS[m].paper: m for m in results.methods()}
    rows = []
    for line in paper.accuracies(table):
        spread = "" if line.deviation is None else f" ± {line.deviation:g}"
        published = [
            Value(line.method),
            Value(line.column),
            Value(f"{line.mean:g}{spread}", line.mean),
            Value(line.features),
        ]
        found = 0
        for dataset in results.datasets:
            own = measured(results.select(dataset, ours.get(line.method, "")))
            if registry.paper_column(dataset) != line.column or own.number is None:
                continue
            found += 1
            features = results.features(dataset)
            gap = own.number - line.mean
            difference = Value(f"{gap:+.1f}", gap, own.keys, f"mean accuracy minus {line.mean:g}")
            verdict = Value(why_not(dataset, features, line.features) or "comparable")
            rows.append([*published, Value(dataset), own, Value(features), difference, verdict])
        if not found:
            why = "not in this library" if line.method not in ours else "no such data here"
            rows.append([*published, *[Value("–")] * 4, Value(why)])
    notes = [
        "Where the features (or the split, or the data) differ, the two numbers are not comparable, "
        "whatever their difference."
    ]
    return Table(f"paper_{table}", _TITLES[table], columns, rows, notes)


def why_not(dataset: str, ours: str, published: str) -> str:
    """Return why two numbers are not comparable; nothing if they are.

    Examples
    --------
    >>> why_not("AWA1:SS", "vgg19", "VGG-19 (fc7)")
    ''
    >>> why_not("AWA1:SS", "resnet101", "VGG-19 (fc7)")
    'not comparable: features differ'
    """
    if dataset.startswith("simulated"):
        return "not comparable: simulated data"
    reasons = []
    if _MARKS.get(published, published.lower()) not in re.sub(r"[^a-z0-9]", "", ours.lower()):
        reasons.append("features differ")
    if not dataset.endswith(f":{paper.split()}"):
        reasons.append("split differs (PS, paper SS)")
    return f"not comparable: {', '.join(reasons)}" if reasons else ""
