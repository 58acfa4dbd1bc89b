"""The pages of results, from the measured tables: each number leads to the command that repeats it.

``docs/numbers.toml`` lists the tables with their topic and command, and
``make docs-numbers ASK=--slow`` measures them. A table whose methods answer otherwise than when it
was measured is a warning, and so stops ``make docs``. The tables of the paper come from
``docs/results/paper.json``, which ``benchmarks/paper_tables.py`` takes from the store of
``unseen bench``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.util import logging

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "benchmarks"))
import docs_numbers  # noqa: E402 - it lies in the folder named above

NUMBER = re.compile(r"^\**[−+±~≤<]?\.?\d")
METHOD = re.compile(r"`(\w+)`")


class Topic(NamedTuple):
    """A page of results: its title, and what a reader should know before the tables."""

    title: str
    opening: str


TOPICS = {
    "accuracy": Topic(
        "Accuracy",
        "Per-class top-1 accuracy in % on classes without one labelled row. Every method has its"
        " default parameters. Methods marked * learn from the unlabelled rows as well: before the arrow"
        " is their answer without those rows, after it their answer with them.",
    ),
    "generalisation": Topic(
        "Generalisation",
        "How methods do on data sets that they were not developed on, over several draws of unseen"
        " classes, beside three simple baselines.",
    ),
    "robustness": Topic(
        "Robustness",
        "What happens when the pool of unlabelled rows is not as one hopes: candidates that are absent,"
        " classes of very different size, few rows, rows of no candidate. Per-class top-1 in %, before"
        " and after learning from the pool.",
    ),
    "calibration": Topic(
        "Calibration",
        "Whether answers with a probability of 0.9 are right nine times out of ten, and whether rows"
        " that belong to no candidate are recognised as such.",
    ),
    "speed": Topic(
        "Speed and memory",
        "Times are ratios to a reference that was measured in the same run, because seconds depend on"
        " the machine.",
    ),
}


def linked(cell: str, target: str) -> str:
    """Turn a cell that begins with a number into a link to the command that repeats it.

    >>> linked("**58.3**", "#repeat")
    '<a class="number" href="#repeat"><strong>58.3</strong></a>'
    """
    if not NUMBER.match(cell):
        return cell
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", cell)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return f'<a class="number" href="{target}">{text}</a>'


def row_command(command: str, method: str) -> str | None:
    """Return the command narrowed to one method, if it names methods.

    >>> row_command("python benchmarks/accuracy.py --methods inductive --markdown", "ESZSL")
    'python benchmarks/accuracy.py --methods ESZSL --markdown'
    """
    found = re.search(r"--methods (?:[^-\s]\S*\s?)+", command)
    if not found:
        return None
    return command.replace(found[0], f"--methods {method} ").strip().replace("  ", " ")


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def method_of(line: str) -> str:
    """Return the method that a line is about: that of its first or second cell, or nothing."""
    matches = [METHOD.match(cell) for cell in cells_of(line)[:2]]
    return next((match[1] for match in matches if match), "")


def table_section(table: Any) -> str:
    """Write one table with its links, its command and the code that it was measured with."""
    code, _, text = table.parts()
    page = table.file.relative_to(DOCS).with_suffix("").as_posix()
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    methods = dict.fromkeys(method for method in map(method_of, rows) if method)
    commands = {method: row_command(table.command, method) for method in methods}
    narrowed = {method: command for method, command in commands.items() if command}
    if len(narrowed) < 2:  # the command of the table is that of its rows
        narrowed = {}
    lines = []
    for line in text.splitlines():
        if line in rows:
            method = method_of(line)
            target = f"#repeat-{table.name}" + (f"-{method}".lower() if method in narrowed else "")
            line = "| " + " | ".join(linked(cell, target) for cell in cells_of(line)) + " |"
        lines.append(line)
    measured = f"Measured with code `{code}`." if code != "unrecorded" else "The code was not recorded."
    parts = [
        f"## {table.title or table.name}",
        "\n".join(lines),
        f'<p id="repeat-{table.name}">Repeat it with:</p>',
        f"```sh\n{table.command}\n```",
        f"{measured} Features, protocol and what follows from it: {{doc}}`/{page}`.",
    ]
    if narrowed:
        parts.append(single_rows(table.name, narrowed))
    return "\n\n".join(parts)


def single_rows(name: str, commands: dict[str, str]) -> str:
    """List the commands of single rows, each with the anchor that its numbers lead to."""
    lines = ["<details>", "<summary>Commands for single rows</summary>", "<ul>"]
    lines += [
        f'<li id="repeat-{name}-{method.lower()}"><code>{command}</code></li>'
        for method, command in commands.items()
    ]
    return "\n".join([*lines, "</ul>", "</details>"])


def topic_page(topic: str, tables: list[Any]) -> str:
    """Write the page of a topic."""
    sections = [table_section(table) for table in tables if table.topic == topic]
    return "\n\n".join([f"# {TOPICS[topic].title}", TOPICS[topic].opening, *sections]) + "\n"


def paper_page(stored: dict[str, Any]) -> str:
    """Write the paper's tables as the store has them; a number leads to the command of its cells."""
    counts = ", ".join(f"{number} {status}" for status, number in sorted(stored["statuses"].items()))
    parts = [
        "# The paper's tables",
        f"What `{stored['command']}` found, beside what the paper on ASTE prints. A number leads to the"
        " command that runs its cells again; numbers without a link are the paper's own, or differences"
        " to them. Cells that were not run are empty, and simulated data are called simulated.",
        f"Measured with code {', '.join(f'`{code}`' for code in stored['code'])} on"
        f" {', '.join(stored['datasets'])}; cells: {counts}. `python benchmarks/paper_tables.py"
        " out/bench` takes the tables of another run.",
    ]
    places: dict[tuple[str, str], str] = {}
    for table in stored["tables"]:
        lines = ["| " + " | ".join(table["columns"]) + " |", "|" + " --- |" * len(table["columns"])]
        for row in table["rows"]:
            cells = (paper_cell(cell, stored["cells"], places) for cell in row)
            lines += ["| " + " | ".join(cells) + " |"]
        parts += [f"## {table['title']}", "\n".join(lines)]
        parts += ["\n".join(f"- {note}" for note in table["notes"])]
    listed = [
        f'<li id="{place}"><code>{stored["command"]} --datasets {data} --methods {method}</code></li>'
        for (data, method), place in places.items()
    ]
    parts += ["## The commands", "<ul>\n" + "\n".join(listed) + "\n</ul>"]
    return "\n\n".join(part for part in parts if part) + "\n"


def paper_cell(cell: Any, cells: dict[str, list[str]], places: dict[tuple[str, str], str]) -> str:
    """Return a cell of the paper's tables; a number of ours leads to the command of its first cell."""
    if not isinstance(cell, dict):
        cell = {"text": str(cell).replace("|", "\\|")}
    text = f"{cell['text']} {cell.get('note', '')}".strip()
    text = f"<strong>{text}</strong>" if cell.get("best") else text
    known = [tuple(cells[key]) for key in cell.get("keys", ()) if key in cells]
    if not known:
        return f'<span class="printed">{text}</span>' if NUMBER.match(text) else text
    place = places.setdefault(known[0], f"cells-{len(places) + 1}")
    return f'<a class="number" href="#{place}">{text}</a>'


def write_pages(app: Any, config: Any = None) -> None:
    """Write the pages of all topics, and warn of tables that are stale."""
    folder = Path(app.srcdir) / "results/generated"
    folder.mkdir(parents=True, exist_ok=True)
    tables = docs_numbers.tables()
    pages = {topic: topic_page(topic, tables) for topic in TOPICS}
    stored = json.loads((Path(app.srcdir) / "results/paper.json").read_text(encoding="utf-8"))
    pages["paper"] = paper_page(stored)
    for topic, text in pages.items():
        (folder / f"{topic}.md").write_text(text, encoding="utf-8")
    stale = [table.stale() for table in tables]
    if stored["answers"] != docs_numbers.answers_digest(stored["methods"]):
        stale += [f"docs/results/paper.json is stale: answers changed. Run {stored['command']} again."]
    for fault in filter(None, stale):
        logging.getLogger(__name__).warning(fault)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True}
