"""The table and the diagrams that say what the answers of every method are worth."""

from __future__ import annotations

import numpy as np

from unseen.experiments.answer_quality import COVERAGE
from unseen.experiments.result_store import Row
from unseen.experiments.results import Results, measured
from unseen.metrics import Reliability
from unseen.reporting.figures import Figure, reliability_figure
from unseen.reporting.value_table import Table, Value

MOST_CURVES = 8
"""Curves of a reliability diagram: with more, its legend leaves no room for them."""


def answers_table(results: Results) -> Table:
    """Return what confidence and prediction sets of every method are worth."""
    columns = (
        *("Data", "Method", "right, %", "said, %", "ECE", "Brier"),
        *(f"sets at {COVERAGE:g}: cover, %", "classes in a set", "of"),
    )
    rows = []
    for dataset in results.datasets:
        for name in results.methods():
            trials = [r for r in results.select(dataset, name) if "reliability" in r.metrics]
            if trials:
                shares = [measured(trials, m) for m in ("per_image", "confidence")]
                errors = [measured(trials, m, 3) for m in ("calibration_error", "brier")]
                sets = [measured(trials, m) for m in ("set_coverage", "set_size")]
                count = Value(str(trials[0].metrics["candidates"]))
                rows.append([Value(dataset), Value(name), *shares, *errors, *sets, count])
    notes = [
        "ECE: how far confidence is from the share of right answers, a mean over rows, in ten bins. "
        "Brier: mean squared distance of the probabilities from the truth, 0 to 2. Each row counts "
        "alike, so “right” is not the per-class accuracy of the other tables.",
        "Sets hold the true class as often as asked in rehearsals on seen classes; nothing is "
        "guaranteed where the test rows are unlike those.",
    ]
    return Table("answers", "What answers are worth", columns, rows, notes)


def reliability_figures(results: Results) -> list[Figure]:
    """Return a reliability diagram of every data set: the first trial of the most accurate methods."""
    caption = (
        "The share of right answers against confidence, in ten bins, trial 0. On the dashed line "
        "confidence is true; below it a method is too sure, above it too timid. Of more than "
        f"{MOST_CURVES} methods the most accurate are drawn; the table has all."
    )
    figures = []
    for dataset in results.datasets:
        shown = {name: _first(results, dataset, name) for name in results.methods()}
        there = {name: row for name, row in shown.items() if row is not None}
        best = sorted(there, key=lambda name: -there[name].accuracy)[:MOST_CURVES]
        rows = {name: row for name, row in there.items() if name in best}
        diagrams = {name: _bins(row) for name, row in rows.items()}
        stem = "".join(c if c.isalnum() else "_" for c in dataset)
        title = f"Is the confidence true? {dataset}"
        keys = [row.key for row in rows.values()]
        figures.append(reliability_figure(f"reliability_{stem}", title, diagrams, caption, keys))
    return figures


def _first(results: Results, dataset: str, method: str) -> Row | None:
    trials = results.select(dataset, method)
    return next((r for r in trials if r.trial == 0 and "reliability" in r.metrics), None)


def _bins(row: Row) -> Reliability:
    return Reliability(*(np.array(values) for values in row.metrics["reliability"]))
