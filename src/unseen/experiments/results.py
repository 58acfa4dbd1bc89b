"""Stored rows by data set and method, and numbers that name the rows they were computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

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
    "capacity": lambda r: r.metrics["capacity"],
    "joint_error": lambda r: r.metrics["joint_error"],
    "start": lambda r: 100 * r.metrics["start"],
    "gain": lambda r: 100 * (r.accuracy - r.metrics["start"]),
    "calibration_error": lambda r: r.metrics["calibration_error"],
    "brier": lambda r: r.metrics["brier"],
    "per_image": lambda r: 100 * r.metrics["per_image"],
    "confidence": lambda r: 100 * r.metrics["confidence"],
    "set_coverage": lambda r: 100 * r.metrics["set_coverage"],
    "set_size": lambda r: r.metrics["set_size"],
}
"""Numbers of a row that a report can show, each as a mean over rows."""

PLAIN_PROTOCOL: dict[str, object] = {
    **{"setting": "zsl", "prior": "default", "share": 1.0, "C": None},
    **{"preset": "default", "parameters": ()},
}
"""The protocol of the paper's tables, with our defaults."""


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
    if measure == "accuracy" and len(rows) > 1:
        text += f" ± {numbers.std(ddof=1):.{digits}f}"
    elif measure == "accuracy" and answers_alike(rows[0]):
        text += " ± 0"
    return Value(text, mean, tuple(row.key for row in rows), f"mean {measure}")


def answers_alike(row: Row) -> bool:
    """Tell whether every trial of a cell gives the same answer: nothing in it is drawn at random."""
    method = catalogue().get(row.method)
    return method is not None and row.share == 1 and not method.draws_at_random


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
        """Return the methods with a finished fit by default, in the order of the catalogue."""
        there = {r.method for r in self.fits if r.preset == "default"}
        return [
            m.name
            for m in catalogue().values()
            if m.name in there
            and (transductive is None or m.transductive == transductive)
            and (fast is None or m.fast == fast)
        ]

    def forms_of(self, table: str) -> list[str]:
        """Return the methods of Table "II", "III" or "IV" that have a cell in any form."""
        there = {r.method for r in self.all}
        wanted = {"II": (False, False), "III": (True, False)}
        return [
            m.name
            for m in catalogue().values()
            if m.name in there
            and (m.fast if table == "IV" else (m.transductive, m.fast) == wanted[table])
        ]

    def fitted_forms(self) -> list[tuple[str, str, str]]:
        """Return data set, method and preset of all fits of plain methods, whatever became of them."""
        plain = {m.name: i for i, m in enumerate(catalogue().values()) if not m.fast}
        made = {(r.dataset, r.method, r.preset) for r in self.all if r.method in plain}
        order = {name: i for i, name in enumerate(self.datasets)}
        return sorted(made, key=lambda f: (order[f[0]], plain[f[1]], f[2]))

    @property
    def trials_note(self) -> str:
        """How many trials the numbers of a table rest on."""
        forms = Counter(
            (r.dataset, r.method, r.setting, r.prior, r.share, r.C, r.preset, r.parameters)
            for r in self.fits
        )
        counts = sorted({n for n in forms.values() if n > 1})
        several = " to ".join(str(n) for n in dict.fromkeys((counts or [1])[:1] + counts[-1:]))
        with_deviation = f"A number with ± is the mean of {several} trials, " if counts else ""
        return (
            "A trial shuffles the training rows and seeds the method. "
            f"{with_deviation}one without ± is of one trial. ± 0: the method draws nothing at random, "
            "so every trial gives the same answer and one is run; it is not an estimate of error."
        )

    def select(self, dataset: str, method: str, **protocol: object) -> list[Row]:
        """Return the trials of one method on one data set, by default of the plain protocol."""
        return [row for row in self._cells(dataset, method, protocol) if row.status == "done"]

    def value(
        self, dataset: str, method: str, measure: str = "accuracy", digits: int = 1, **protocol: object
    ) -> Value:
        """Return the mean over trials, or what became of them: no cell fails in silence."""
        cells = self._cells(dataset, method, protocol)
        done = [row for row in cells if row.status == "done"]
        others = [row.status for row in cells if row.status != "done"]
        if not others:
            return measured(done, measure, digits)
        if not done:
            return Value(others[0], note="")
        shown = measured(done, measure, digits)
        return replace(shown, note=f"({len(done)} of {len(cells)} trials; others {others[0]})")

    def _cells(self, dataset: str, method: str, protocol: dict[str, object]) -> list[Row]:
        """Return all trials of one method on one data set, whatever became of them."""
        wanted = {**PLAIN_PROTOCOL, **protocol}
        return [
            row
            for row in self.all
            if row.dataset == dataset
            and row.method == method
            and all(getattr(row, name) == value for name, value in wanted.items())
        ]

    def both_forms(self, dataset: str, method: str, **protocol: object) -> tuple[list[Row], list[Row]]:
        """Return the trials of a method, and those of its fast form if it has one."""
        fast = fast_form(method)
        plain = self.select(dataset, method, **protocol)
        return plain, self.select(dataset, fast, **protocol) if fast else []


def _with_short_names(rows: Sequence[Row]) -> list[Row]:
    """Name a data set that was given as a path by its last part, if that is unique."""
    names = {row.dataset for row in rows}
    short = {name: registry.short_name(name) for name in names}
    taken = list(short.values())
    return [
        replace(row, dataset=short[row.dataset]) if taken.count(short[row.dataset]) == 1 else row
        for row in rows
    ]
