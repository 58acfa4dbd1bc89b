"""How the commands show progress, errors and results on the screen and as JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unseen.typing import JsonObject

if TYPE_CHECKING:
    from unseen.features.extraction import Broken
    from unseen.features.separation import Separation
    from unseen.labelling.fitting import Fitted
    from unseen.labelling.labels import Labels

MANY_CANDIDATES = 12
"""Candidates above which a table leaves out those that got no picture."""
NAMED_PICTURES = 10
"""Skipped files that are named on the screen; all are in the JSON, and in the labels."""
UNICODE = ("utf-8", "utf8", "utf-16", "utf-16-le")
"""Encodings that have a code for every character."""
RENAMED_OPTIONS = {"held_out": "--hold-out", "weight": "--word-weight"}
"""Parameters in Python → options, where the names differ."""


def print_error(error: Exception) -> None:
    """Print what is wrong in one line, with the options that the remedy is about."""
    text = str(error)
    options = [
        RENAMED_OPTIONS.get(name, "--" + name.replace("_", "-"))
        for name in getattr(error, "options", ())
    ]
    if options:
        text += f" See {' and '.join(options)}."
    Console(stderr=True).print(f"[bold red]error:[/] {escape(text)}", soft_wrap=True)


def with_option(note: str) -> str:
    """Return a note of the library with the option that changes it, if there is one."""
    from unseen.labelling import UNUSED_DESCRIPTIONS

    return f"{note} To use both: --words minilm." if note == UNUSED_DESCRIPTIONS else note


def print_rests_on(facts: dict[str, str]) -> None:
    """Say what the labels rest on, in one line."""
    text = "; ".join(f"{what} {value}" for what, value in facts.items() if value)
    Console(highlight=False, soft_wrap=True).print(f"[dim]rests on: {escape(text)}[/]")


def print_kept(copies: list[Path]) -> None:
    """Say where results are that were replaced."""
    if copies:
        typer.echo(f"kept the earlier ones as {' and '.join(map(str, copies))}", err=True)


def write_what_the_console_can() -> None:
    """Let characters that the console or the pipe has no code for be replaced, not be an error.

    Outside UTF-8 (Windows code pages, ``LC_ALL=C``) a class name or an arrow would end the command.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _takes_every_character(stream):
            stream.reconfigure(errors="replace")


def _takes_every_character(stream: object) -> bool:
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-") in UNICODE


def print_json(value: object) -> None:
    """Print a value as JSON, in ASCII where the console or the pipe has no other codes."""
    ascii_only = not _takes_every_character(sys.stdout)
    typer.echo(json.dumps(value, indent=1, ensure_ascii=ascii_only))


def skipped_of(broken: list[Broken]) -> list[dict[str, str]]:
    """Return the skipped pictures as plain data."""
    return [{"image": str(b.path), "reason": b.reason} for b in broken]


def print_fit(
    record: JsonObject, sentence: str, fitted: Fitted, as_json: bool, kind: str = "photographs"
) -> None:
    """Say that a model was fitted and written: as JSON, or in words with what was not read."""
    if as_json:
        print_json(record)
        return
    print_skipped(fitted.task.data.broken, kind)
    print_notes(fitted.notes)
    typer.echo(sentence)


def print_skipped(broken: list[Broken], kind: str = "photographs") -> None:
    """Name and count the files or texts that were not read, on the error stream."""
    if not broken:
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    items = "file" if kind == "photographs" else kind.removesuffix("s")
    console.print(f"[yellow]{len(broken)} {items}{'s' * (len(broken) != 1)} not read:[/]")
    for item in broken[:NAMED_PICTURES]:
        console.print(f"  {escape(str(item.path))}: {escape(item.reason)}")
    if len(broken) > NAMED_PICTURES:
        console.print(
            f"  … and {len(broken) - NAMED_PICTURES} more; the CSV and --json list all of them"
        )


def print_notes(notes: list[str]) -> None:
    """Print what the user should know."""
    for note in map(with_option, notes):
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"[yellow]note:[/] {escape(note)}")


def print_separation(separation: Separation) -> None:
    """Say how well the descriptions tell the classes apart, before anything is trained."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"descriptions of {separation.classes} classes: {escape(separation.verdict)}")
    if separation.nearest:
        pairs = ", ".join(f"{p.first}–{p.second} {p.distance:.2f}" for p in separation.nearest[:3])
        console.print(f"[dim]most alike, where 1 is the usual distance: {escape(pairs)}[/]")


def fit_json(command: str, out: Path, fitted: Fitted) -> JsonObject:
    """Return what every command that fits says of the fit, as plain data."""
    data = fitted.task.data
    return {
        "command": command,
        "out": str(out),
        "method": fitted.task.method,
        "changed": None if fitted.start is None else int((fitted.predicted != fitted.start).sum()),
        "features": {"computed": data.computed, "reused": data.reused},
        "notes": fitted.notes,
    }


def separation_json(separation: Separation) -> JsonObject:
    """Return the same as plain data."""
    return {
        "verdict": separation.verdict,
        "classes": separation.classes,
        "columns": separation.columns,
        "effective_rank": separation.effective_rank,
        "nearest": [vars(p) for p in separation.nearest],
        "same": [vars(p) for p in separation.same],
        "unlearned": [vars(p) for p in separation.unlearned],
        "close": [vars(p) for p in separation.close],
        "reach": separation.reach,
    }


def labels_table(labels: Labels) -> Table:
    """Return the table of classes: how many photographs or texts each got, and how sure."""
    trial = labels.accuracy is not None
    table = Table(header_style="bold")
    table.add_column("class")
    table.add_column(labels.kind, justify="right")
    table.add_column("unsure", justify="right")
    if trial:
        table.add_column("found", justify="right")
    counts = sorted(labels.counts.items(), key=lambda item: (-item[1], item[0]))
    listed = [item for item in counts if item[1] or len(counts) <= MANY_CANDIDATES]
    for name, count in listed:
        unsure = sum(a.label == name for a in labels.unsure)
        right = [f"{labels.by_class[name]:.0%}" if name in labels.by_class else ""] if trial else []
        table.add_row(escape(name), str(count), str(unsure), *right)
    if len(listed) < len(counts):
        table.add_row(f"[dim]{len(counts) - len(listed)} other classes[/]", "0", "0", *[""] * trial)
    return table


def print_labels(labels: Labels, fitted: Fitted, out: Path, report: Path | None) -> None:
    """Print the table of classes, in a trial the accuracy, and what was written."""
    console = Console(highlight=False, soft_wrap=True)
    print_skipped(fitted.task.data.broken, labels.kind)
    print_notes(fitted.notes)
    console.print(labels_table(labels))
    if labels.accuracy is not None:
        chance = 1 / len(labels.answered)
        used = "held-out classes" if labels.kind == "photographs" else "texts"
        console.print(
            f"trial: {labels.accuracy:.1%} right per class (guessing: {chance:.1%}); the labels of the "
            f"{used} were used for this line only"
        )
    if labels.reliability is not None and labels.brier is not None:
        console.print(
            f"confidence differs from the share of right answers by {labels.reliability.error:.3f} on "
            f"average (ECE); Brier score {labels.brier:.3f}"
        )
    if labels.start_accuracy is not None:
        console.print(f"the first answer, by the largest cosine: {labels.start_accuracy:.1%} per class")
    wrote = f"wrote {out}" + (f" and {report}" if report is not None else "")
    first = "; the unsure ones come first" if labels.unsure else ""
    console.print(f"{wrote}: {summary_of(labels)}{first}")
    if labels.unknown and fitted.task.strangers == "auto":
        console.print(
            f"{labels.unknown!r} is said only where it is nearly certain. The column 'stranger' orders "
            "the items by how likely they belong to no class; if you know how many do, say so: "
            "--strangers 0.1 for one in ten"
        )


def print_run(
    labels: Labels,
    fitted: Fitted,
    facts: dict[str, str],
    out: Path,
    report: Path | None,
    kept: list[Path],
) -> None:
    """Print what a run of ``unseen label`` found, what it wrote and what it rests on."""
    if fitted.start is not None:
        typer.echo(f"changed: {changes(fitted)}")
    print_labels(labels, fitted, out, report)
    print_rests_on(facts)
    print_kept(kept)


def changes(fitted: Fitted) -> str:
    """Say how many first answers were changed, and how sure the changed ones are."""
    changed = fitted.predicted != fitted.start
    if not changed.any():
        return "no first answer (by the largest cosine)"
    sure = fitted.probabilities[changed].max(axis=1).mean()
    return (
        f"{changed.sum()} of {len(changed)} first answers (by the largest cosine); those are "
        f"{sure:.0%} sure on average"
    )


def print_answers(labels: Labels, broken: list[Broken], out: Path, kept: list[Path]) -> None:
    """Print what a fitted model answered for new items, and what was written."""
    print_skipped(broken, labels.kind)
    Console().print(labels_table(labels))
    typer.echo(f"wrote {out}: {summary_of(labels)}")
    print_kept(kept)


def summary_of(labels: Labels) -> str:
    """Say how many were labelled, how many are unsure, and how many belong to no class."""
    parts = [f"{len(labels.answers)} {labels.kind}", f"{len(labels.unsure)} unsure"]
    if labels.unknown:
        parts.append(f"{labels.counts[labels.unknown]} {labels.unknown!r}")
    if labels.coverage is not None and labels.answers:
        mean = sum(len(a.set) for a in labels.answers) / len(labels.answers)
        parts.append(f"sets at {labels.coverage:g} of {mean:.1f} classes on average")
    return ", ".join(parts)


def labels_json(labels: Labels) -> JsonObject:
    """Return the labels as plain data."""
    content: JsonObject = {
        labels.kind: len(labels.answers),
        "unsure": len(labels.unsure),
        "candidates": labels.candidates,
        "counts": labels.counts,
    }
    if labels.accuracy is not None:
        content["accuracy_per_class"] = labels.accuracy
        content["accuracy_by_class"] = labels.by_class
    if labels.reliability is not None:
        content["expected_calibration_error"] = labels.reliability.error
        content["brier_score"] = labels.brier
    if labels.unknown:
        content["unknown"] = labels.unknown
    if labels.coverage is not None:
        content["coverage"] = labels.coverage
    if labels.start_accuracy is not None:
        content["start_accuracy_per_class"] = labels.start_accuracy
    item, *names = labels.columns
    content["labels"] = [
        {item: a.item, **{name: getattr(a, name) for name in names}} for a in labels.answers
    ]
    return content
