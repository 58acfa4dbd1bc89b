"""``unseen demo``: learn from printed letters, recognise handwritten digits that were never seen."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
import time
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import unseen
from unseen.cli.output import print_json, print_notes
from unseen.files import atomic_file
from unseen.methods import DEFAULT, Method, fast_form, find
from unseen.typing import Classifier, JsonObject
from unseen.version import install_command

if TYPE_CHECKING:
    from unseen.datasets.record import ZeroShotDataset

SHOWN = ("PrototypeRidge", "ESZSL", "SJE", "ASTE", "TASTE")
"""The paper's own methods, shown with their fast forms."""


@dataclass(frozen=True)
class Result:
    """A row of the table: per-class top-1 accuracies from 0 to 1, and the seconds of ``fit``."""

    method: str
    transductive: bool
    unseen_among_unseen: float
    seen_among_all: float
    unseen_among_all: float
    harmonic: float
    seconds: float


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("out/demo"),
    seed: Annotated[int, typer.Option(help="For the methods that draw at random (SJE).")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
) -> None:
    """Learn from printed letters, then recognise handwritten digits that were never seen.

    Shows one table, and writes it with a picture of confident and wrong digits.
    """
    from unseen.datasets import load_letters_to_digits

    data = load_letters_to_digits()
    notes = _missing_picture()
    todo = shown_methods()
    results, shown = [], None
    with _progress() as bar:
        task = bar.add_task("", total=len(todo))
        for method in todo:
            bar.update(task, description=method.name)
            model, result = measure(method, data, seed)
            bar.update(task, advance=1)
            results.append(result)
            if not method.fast:  # the picture shows the last of these
                shown = method.name, model
    report = _report(data, results, seed)
    paths = _write(out, report, results)
    if shown is not None and not notes:
        name, model = shown
        with atomic_file(out / "digits.png") as temporary:
            _draw(temporary, name, model.set_params(candidates="unseen"), data)
        paths.insert(0, out / "digits.png")
    print_notes(notes)
    if as_json:
        print_json(report)
        return
    console = Console()
    console.print(_table(data, results))
    console.print(_explanation(data), style="dim", highlight=False)
    console.print("\nwrote " + ", ".join(str(path) for path in paths), soft_wrap=True, highlight=False)


def _missing_picture() -> list[str]:
    """Return why there will be no picture, if matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is not None:
        return []
    command = install_command("figures")
    return [f"No picture is drawn, because matplotlib is not installed: {command}"]


def shown_methods() -> list[Method]:
    """Return the paper's methods, each followed by its fast form, and the default method last."""
    pairs = [[name, fast_form(name)] for name in SHOWN]
    return [find(name) for name in (*chain.from_iterable(pairs), DEFAULT) if name is not None]


def measure(method: Method, data: ZeroShotDataset, seed: int = 0) -> tuple[Any, Result]:
    """Fit a method and measure it; only ``fit`` is timed."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from unseen.metrics import per_class_accuracy, seen_unseen_harmonic

    model = method.build(data.semantics, random_state=seed)
    X, y = data.transductive() if method.transductive else (data.X[data.train], data.y[data.train])
    test = np.concatenate([data.test_seen, data.test_unseen])
    # One thread: these matrices are so small that more threads only wait for each other.
    with threadpool_limits(limits=1):
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        among_unseen = model.set_params(candidates="unseen").predict(data.X[data.test_unseen])
        among_all = model.set_params(candidates="all").predict(data.X[test])
    zero_shot = per_class_accuracy(data.y[data.test_unseen], among_unseen)
    generalised = seen_unseen_harmonic(data.y[test], among_all, data.seen_classes)
    return model, Result(method.name, method.transductive, zero_shot, *generalised, seconds)


def _draw(path: Path, name: str, model: Classifier, data: ZeroShotDataset) -> None:
    """Draw the most confident digits of each class, right and wrong."""
    from sklearn.datasets import load_digits

    from unseen.metrics import per_class_accuracy
    from unseen.reporting.answer_picture import draw_answers

    truth = data.y[data.test_unseen]
    probabilities = model.predict_proba(data.X[data.test_unseen])
    accuracy = 100 * per_class_accuracy(truth, model.classes_[probabilities.argmax(axis=1)])
    draw_answers(
        path,
        f"{name}: {len(truth):,} handwritten digits, per-class accuracy {accuracy:.1f}%",
        f"No digit was labelled · {data.name} · {data.features} · made by: unseen demo",
        load_digits().images,
        truth,
        model.classes_,
        probabilities,
    )


def _progress() -> Progress:
    return Progress(
        TextColumn("learning"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.description}"),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )


def _table(data: ZeroShotDataset, results: list[Result]) -> Table:
    table = Table(
        title=f"{data.name} · {data.features}",
        title_style="bold",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("method", vertical="bottom")
    for column in (
        "unseen\namong\nunseen",
        "seen\namong\nall",
        "unseen\namong\nall",
        "harmonic\nmean of\nboth",
        "fit,\nseconds",
    ):
        table.add_column(column, justify="right", vertical="bottom")
    names = ("unseen_among_unseen", "seen_among_all", "unseen_among_all", "harmonic")
    best = {name: max(getattr(r, name) for r in results) for name in names}
    for place, r in enumerate(results):
        cells = [
            f"[bold]{100 * getattr(r, n):.1f}[/]"
            if getattr(r, n) == best[n]
            else f"{100 * getattr(r, n):.1f}"
            for n in names
        ]
        last_of_pair = place + 1 < len(results) and not find(results[place + 1].method).fast
        table.add_row(
            r.method + (" *" if r.transductive else ""),
            *cells,
            f"{r.seconds:.2f}",
            end_section=last_of_pair,
        )
    return table


def _explanation(data: ZeroShotDataset) -> str:
    return (
        "Per-class top-1 in %. Unseen: handwritten digits. Seen: held-out letters.\n"
        f"All: {len(data.semantics)} classes, digits and letters. "
        "* learns from unlabelled digits as well."
    )


def _report(data: ZeroShotDataset, results: list[Result], seed: int) -> JsonObject:
    return {
        "command": "unseen demo",
        "version": unseen.__version__,
        "seed": seed,
        "dataset": data.name,
        "features": data.features,
        "metric": "per-class top-1",
        "provenance": data.provenance,
        "results": [asdict(r) for r in results],
    }


def _write(out: Path, report: dict[str, object], results: list[Result]) -> list[Path]:
    with atomic_file(out / "table.csv") as path, path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Result)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(r) for r in results)
    with atomic_file(out / "table.json") as path:
        text = json.dumps(report, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    return [out / "table.csv", out / "table.json"]
