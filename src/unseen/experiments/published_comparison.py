"""Our numbers and the paper's: the difference, the features of both, whether they are comparable."""

from __future__ import annotations

import re

from unseen.experiments import paper, registry
from unseen.experiments.results import Results, measured, signed
from unseen.reporting.value_table import Table, Value

_TITLES = {
    "II": "Table II beside the paper — inductive",
    "III": "Table III beside the paper — transductive",
    "IV": "Table IV beside the paper — fast training",
}
_MARKS = {"VGG-19 (fc7)": "vgg", "GoogLeNet": "googlenet", "DeCAF": "decaf"}


def beside_paper(results: Results, table: str) -> Table:
    """Return every published number of a table with ours on each data set of that name."""
    columns = ("Method", "Published", "Ours", "Difference", "Comparable?", "Paper's data", "Our data",
               "Paper's features", "Our features")  # fmt: skip
    ours = {registry.method(m).table_name: m for m in results.methods()}
    together, alone = [], []
    for line in paper.accuracies(table):
        spread = "" if line.deviation is None else f" ± {line.deviation:g}"
        published = Value(f"{line.mean:g}{spread}", line.mean)
        theirs = Value(line.method), Value(line.column), Value(line.features)
        pairs = 0
        for dataset in results.datasets:
            our_value = measured(results.select(dataset, ours.get(line.method, "")))
            if registry.paper_column(dataset) != line.column or our_value.number is None:
                continue
            pairs += 1
            features = results.features(dataset)
            gap = our_value.number - line.mean
            difference = Value(signed(gap), gap, our_value.keys, f"mean accuracy minus {line.mean!r}")
            verdict = Value(why_not(dataset, features, line.features) or "comparable")
            ends = theirs[1], Value(dataset), theirs[2], Value(features)
            together.append([theirs[0], published, our_value, difference, verdict, *ends])
        if not pairs:
            none = Value("–")
            why = Value("not in this library" if line.method not in ours else "no such data here")
            alone.append([theirs[0], published, none, none, why, theirs[1], none, theirs[2], none])
    rows = together + alone
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
        reasons.append("split is PS, not SS")
    return f"not comparable: {', '.join(reasons)}" if reasons else ""
