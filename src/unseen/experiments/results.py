"""Stored rows by data set and method, and numbers that name the rows they were computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unseen.experiments import registry
from unseen.experiments.result_store import Row
from unseen.methods import catalogue, fast_form
from unseen.reporting.value_table import Value

MEASURES: dict[str, Callable[[Row], float]] = {
    "accuracy": lambda r: 100 * r.accuracy,
    "seconds": lambda r: r.seconds,
    "predict_ms": lambda r: 1000 * r.predict_seconds,
    "peak_mb": lambda r: r.peak_mb,
    "seen": lambda r: 100 * r.metrics["seen"],
    "unseen": lambda r: 100 * r.metrics["unseen"],
    "ausuc": lambda r: 100 * r.metrics["ausuc"],
    "seen_error_rows": lambda r: r.metrics["seen_error_rows"],
    "seen_error_patterns": lambda r: r.metrics["seen_error_patterns"],
    "a_distance": lambda r: r.metrics["a_distance"],
    "start": lambda r: 100 * r.metrics["start"],
    "gain": lambda r: 100 * (r.accuracy - r.metrics["start"]),
    "calibration_error": lambda r: r.metrics["calibration_error"],
}
"""Numbers of a row that a report can show, each as a mean over rows."""


def measured(rows: Sequence[Row], measure: str = "accuracy", digits: int = 1) -> Value:
    """Return the mean over trials, with the standard deviation where there are several.

    Examples
    --------
    >>> measured([])
    Value(text='–', number=None, keys=(), source='', best=False, note='')
    """
    if not rows:
        return Value("–")
    numbers = np.array([MEASURES[measure](row) for row in rows])
    mean = float(numbers.mean())
    text = signed(mean) if measure == "gain" else f"{mean:.{digits}f}"
    if len(rows) > 1 and measure == "accuracy":
        text += f" ± {numbers.std(ddof=1):.{digits}f}"
    return Value(text, mean, tuple(row.key for row in rows), f"mean {measure}")


def signed(points: float) -> str:
    """Return a difference with its sign, a true minus.

    >>> signed(-1.24)
    '−1.2'
    """
    return f"{points:+.1f}".replace("-", "−")


def p_text(value: float, equal: str = "") -> str:
    """Return a p-value as text; a bootstrap of thousands cannot resolve less than 0.001.

    >>> p_text(0.0), p_text(0.0421)
    ('< 0.001', '0.042')
    """
    return "< 0.001" if value < 0.001 else f"{equal}{value:.3f}"


class Results:
    """The finished rows of a plan."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.all = _with_short_names(rows)
        self.done = [row for row in self.all if row.status == "done"]

    @property
    def datasets(self) -> list[str]:
        """The data sets with a finished fit, in the order of the plan."""
        return list(dict.fromkeys(r.dataset for r in self.fits))

    @property
    def fits(self) -> list[Row]:
        """Rows of methods, not of measurements."""
        return [r for r in self.done if r.method not in registry.MEASUREMENTS]

    def features(self, dataset: str) -> str:
        """Return the features of a data set, as its record names them."""
        return next((r.features for r in self.done if r.dataset == dataset), "")

    def methods(self, *, transductive: bool | None = None, fast: bool | None = None) -> list[str]:
        """Return the methods with a finished fit, in the order of the catalogue."""
        there = {r.method for r in self.fits}
        return [
            m.name
            for m in catalogue().values()
            if m.name in there
            and (transductive is None or m.transductive == transductive)
            and (fast is None or m.fast == fast)
        ]

    def select(self, dataset: str, method: str, **protocol: Any) -> list[Row]:
        """Return the trials of one method on one data set, by default of the plain protocol."""
        wanted = {"setting": "zsl", "prior": "default", "share": 1.0, "C": None, **protocol}
        return [
            row
            for row in self.done
            if row.dataset == dataset
            and row.method == method
            and all(getattr(row, name) == value for name, value in wanted.items())
        ]

    def both_forms(self, dataset: str, method: str) -> tuple[list[Row], list[Row]]:
        """Return the trials of a method, and those of its fast form if it has one."""
        fast = fast_form(method)
        return self.select(dataset, method), self.select(dataset, fast) if fast else []


def _with_short_names(rows: Sequence[Row]) -> list[Row]:
    """Name a data set that was given as a path by its last part, if that is unique."""
    names = {row.dataset for row in rows}
    short = {name: Path(name).name for name in names}
    taken = list(short.values())
    return [
        replace(row, dataset=short[row.dataset]) if taken.count(short[row.dataset]) == 1 else row
        for row in rows
    ]
