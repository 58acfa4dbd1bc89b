"""The results of the accuracy study as tables in Markdown, as the documents have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

TITLES = {
    "letters": "letters → digits",
    "cub": "CUB (PS)",
    "awa1-ss": "AwA1 (SS)",
    "awa1-ps": "AwA1 (PS)",
    "animals": "animal photographs",
}


class Line(NamedTuple):
    """What was measured of one method on one data set in one scenario."""

    dataset: str
    method: str
    scenario: str
    transductive: bool
    #: per-class top-1 in percent, before and after adaptation, means over seeds
    start: float
    end: float
    #: the worst change of a seed, in points, and the lowest and highest end
    worst: float
    lowest: float
    highest: float
    #: the time of a fit as a multiple of ESZSL's, if it was measured
    time: float | None = None
    #: the most memory of a fit as a multiple of X, without and with tuning, if it was measured
    memory: float | None = None
    memory_with_tuning: float | None = None


def method_table(lines: Sequence[Line]) -> str:
    """Return a row for each method and a column for each data set; the best of a column is bold."""
    datasets, methods = _distinct(x.dataset for x in lines), _distinct(x.method for x in lines)
    by_place = {(x.method, x.dataset): x for x in lines}
    best = {d: max(round(x.end, 1) for x in lines if x.dataset == d) for d in datasets}
    columns = {TITLES[d]: [_accuracy(by_place[m, d], best[d]) for m in methods] for d in datasets}
    for name, digits in (("time", "g"), ("memory", ".1f")):
        for d in datasets:
            values = [getattr(by_place[m, d], name) for m in methods]
            if None not in values:
                unit = "fit ÷ ESZSL" if name == "time" else "memory ÷ `X`"
                rounded = [float(f"{value:.2g}") for value in values]
                columns[f"{unit}, {TITLES[d]}"] = [format(value, digits) for value in rounded]
    marked = {x.method: f"`{x.method}`" + (" *" if x.transductive else "") for x in lines}
    rows = [[marked[m], *(column[i] for column in columns.values())] for i, m in enumerate(methods)]
    return _table(["method", *columns], rows)


def scenario_table(lines: Sequence[Line]) -> str:
    """Return a row for each data set and method, a column for each scenario, and the worst change."""
    scenarios = _distinct(x.scenario for x in lines)
    places = _distinct((x.dataset, x.method) for x in lines)
    by_place = {(x.dataset, x.method, x.scenario): x for x in lines}
    rows = []
    for dataset, method in places:
        measured = [by_place[dataset, method, scenario] for scenario in scenarios]
        changes = [f"{x.start:.1f} → {x.end:.1f}" for x in measured]
        worst = f"{min(x.worst for x in measured):+.1f}".replace("-", "−")
        rows.append([TITLES[dataset], f"`{method}`", *changes, worst])
    return _table(["data", "method", *scenarios, "worst change of a seed"], rows)


def _accuracy(line: Line, best: float) -> str:
    end = f"**{line.end:.1f}**" if round(line.end, 1) == best else f"{line.end:.1f}"
    return f"{line.start:.1f} → {end}" if line.transductive else end


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = [titles, ["---"] * len(titles)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [*head, *rows])


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
