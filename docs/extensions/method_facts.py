"""Below a method's docstring: its paper, what it can do, and its figures from the guides' tables.

The figures are read from the tables that ``make docs-numbers`` writes, so a page shows what the guide
shows, beside the command that measures it.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1]
TABLE = re.compile(r"<!-- numbers: (\S+); code \S+ -->\n(.*?)<!-- end: \1 -->", re.S)


class Figures(NamedTuple):
    """One line of a table for one method."""

    page: str
    command: str
    values: list[tuple[str, str]]


@cache
def measured() -> dict[str, list[Figures]]:
    """Return the lines of all measured tables by the method that they begin with."""
    listed = tomllib.loads((DOCS / "numbers.toml").read_text(encoding="utf-8"))["table"]
    commands = {table["name"]: table["command"] for table in listed}
    found: dict[str, list[Figures]] = {}
    for page in sorted((DOCS / "guide").glob("*.md")):
        for name, table in TABLE.findall(page.read_text(encoding="utf-8")):
            head, _, *lines = [cells(line) for line in table.splitlines() if line.startswith("|")]
            for line in lines:
                method = re.match(r"`(\w+)`", line[0])
                if method:
                    values = list(zip(head[1:], line[1:], strict=False))
                    figures = Figures(f"/guide/{page.stem}", commands[name], values)
                    found.setdefault(method[1], []).append(figures)
    return found


def cells(line: str) -> list[str]:
    """Return the cells of a line of a Markdown table, without emphasis."""
    return [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]


def add_facts(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the facts to the docstring of a class that is a method of the catalogue."""
    from unseen.methods import find, select

    if what != "class" or not inspect.isclass(obj) or obj.__name__ not in select(fast=False):
        return
    method = find(obj.__name__)
    if method.estimator is not obj:
        return
    able = {
        "a pool of unlabelled rows": method.transductive,
        "no labelled row at all": not obj.needs_labelled_rows,
        "class means alone (``FastTraining``)": method.takes_class_means,
        "rows in chunks or on a cluster": method.takes_chunks,
        "known labels of some rows of the pool": method.takes_known,
    }
    taken = [text for text, yes in able.items() if yes] or ["labelled rows in memory"]
    lines += ["", ".. rubric:: At a glance", ""]
    if method.citation:
        lines += [f"- Paper: {method.citation}."]
    lines += [f"- Learns from: {', '.join(taken)}."]
    for figures in measured().get(obj.__name__, []):
        values = "; ".join(f"{title}: {value}" for title, value in figures.values)
        lines += [f"- Measured by ``{figures.command}``: {values} (:doc:`{figures.page}`)."]
    choosing = "choosing-transductive" if method.transductive else "choosing"
    lines += [
        f"- Mathematics: :doc:`/guide/estimators`; when to take it: :doc:`/guide/{choosing}`.",
        "",
    ]


def setup(app: Any) -> dict[str, bool]:
    """Connect to autodoc, after the sections have been read."""
    app.connect("autodoc-process-docstring", add_facts, priority=900)
    return {"parallel_read_safe": True}
