"""Take the paper's tables from a store of ``unseen bench`` into the documents.

    unseen bench --paper --budget quick --out out/bench
    unseen bench --paper --budget real --out out/bench
    python benchmarks/paper_tables.py out/bench

It writes docs/results/paper.json: the tables as the report has them, every number with the keys of its
stored cells, and for every cell its data set and method. ``make docs`` makes the page from it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from docs_numbers import answers_digest

from unseen.experiments import Store
from unseen.experiments.result_tables import all_tables
from unseen.experiments.results import Results
from unseen.reporting.table_exports import to_json

PAGE = Path(__file__).parents[1] / "docs" / "results" / "paper.json"
COMMAND = "unseen bench --paper --budget quick && unseen bench --paper --budget real"


def collect(store: Store) -> dict[str, Any]:
    """Return the tables of a store, and what each of its cells is."""
    rows = sorted(store.rows(), key=lambda row: (row.dataset, row.method, row.trial))
    tables = [to_json(table) for table in all_tables(Results(rows))]
    used = {key for table in tables for key in keys_of(table)}
    return {
        "command": COMMAND,
        "code": sorted({row.versions["code"] for row in rows}),
        "answers": answers_digest(methods_of(rows)),
        "methods": methods_of(rows),
        "cells": {row.key: [row.dataset, row.method] for row in rows if row.key in used},
        "statuses": Counter(row.status for row in rows),
        "datasets": sorted({row.dataset for row in rows}),
        "tables": tables,
    }


def methods_of(rows: list[Any]) -> list[str]:
    """Return the methods of rows; a fast form is its method."""
    return sorted({row.method.removeprefix("Fast-") for row in rows})


def keys_of(table: dict[str, Any]) -> set[str]:
    """Return the keys of all cells behind the numbers of a table."""
    cells = [cell for row in table["rows"] for cell in row if isinstance(cell, dict)]
    return {key for cell in cells for key in cell.get("keys", ())}


def main() -> None:
    """Write the page's data from the folder of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="of unseen bench: it holds results.sqlite")
    folder = parser.parse_args().folder
    with Store(folder / "results.sqlite") as store:
        collected = collect(store)
    PAGE.write_text(json.dumps(collected, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{PAGE}: {len(collected['tables'])} tables, {len(collected['cells'])} cells")


if __name__ == "__main__":
    main()
