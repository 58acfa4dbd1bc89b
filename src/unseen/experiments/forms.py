"""The same method as printed, as published and by default, side by side."""

from __future__ import annotations

from unseen.experiments.results import Results, measured
from unseen.reporting.value_table import Table, Value

FORM_NAMES = {
    "printed": "as printed",
    "published": "published preset",
    "default": "default",
}
"""Presets as tables call them, in the order of columns."""

FORMS_NOTE = (
    "As printed: the settings of the paper on ASTE, word for word, for what it ran itself. Published "
    "preset: as_published(), the form of the method's authors; the guide lists the source of each "
    "choice. “diverged”: the printed step sizes are too long for these features."
)


def has_other_forms(results: Results) -> bool:
    """Tell whether any cell has another preset than our defaults."""
    return any(row.preset != "default" for row in results.all)


def forms(results: Results, name: str, title: str, methods: list[str]) -> Table:
    """Return one row a data set and method, one column a form."""
    rows = []
    for dataset in results.datasets:
        for method in methods:
            values = [results.value(dataset, method, preset=preset) for preset in FORM_NAMES]
            if any(v.text != "–" for v in values[:-1]):
                rows.append([Value(dataset), Value(method), *values])
    columns = ("Data", "Method", *FORM_NAMES.values())
    return Table(name, title, columns, rows, [FORMS_NOTE, results.trials_note])


def gains(results: Results, methods: list[str]) -> Table:
    """Table III twice: published presets and defaults, each with its gain over its own start."""
    rows = []
    for dataset in results.datasets:
        for method in methods:
            values = []
            for preset in ("published", "default"):
                trials = results.select(dataset, method, preset=preset)
                known = bool(trials) and all("start" in row.metrics for row in trials)
                start, gain = (measured(trials if known else [], kind) for kind in ("start", "gain"))
                values += [start, results.value(dataset, method, preset=preset), gain]
            if any(v.keys for v in values):
                rows.append([Value(dataset), Value(method), *values])
    columns = (
        *("Data", "Method", "published: start", "published: end", "gain"),
        *("default: start", "default: end", "gain "),
    )
    notes = [
        "The start is the method's own answer without its pool: of SelfPacedPrototypes with no round, "
        "of ImportanceWeighting with no weights, of others before the first round. The defaults share "
        "one whitened visual space, and that space makes most of the difference between the two halves "
        "(on CUB's proposed split, EfficientNet-Lite0, WDVSc: 67.9% with plain features, 78.7% "
        "whitened).",
        results.trials_note,
    ]
    title = "Table III — published presets and defaults, with the gain over each method's own start"
    return Table("table_3_gains", title, columns, rows, notes)
