"""On a method's page: its paper, cost, when to take it and when not, and its figures from the guides.

Paper and advice are class attributes of the estimator. The figures are read from the tables that
``make docs-numbers`` writes, so a page shows what the guide shows, beside the command that measures it.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "benchmarks"))
import docs_numbers  # noqa: E402 - it lies in the folder named above


class Figures(NamedTuple):
    """One line of a table for one method."""

    topic: str
    name: str
    title: str
    values: list[tuple[str, str]]


@cache
def measured() -> dict[str, list[Figures]]:
    """Return the lines of all measured tables by the method that they are about."""
    found: dict[str, list[Figures]] = {}
    for table in docs_numbers.tables():
        rows = [cells(line) for line in table.parts()[2].splitlines() if line.startswith("|")]
        if not rows:
            continue
        head, _, *lines = rows
        for line in lines:
            method = next((m[1] for m in (re.match(r"`(\w+)`", cell) for cell in line[:2]) if m), None)
            if method:
                values = [
                    pair for pair in zip(head, line, strict=False) if f"`{method}`" not in pair[1]
                ]
                found.setdefault(method, []).append(
                    Figures(table.topic, table.name, table.title or table.name, values)
                )
    return found


def cells(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table, without emphasis."""
    return [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]


def code(text: str) -> str:
    """Return Markdown's code as reStructuredText's."""
    return re.sub(r"`([^`]+)`", r"``\1``", text)


def learns_from(method: Any, estimator: Any) -> str:
    """Return what a method can learn from."""
    able = {
        "a pool of unlabelled rows": method.transductive,
        "no labelled row at all": not estimator.needs_labelled_rows,
        "class means alone (``FastTraining``)": method.takes_class_means,
        "rows in chunks or on a cluster": method.takes_chunks,
        "known labels of some rows of the pool": method.takes_known,
    }
    return ", ".join([text for text, yes in able.items() if yes] or ["labelled rows in memory"])


def facts(name: str, estimator: Any) -> list[str]:
    """Return the lines about a method as reStructuredText."""
    from unseen.methods import find, select

    lines = ["", ".. rubric:: At a glance", "", ".. list-table::", "   :widths: 20 80", ""]

    def add(title: str, text: str) -> None:
        lines.extend([f"   * - {title}", f"     - {text}"])

    transductive = estimator.learns_from_pool
    if name in select(fast=False):
        method = find(name)
        if method.citation:
            add("Paper", f"{method.citation}.")
        add("Learns from", learns_from(method, estimator))
    add("Cost", code(estimator.advice.cost))
    add("Take it when", code(estimator.advice.take))
    add("Not when", code(estimator.advice.leave))
    choosing = "choosing-transductive" if transductive else "choosing"
    add("More", f":doc:`Mathematics </guide/estimators>` · :doc:`which method </guide/{choosing}>`")
    if name in measured():
        lines += ["", ".. rubric:: Measured", "", ".. list-table::", "   :widths: 35 65", ""]
        for figures in measured()[name]:
            values = "; ".join(
                f"{code(title)}: {code(value)}" for title, value in figures.values if value
            )
            add(f":doc:`{figures.title} </results/generated/{figures.topic}>`", values.lstrip(": "))
    return [*lines, ""]


def add_facts(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put the facts before the parameters of a class that is an estimator with advice."""
    if what != "class" or not inspect.isclass(obj) or vars(obj).get("advice") is None:
        return  # advice of a base class is another's
    place = next((n for n, line in enumerate(lines) if line.startswith(":Parameters:")), len(lines))
    lines[place:place] = facts(obj.__name__, obj)


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc, after the sections have been read."""
    app.connect("autodoc-process-docstring", add_facts, priority=900)
    return {"parallel_read_safe": True}
