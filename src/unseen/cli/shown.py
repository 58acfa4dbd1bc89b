"""What the commands on photographs share: options, progress, and how results are told."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.table import Table

SKIPPED = 3
"""The exit code of ``--strict`` when pictures were skipped."""
MANY = 12
"""Candidates above which a table leaves out those that got no picture."""
NAMED = 10
"""Skipped pictures that are named on the screen; all are in the JSON."""

Seen = Annotated[
    Path, typer.Option(help="Labelled photographs, one sub-folder a class: SEEN/<class>/<picture>.")
]
Unlabelled = Annotated[
    Path | None, typer.Option(help="A folder of photographs that nobody labelled.", show_default=False)
]
Classes = Annotated[
    Path | None,
    typer.Option(
        help="All classes, seen and not: CSV or Parquet with a column 'class', one column an attribute "
        "and, if you like, 'description'; or a .txt of names.",
        show_default=False,
    ),
]
Words = Annotated[
    str,
    typer.Option(
        help="Vectors of names and descriptions: minilm, hf:NAME, or a GloVe, word2vec or fastText "
        "file. Mixed with attributes where there are some.",
        show_default=False,
    ),
]
WordWeight = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="The share of words beside attributes.")
]
Candidates = Annotated[
    str,
    typer.Option(
        help="Among which classes to answer: fox,bat or a .txt or 'all'. By default those without a "
        "labelled photograph.",
        show_default=False,
    ),
]
BackboneName = Annotated[
    str,
    typer.Option(
        "--backbone",
        help="What sees: efficientnet-lite0, vgg19-fc7, onnx:PATH, hf:NAME_OR_FOLDER.",
    ),
]
Weights = Annotated[
    Path | None, typer.Option(help="The backbone's weights, for vgg19-fc7.", show_default=False)
]
Cache = Annotated[
    Path | None,
    typer.Option(help="Where features are kept; UNSEEN_CACHE or the user's cache by default."),
]
Method = Annotated[str, typer.Option(help="What learns; unseen bench compares them.")]
Seed = Annotated[
    int | None,
    typer.Option(help="For what is drawn at random; the method's own by default.", show_default=False),
]
Strict = Annotated[
    bool, typer.Option("--strict", help=f"Leave with {SKIPPED} if photographs were skipped.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def learned(
    task: Any,
    backbone: str,
    weights: Path | None,
    cache: Path | None,
    method: str,
    seed: int | None,
    quiet: bool,
) -> tuple[Any, Any]:
    """Say how good the descriptions are, extract features, fit; return the model and the backbone."""
    from unseen import features, labelling

    if not quiet:
        print_separation(task.separation)
        print_notes(task.notes)
    network = features.backbone(backbone, weights)
    with features.FeatureStore(cache) as store, extracting("learning") as on_progress:
        fitted = labelling.fit(task, network, store, method, seed, on_progress=on_progress)
    return fitted, network


@contextmanager
def extracting(then: str = "photographs") -> Iterator[Any]:
    """Show a bar on a terminal; give a callable for the extraction's progress.

    ``then`` is what the bar says when all photographs are done.
    """
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    quiet = logging.getLogger("unseen.features")
    before, quiet.level = quiet.level, logging.ERROR  # skipped pictures are told at the end
    with bar:
        task = bar.add_task("photographs", total=None, note="")

        def show(progress: Any) -> None:
            parts = [f"{progress.reused} known"] * bool(progress.reused)
            parts += [f"{progress.broken} skipped"] * bool(progress.broken)
            note = ", ".join(parts)
            bar.update(task, total=progress.total, completed=progress.done, note=note)
            if progress.done == progress.total:
                bar.update(task, description=then)

        try:
            yield show
        finally:
            quiet.setLevel(before)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))


def skipped_of(broken: list[Any]) -> list[dict[str, str]]:
    """Return the skipped pictures as plain data."""
    return [{"image": str(b.path), "reason": b.reason} for b in broken]


def print_skipped(broken: list[Any]) -> None:
    """Name and count the skipped pictures, on the error stream."""
    if not broken:
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    plural = "s" * (len(broken) != 1)
    console.print(f"[yellow]skipped {len(broken)} photograph{plural}[/] that cannot be read:")
    for item in broken[:NAMED]:
        console.print(f"  {escape(str(item.path))}: {escape(item.reason)}")
    if len(broken) > NAMED:
        console.print(f"  … and {len(broken) - NAMED} more; --json lists all of them")


def print_notes(notes: list[str]) -> None:
    """Print what the user should know."""
    for note in notes:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]note:[/] {escape(note)}")


def print_separation(found: Any) -> None:
    """Say how well the descriptions tell the classes apart, before anything is trained."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"descriptions: {found.classes} classes × {found.columns} numbers, which differ in about "
        f"{found.effective_rank:.0f} directions. {escape(found.verdict)}"
    )
    if found.nearest:
        pairs = ", ".join(f"{p.first}–{p.second} {p.distance:.2f}" for p in found.nearest[:3])
        console.print(f"[dim]closest candidates (1 is the median distance): {escape(pairs)}[/]")


def separation_json(found: Any) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "verdict": found.verdict,
        "classes": found.classes,
        "columns": found.columns,
        "effective_rank": found.effective_rank,
        "nearest": [vars(p) for p in found.nearest],
        "same": [vars(p) for p in found.same],
        "close": [vars(p) for p in found.close],
        "reach": found.reach,
    }


def labels_table(labels: Any) -> Table:
    """Return the table of classes: how many photographs each got, how sure, and some to review."""
    trial = labels.accuracy is not None
    table = Table(header_style="bold")
    table.add_column("class")
    table.add_column("photographs", justify="right")
    table.add_column("unsure", justify="right")
    if trial:
        table.add_column("found", justify="right")
    counts = sorted(labels.counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [item for item in counts if item[1] or len(counts) <= MANY]
    for name, count in shown:
        unsure = sum(a.label == name for a in labels.unsure)
        found = [f"{labels.by_class[name]:.0%}" if name in labels.by_class else ""] if trial else []
        table.add_row(escape(name), str(count), str(unsure), *found)
    if len(shown) < len(counts):
        table.add_row(f"[dim]{len(counts) - len(shown)} other classes[/]", "0", "0", *[""] * trial)
    return table


def labels_json(labels: Any) -> dict[str, Any]:
    """Return the labels as plain data."""
    told: dict[str, Any] = {
        "photographs": len(labels.answers),
        "unsure": len(labels.unsure),
        "candidates": labels.candidates,
        "counts": labels.counts,
    }
    if labels.accuracy is not None:
        told["accuracy_per_class"] = labels.accuracy
        told["accuracy_by_class"] = labels.by_class
    names = ("image", "label", "confidence", "runner_up", "round")
    told["labels"] = [{n: getattr(a, n) for n in names} for a in labels.answers]
    return told
