"""Our numbers and the paper's: the difference, the features of both, whether they are comparable."""

from __future__ import annotations

import re

from unseen.experiments import paper, registry
from unseen.experiments.forms import FORM_NAMES, FORMS_NOTE
from unseen.experiments.results import Results, signed
from unseen.methods import catalogue
from unseen.reporting.value_table import Table, Value

_TITLES = {
    "II": "Table II beside the paper — inductive",
    "III": "Table III beside the paper — transductive",
    "IV": "Table IV beside the paper — fast training",
}
_MARKS = {"VGG-19 (fc7)": "vgg", "GoogLeNet": "googlenet", "DeCAF": "decaf"}


_COLUMNS = (
    *("Method", "The paper", "As printed", "Published preset", "Default", "Difference", "Comparable?"),
    *("Data: the paper's / ours", "Features: the paper's / ours"),
)


def beside_paper(results: Results, table: str) -> Table:
    """Return every published number of a table with ours on each data set of that name."""
    ours: dict[str, list[str]] = {}
    for method in results.methods():
        ours.setdefault(registry.method(method).table_name, []).append(method)
    together, alone = [], []
    for line in paper.accuracies(table):
        names = ours.get(line.method, [])
        datasets = [d for d in results.datasets if registry.paper_column(d) == line.column]
        pairs = [_pair(results, line, d, m) for d in datasets for m in names]
        pairs = [pair for pair in pairs if any(v.keys for v in pair)]
        together += pairs
        if not pairs:
            known = any(m.table_name == line.method for m in catalogue().values())
            why = "not run" if known else "not in this library"
            if known and not datasets:
                why = "no such data here"
            blank = [Value("–")] * 4
            ends = Value(f"{line.column} / –"), Value(f"{line.features} / –")
            alone.append([Value(line.method), _published(line), *blank, Value(why), *ends])
    notes = [
        "The difference is that of the default. Where the features (or the split, or the data) differ, "
        "the two numbers are not comparable, and none is given.",
        FORMS_NOTE,
        results.trials_note,
    ]
    return Table(f"paper_{table}", _TITLES[table], _COLUMNS, together + alone, notes)


def _published(line: paper.Published) -> Value:
    spread = "" if line.deviation is None else f" ± {line.deviation:g}"
    return Value(f"{line.mean:g}{spread}", line.mean)


def _pair(results: Results, line: paper.Published, dataset: str, method: str) -> list[Value]:
    """Return one line of the table: a published number beside one method on one data set."""
    forms = [results.value(dataset, method, preset=preset) for preset in FORM_NAMES]
    default, features = forms[-1], results.features(dataset)
    difference, reason = Value("–"), why_not(dataset, features, line.features)
    if default.number is not None and not reason:
        gap = default.number - line.mean
        difference = Value(signed(gap), gap, default.keys, f"mean accuracy minus {line.mean!r}")
    verdict = Value(reason or "comparable")
    name = line.method if line.method in ("", method) else f"{line.method} ({method})"
    ends = Value(f"{line.column} / {dataset}"), Value(f"{line.features} / {features}")
    return [Value(name), _published(line), *forms, difference, verdict, *ends]


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
