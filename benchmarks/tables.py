"""The tables of the generalisation suite, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from cells import AS_IS, Cell, Result

#: A method is said to be below another answer when it is by more than this, in points.
MARGIN = 1.0
Results = dict[Cell, Result]
#: a run: data set, draw, seed
Run = tuple[str, int, int]


def pool_table(
    results: Results, pool: str, names: dict[str, str], simple: Sequence[Any], methods: Sequence[Any]
) -> list[str]:
    """Return a row for each data set, the mean, and how often a method is below a simple answer."""
    starts, ends = (
        {column: values(results, column, pool, field) for column in (*simple, *methods)}
        for field in ("start", "end")
    )
    best: dict[Run, float] = {}
    for column in simple:
        for run, value in ends[column].items():
            best[run] = max(value, best.get(run, -np.inf))
    hostile = pool != "full"
    titles = [*(c.title for c in simple), "best of these", *(c.title for c in methods)]
    rows = []
    for dataset in names:
        numbers = [mean_of(ends[c], dataset) for c in simple] + [mean_of(best, dataset)]
        before = [mean_of(starts[c], dataset) for c in methods]
        rows.append((numbers, before, [mean_of(ends[c], dataset) for c in methods]))
    lines = [f"Pool: {pool}. Per-class top-1 in %, mean over draws and seeds.", ""]
    lines += header(["set", *titles])
    for name, (numbers, before, after) in zip(names.values(), rows, strict=True):
        lines.append(line(name, numbers, before, after, hostile))
    sums = [[mean(column) for column in zip(*part, strict=True)] for part in zip(*rows, strict=True)]
    lines += [line("**mean**", *sums, hostile), "", *partial_means(ends, names), ""]
    if not hostile:  # the simple answers draw nothing at random there: their seed 0 stands for all
        every = {run for column in methods for run in ends[column]}
        best |= {run: best[(*run[:2], 0)] for run in every if (*run[:2], 0) in best}
    for column in methods:
        lines.append(f"{column.title}: {below(ends[column], best, 'the best simple answer')}")
        if starts[column] != ends[column]:
            lines.append(f"{column.title}: {below(ends[column], starts[column], 'its own start')}")
        if not hostile and any(run[2] for run in ends[column]):
            lines.append(f"{column.title}: {over_seeds(ends[column])}")
    return lines


def partial_means(ends: dict[Any, dict[Run, float]], names: dict[str, str]) -> list[str]:
    """Say which means are over some of the data sets only."""
    counts = {column.title: len({run[0] for run in runs}) for column, runs in ends.items()}
    return [
        f"{title}: the mean is over {count} of {len(names)} sets."
        for title, count in counts.items()
        if 0 < count < len(names)
    ]


def values(results: Results, column: Any, pool: str, field: str) -> dict[Run, float]:
    """Return the accuracy of each run of one column; runs that have none are left out."""
    return {
        (cell.dataset, cell.draw, cell.seed): getattr(result, field)
        for cell, result in results.items()
        if (cell.method, cell.parameters) == (column.method, column.parameters)
        and (cell.pool, cell.variant) == (pool, AS_IS)
        and getattr(result, field) is not None
    }


def below(ends: dict[Run, float], others: dict[Run, float], what: str) -> str:
    """Say how often and how far an answer is below another one of the same run."""
    gaps = {run: ends[run] - others[run] for run in ends if run in others}
    if not gaps:
        return f"no run to compare with {what}."
    worst = min(gaps, key=gaps.__getitem__)
    count = sum(gap < -MARGIN for gap in gaps.values())
    text = f"below {what} by more than a point: {count} of {len(gaps)} runs"
    dataset, number, seed = worst
    return f"{text}, worst {signed(gaps[worst])} ({dataset}, draw {number}, seed {seed})."


def over_seeds(ends: dict[Run, float]) -> str:
    """Say how far the random state and the order of rows move an answer."""
    by_draw: dict[tuple[str, int], list[float]] = {}
    for (dataset, number, _), end in ends.items():
        by_draw.setdefault((dataset, number), []).append(end)
    gaps = {place: max(values) - min(values) for place, values in by_draw.items()}
    dataset, number = worst = max(gaps, key=gaps.__getitem__)
    count = sum(gap > MARGIN for gap in gaps.values())
    text = (
        f"seeds (random state and row order) differ by more than a point: {count} of {len(gaps)} draws"
    )
    return f"{text}, most {gaps[worst]:.1f} ({dataset}, draw {number})."


def spread_table(results: Results, names: dict[str, str], every: Sequence[Any]) -> list[str]:
    """Return for each data set how far the answers differ under other orders and other names."""
    lines = ["Highest less lowest, in points, over row orders / over class names; worst draw.", ""]
    lines += header(["set", *(c.title for c in every)])
    for dataset, name in names.items():
        texts = []
        for column in every:
            spreads = [spread(results, column, dataset, kind) for kind in ("shuffle", "renaming")]
            texts.append(" / ".join("–" if s is None else f"{s:.2f}" for s in spreads))
        lines.append("| " + " | ".join([name, *texts]) + " |")
    return lines


def spread(results: Results, column: Any, dataset: str, kind: str) -> float | None:
    """Return the widest spread of any draw; None if nothing was varied in this way."""
    by_draw: dict[int, list[float]] = {}
    for cell, result in results.items():
        own = (cell.dataset, cell.method, cell.parameters, cell.pool) == (
            *(dataset, column.method, column.parameters),
            "full",
        )
        if own and result.end is not None and cell.variant.split()[0] in (kind, "as"):
            by_draw.setdefault(cell.draw, []).append(result.end)
    spreads = [max(ends) - min(ends) for ends in by_draw.values() if len(ends) > 1]
    return max(spreads, default=None)


def failures(results: Results) -> list[str]:
    """Return a line for every cell that failed."""
    return [
        f"failed: {c.method} on {c.dataset}, draw {c.draw}, {c.pool}, seed {c.seed}: {result.error}"
        for c, result in results.items()
        if result.error
    ]


def header(titles: Sequence[str]) -> list[str]:
    """Return the first two lines of a table."""
    return ["| " + " | ".join(titles) + " |", "| --- |" + " --- |" * (len(titles) - 1)]


def line(name: str, numbers: Any, before: Any, after: Any, hostile: bool) -> str:
    """Return one row; in a hostile pool with start and end of each method."""
    texts = [shown(number) for number in numbers]
    for start, end in zip(before, after, strict=True):
        texts.append(f"{shown(start)} → {shown(end)}" if hostile else shown(end))
    return "| " + " | ".join([name, *texts]) + " |"


def mean_of(runs: dict[Run, float], dataset: str) -> float | None:
    """Return the mean over the runs of one data set."""
    return mean(value for run, value in runs.items() if run[0] == dataset)


def mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of those numbers that there are."""
    present = [number for number in numbers if number is not None]
    return float(np.mean(present)) if present else None


def shown(number: float | None) -> str:
    """Return one decimal, or a dash."""
    return "–" if number is None else f"{number:.1f}"


def signed(number: float) -> str:
    """Return a number with its sign."""
    return f"{number:+.1f}".replace("-", "−")
