"""``unseen datasets``: fetch, look at, check, convert and simulate data sets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from unseen.cli.options import AsJson
from unseen.cli.output import print_error, print_json
from unseen.datasets.auditor import AuditReport
from unseen.datasets.auditor import audit as run_audit
from unseen.datasets.conversion import LAYOUTS, detect_layout, load_dataset
from unseen.datasets.conversion import convert as run_convert
from unseen.datasets.download import ARCHIVES
from unseen.datasets.download import fetch as run_fetch
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.simulator import SHAPES
from unseen.datasets.simulator import simulate as run_simulate
from unseen.datasets.splits import PARTS
from unseen.exceptions import DataError
from unseen.typing import JsonObject

app = typer.Typer(
    help="Fetch, look at, check, convert and simulate data sets.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_COLOUR = {"error": "bold red", "warning": "yellow", "info": "cyan"}

Source = Annotated[
    Path,
    typer.Argument(
        help="A folder (xlsa17, AwA, CUB, aPY, table, pictures), an .npz bundle or a feature file."
    ),
]
Layout = Annotated[str | None, typer.Option(help="The layout, where it is not found out.")]
Features = Annotated[str | None, typer.Option(help="The feature file: a name in xlsa17, else a path.")]
Split = Annotated[str | None, typer.Option(help="xlsa17: PS or SS. Table: a CSV of set,row.")]
Unseen = Annotated[Path | None, typer.Option(help="A text file of the unseen classes, one a line.")]
Semantics = Annotated[
    str | None, typer.Option(help="A CSV of classes, for feature files and pictures.")
]
Option = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="NAME=VALUE, any other option of the layout's loader."),
]


@contextmanager
def _faults() -> Iterator[None]:
    """Print what is wrong with the data, and leave with 2: a user needs no traceback."""
    try:
        yield
    except DataError as error:
        print_error(error)
        raise typer.Exit(2) from None


def _options(
    layout: str | None,
    features: str | None,
    split: str | None,
    unseen: Path | None,
    semantics: str | None,
    more: list[str] | None,
) -> JsonObject:
    """Gather what was given for the loader."""
    given: JsonObject = {
        "layout": layout,
        "features": features,
        "split": split,
        "unseen": unseen,
        "semantics": semantics,
    }
    for text in more or ():
        name, sign, value = text.partition("=")
        if not sign:
            raise DataError(f"--option {text}: expected NAME=VALUE.")
        known = {"true": True, "false": False}.get(value.lower(), value)
        given[name] = int(value) if value.isdecimal() else known
    return {name: value for name, value in given.items() if value is not None}


@app.command("list", epilog="Example: unseen datasets list")
def list_(as_json: AsJson = False) -> None:
    """List the public archives that fetch knows, and the shapes that simulate imitates."""
    if as_json:
        print_json({"fetch": [vars(a) for a in ARCHIVES.values()], "simulate": list(SHAPES)})
        return
    table = Table(title="unseen datasets fetch NAME", title_justify="left")
    for column in ("name", "what", "SHA-256"):
        table.add_column(column)
    for archive in ARCHIVES.values():
        known = f"{archive.sha256[:12]}…" if archive.sha256 else "kept at first download"
        table.add_row(archive.name, archive.what, known)
    Console().print(table)
    Console().print(f"unseen datasets simulate NAME: {', '.join(SHAPES)}")


@app.command(epilog="Example: unseen datasets fetch awa2-base --to data --trust-first")
def fetch(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(ARCHIVES)}.")],
    to: Annotated[Path | None, typer.Option(help="The folder to keep it in.")] = None,
    url: Annotated[str | None, typer.Option(help="A mirror, instead of the known address.")] = None,
    sha256: Annotated[str | None, typer.Option(help="The checksum to hold it to.")] = None,
    trust_first: Annotated[
        bool,
        typer.Option(
            "--trust-first",
            help="Take an archive that has no published checksum as it comes the first time; later "
            "downloads are held to it.",
        ),
    ] = False,
    unpack: Annotated[bool, typer.Option(help="Unpack the archive beside it.")] = True,
) -> None:
    """Download a public archive: resumed where it broke off, checked, and unpacked."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    with _faults(), bar:
        task = bar.add_task(name, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        place = run_fetch(
            name, to, url=url, sha256=sha256, trust_first=trust_first, unpack=unpack, progress=show
        )
    typer.echo(place)


@app.command(epilog="Example: unseen datasets info xlsa17/CUB")
def info(
    path: Source,
    layout: Layout = None,
    features: Features = None,
    split: Split = None,
    unseen: Unseen = None,
    semantics: Semantics = None,
    option: Option = None,
    as_json: AsJson = False,
) -> None:
    """Say what lies at PATH: layout, shapes, classes and the sizes of the split."""
    with _faults():
        options = _options(layout, features, split, unseen, semantics, option)
        dataset = load_dataset(path, **options)
        detected = layout or detect_layout(path)
    facts = {"layout": detected, **_facts(dataset)}
    if as_json:
        print_json(facts)
        return
    table = Table(title=escape(dataset.name), title_justify="left", show_header=False)
    for key, value in facts.items():
        table.add_row(key, escape(str(value)))
    Console().print(table)


def _facts(dataset: ZeroShotDataset) -> JsonObject:
    return {
        "name": dataset.name,
        "features": dataset.features,
        "rows": len(dataset.X),
        "columns": int(dataset.X.shape[1]),
        "dtype": str(dataset.X.dtype),
        "classes": len(dataset.semantics),
        "attributes": int(dataset.semantics.vectors.shape[1]),
        "seen classes": len(dataset.seen_classes),
        "unseen classes": len(dataset.unseen_classes),
        **{part: len(getattr(dataset, part)) for part in PARTS},
        "images": dataset.images is not None,
        "provenance": dataset.provenance,
    }


@app.command(epilog="Example: unseen datasets audit xlsa17/AWA1 --split SS")
def audit(
    path: Source,
    layout: Layout = None,
    features: Features = None,
    split: Split = None,
    unseen: Unseen = None,
    semantics: Semantics = None,
    option: Option = None,
    counts: Annotated[bool, typer.Option(help="Show the rows of every class.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a data set for what makes zero-shot results wrong. Exit code 1 if an error is found."""
    with _faults():
        report = run_audit(path, **_options(layout, features, split, unseen, semantics, option))
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report, Console(), counts)
    if report.errors:
        raise typer.Exit(1)


def _print_report(report: AuditReport, console: Console, counts: bool) -> None:
    console.print(
        f"[bold]{escape(report.name)}[/] · {escape(report.features)} · {report.shape[0]:,} rows × "
        f"{report.shape[1]:,} features · {report.classes['table']} classes × "
        f"{report.attributes} attributes"
    )
    sizes = Table(show_edge=False)
    for column in ("", "rows", "classes", "smallest class", "largest class"):
        sizes.add_column(column, justify="left" if not column else "right")
    for place, part in enumerate(PARTS):
        held = [c[place] for c in report.counts.values() if c[place]]
        extremes = (f"{min(held):,}", f"{max(held):,}") if held else ("–", "–")
        sizes.add_row(part, f"{report.rows[part]:,}", str(len(held)), *extremes)
    console.print(sizes)
    if counts:
        console.print(_count_table(report))
    for finding in report.findings:
        colour = _COLOUR[finding.severity]
        console.print(f"\n[{colour}]{finding.severity}[/] [bold]{finding.code}[/]")
        lines = Table.grid(padding=(0, 2))
        lines.add_column(style="dim")
        for label in ("message", "effect", "remedy"):
            lines.add_row(f"  {label}", escape(getattr(finding, label)))
        console.print(lines)
    tally = {s: sum(f.severity == s for f in report.findings) for s in _COLOUR}
    console.print(
        "\n" + ", ".join(f"{n} {s}{'s' if n != 1 and s != 'info' else ''}" for s, n in tally.items())
    )


def _count_table(report: AuditReport) -> Table:
    table = Table(show_edge=False)
    for column in ("class", *PARTS):
        table.add_column(column, justify="left" if column == "class" else "right")
    for name, held in report.counts.items():
        table.add_row(escape(name), *(f"{n:,}" for n in held))
    return table


@app.command(epilog="Example: unseen datasets convert my-table peers --to xlsa17")
def convert(
    path: Source,
    target: Annotated[Path, typer.Argument(help="A new folder; a new .npz file for npz.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(LAYOUTS)}.")],
    layout: Layout = None,
    features: Features = None,
    split: Split = None,
    unseen: Unseen = None,
    semantics: Semantics = None,
    option: Option = None,
) -> None:
    """Write a data set in another layout, bit for bit."""
    with _faults():
        notes = run_convert(
            path, target, to, **_options(layout, features, split, unseen, semantics, option)
        )
    typer.echo(target)
    for note in notes:
        Console(stderr=True).print(f"[dim]note:[/] {escape(note)}", soft_wrap=True)


@app.command(epilog="Example: unseen datasets simulate CUB birds.npz --to npz --scale 0.1")
def simulate(
    like: Annotated[str, typer.Argument(help=f"One of {', '.join(SHAPES)}.")],
    target: Annotated[Path, typer.Argument(help="A new folder; a new .npz file for npz.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(LAYOUTS)}.")] = "npz",
    scale: Annotated[float, typer.Option(help="Multiplies the rows; 1 is the true shape.")] = 1.0,
    n_features: Annotated[int | None, typer.Option(help="Instead of 4,096.")] = None,
    domain_shift: Annotated[float, typer.Option(help="0 none, 1 as large as the signal.")] = 0.3,
    label_noise: Annotated[float, typer.Option(help="Fraction of wrong training labels.")] = 0.0,
    held_out: Annotated[float, typer.Option(help="Fraction of seen rows for test_seen.")] = 0.0,
    random_state: Annotated[int, typer.Option(help="The seed.")] = 0,
) -> None:
    """Write a simulated data set at the shape of a benchmark. It is always labelled simulated."""
    with _faults():
        dataset = run_simulate(
            like,  # type: ignore[arg-type]  # checked there, with a message
            scale=scale,
            n_features=n_features,
            domain_shift=domain_shift,
            label_noise=label_noise,
            held_out=held_out,
            random_state=random_state,
        )
        run_convert(dataset, target, to)
    typer.echo(target)
