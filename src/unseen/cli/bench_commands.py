"""``unseen bench`` and ``unseen report``: run a specification, and write what came of it."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table as RichTable

from unseen.exceptions import DataError
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from unseen.experiments.plan import Plan
    from unseen.experiments.result_store import Row
    from unseen.experiments.run import Progress
    from unseen.experiments.specification import Specification

STORE = "results.sqlite"
RERUN_COMMAND = "unseen bench --cell"

Out = Annotated[Path, typer.Option(help="The folder of the store, the tables and the report.")]
DATA_HELP = "A folder with data sets, looked in before UNSEEN_DATA and the user's cache."


def bench(
    specification: Annotated[
        Path | None, typer.Argument(help="What to run, as TOML.", show_default=False)
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Every table and figure of the paper.")
    ] = False,
    datasets: Annotated[str, typer.Option(help="Instead of those specified: letters,CUB,AWA1:SS")] = "",
    methods: Annotated[str, typer.Option(help="Only these: ASTE,Fast-ASTE")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="How many trials of each.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; the cores by default, one thread each.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="With --paper. quick: embedded and simulated data, minutes; real: one trial on real "
            "data that is found; full: five trials of everything, hours."
        ),
    ] = "quick",
    out: Out = Path("out/bench"),
    data: Annotated[Path | None, typer.Option(help=DATA_HELP)] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run cells again that failed before.")] = False,
    cell: Annotated[str, typer.Option(help="Run one stored cell again, by its row's key.")] = "",
    show_methods: Annotated[
        bool, typer.Option("--list", help="Run nothing; list the methods that can be named.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
) -> None:
    """Run a specification: data sets × methods × trials × protocol. The same command resumes.

    Finished cells are kept in one store, so that nothing runs twice; a report is written at the end.
    """
    from unseen.experiments import Store, make_plan, run, write_report
    from unseen.reporting.figures import need_matplotlib

    if show_methods:
        _list_methods(as_json)
        return
    if cell:
        _again(out, cell, data)
        return
    need_matplotlib()  # now, and not when hours of results wait for their report
    wanted = _specification(specification, paper, budget)
    wanted = wanted.narrowed(_names(datasets), _names(methods), seeds)
    plan = make_plan(wanted, data)
    with Store(out / STORE) as store:
        with _ProgressBar(len(plan.cells)) as bar:
            progress = run(plan, store, jobs=jobs or os.cpu_count() or 1, retry=retry, on_progress=bar)
        written = write_report(
            store, out, plan.keys, f"Zero-shot learning: {wanted.name}", RERUN_COMMAND
        )
        rows = store.rows(plan.keys)
    summary = _summary(plan, progress, rows, written)
    if as_json:
        typer.echo(json.dumps({**summary, "results": [_plain(r) for r in rows]}, indent=1))
        return
    _print(summary, rows, written)


def report(
    out: Out = Path("out/bench"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the files written.")] = False,
) -> None:
    """Write the report of a store again: report.html, tables and figures."""
    from unseen.experiments import Store, write_report

    if not (out / STORE).is_file():
        raise DataError(f"{out / STORE}: no such store. Run unseen bench --out {out} first.")
    with Store(out / STORE) as store:
        written = write_report(store, out, rerun_command=RERUN_COMMAND)
    if as_json:
        typer.echo(json.dumps({"files": [str(path) for path in written]}, indent=1))
        return
    typer.echo(f"wrote {written[0]} and {len(written) - 1} files in tables/ and figures/")


def _list_methods(as_json: bool) -> None:
    from unseen.methods import catalogue

    methods = catalogue().values()
    if as_json:
        listed = [
            {
                "name": method.name,
                "transductive": method.transductive,
                "fast": method.fast,
                "citation": None if method.citation is None else str(method.citation),
                "package": method.package,
            }
            for method in methods
        ]
        typer.echo(json.dumps({"command": "unseen bench --list", "methods": listed}, indent=1))
        return
    for method in methods:
        kind = "transductive" if method.transductive else "inductive"
        source = "" if method.fast or method.citation is None else str(method.citation)
        package = "" if method.package == "unseen" else f"[{method.package}]"
        typer.echo(" ".join((f"{method.name:<28}{kind:<14}", source, package)).rstrip())


def _summary(plan: Plan, progress: Progress, rows: list[Row], written: list[Path]) -> JsonObject:
    return {
        "command": "unseen bench",
        "specification": plan.specification.to_dict(),
        "cells": len(plan.cells),
        "run_now": progress.done,
        "failed": sum(r.status == "failed" for r in rows),
        "seconds": round(time.monotonic() - progress.started, 1),
        "report": str(written[0]),
        "files": [str(path) for path in written],
    }


def _specification(path: Path | None, paper: bool, budget: str) -> Specification:
    from unseen.experiments import paper_specification, read

    if (path is None) == (not paper):
        raise DataError("Give a specification file, or --paper, and not both.")
    return paper_specification(budget) if path is None else read(path)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _again(out: Path, key: str, data: Path | None) -> None:
    """Run one stored cell again and say whether it comes out as stored; the store stays as it is."""
    from unseen.experiments import Cell, Store
    from unseen.experiments.run import Loader, attempt

    if not (out / STORE).is_file():
        raise DataError(f"{out / STORE}: no such store. Name its folder with --out.")
    with Store(out / STORE) as store:
        stored = store.rows([key])
    if not stored:
        raise DataError(f"{out / STORE}: has no row {key!r}. The report lists the keys of all rows.")
    cell = Cell(**stored[0].specification)
    outcome = attempt(cell, Loader(data))
    before, now = stored[0].accuracy, outcome.metrics.get("accuracy", math.nan)
    same = "the same" if before == now else "not the same"
    typer.echo(f"{cell.label}\nstored {100 * before:.2f}%, now {100 * now:.2f}%: {same}")
    if outcome.error:
        typer.echo(outcome.error)


class _ProgressBar:
    """The progress bar: cells, time left, and the best so far."""

    def __init__(self, total: int) -> None:
        self._bar = Bar(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("[dim]{task.description}"),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("", total=total, left="")

    def __enter__(self) -> _ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        last = "" if progress.last is None else progress.last.dataset
        value, method = progress.best.get(last, (math.nan, ""))
        best = f"best on {last}: {method} {100 * value:.1f}%" if method else last
        left = progress.seconds_left
        self._bar.update(
            self._task,
            completed=progress.before + progress.done,
            left=f"{left / 60:.0f} min left" if left > 90 else f"{left:.0f} s left",
            description=best + (f" · {progress.failed} failed" if progress.failed else ""),
        )


def _plain(row: Row) -> JsonObject:
    names = (
        "key",
        "status",
        "dataset",
        "method",
        "trial",
        "setting",
        "prior",
        "share",
        "C",
        "preset",
        "seed",
    )
    fields = {name: getattr(row, name) for name in names}
    numbers = {"accuracy": row.accuracy, "seconds": row.seconds, "peak_mb": row.peak_mb}
    return fields | {k: None if math.isnan(v) else v for k, v in numbers.items()}


def _print(summary: JsonObject, rows: list[Row], written: list[Path]) -> None:
    from unseen.experiments.forms import FORM_NAMES
    from unseen.experiments.results import Results

    results = Results(rows)
    table = RichTable(header_style="bold")
    table.add_column("per-class top-1, %", no_wrap=True)
    for dataset in results.datasets:
        table.add_column(dataset, justify="right")
    for name, preset in product(results.methods(), reversed(FORM_NAMES)):
        values = [results.value(d, name, preset=preset) for d in results.datasets]
        if any(v.text != "–" for v in values):
            form = "" if preset == "default" else f", {FORM_NAMES[preset]}"
            table.add_row(name + form, *(v.text for v in values))
    console = Console()
    if not console.is_terminal:  # a log has no edge at which to break
        console = Console(width=max(80, console.measure(table).maximum))
    console.print(table)
    line = f"{summary['cells']} cells, {summary['run_now']} run now in {summary['seconds']} s"
    if summary["failed"]:
        line += f", {summary['failed']} failed: run again with --retry"
    console.print(f"{line}\nwrote {written[0]} and {len(written) - 1} files beside it", highlight=False)
