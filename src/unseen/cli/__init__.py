"""The command ``unseen``: parse, call, print. What it does lives in the packages below."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

import unseen
from unseen.cli import (
    bench_commands,
    dataset_commands,
    demo,
    extract_command,
    model_commands,
    photo_commands,
    serve_commands,
)
from unseen.cli.output import print_error, write_what_the_console_can

FIRST_STEPS = """\
unseen recognises classes that nobody has labelled. Three things to do:

  see it work          unseen demo
  label your own       unseen label --seen photos/seen --unlabelled photos/new --classes attributes.csv
    … in the browser   unseen studio
  compare methods      unseen bench --list

unseen --help lists all commands; unseen label --help says what label needs."""

START, LABEL, MODELS, DATA, STUDY = (
    "Start here",
    "Label photographs and texts",
    "Models: learn once, label often",
    "Data and features",
    "Compare methods",
)
"""The groups of commands in the help, in this order."""

EPILOG = (
    "Start with: unseen demo. Exit codes: 0 done, 1 a check found errors (datasets audit), 2 something "
    "is wrong with the input, 3 photographs or texts were skipped (with --strict), 130 interrupted."
)

app = typer.Typer(
    help="Recognise classes that nobody has labelled.",
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(epilog="Example: unseen demo --out out/demo --seed 1", rich_help_panel=START)(demo.demo)
app.command(epilog="Example: unseen studio", rich_help_panel=START)(serve_commands.studio)
app.command(
    epilog="Example: unseen label --seen photos/seen --unlabelled photos/new --classes attributes.csv "
    "--out labels.csv --report report.html. Without a label: unseen label --unlabelled photos "
    "--classes prompts.csv --backbone hf:clip-folder --out labels.csv. With texts: unseen label "
    "--texts tickets.csv --column text --classes classes.csv --out labels.csv. With items of no class: "
    "unseen label --seen photos/seen --unlabelled photos/new --classes attributes.csv --unknown none",
    rich_help_panel=LABEL,
)(photo_commands.label)
app.command(
    epilog="Example: unseen fit --seen photos/seen --classes attributes.csv --out animals.safetensors. "
    "With features: unseen fit --seen rows.zarr --labels labels.zarr --classes attributes.csv "
    "--scheduler tcp://10.0.0.1:8786",
    rich_help_panel=MODELS,
)(model_commands.fit)
app.command(
    epilog="Example: unseen predict animals.safetensors photos/new --out labels.csv. With the classes "
    "that are left: unseen predict animals.safetensors photos/new --set 0.9. With features: "
    "unseen predict animals.safetensors rows.zarr --out labels.npy --scheduler tcp://10.0.0.1:8786",
    rich_help_panel=MODELS,
)(model_commands.predict)
app.command(
    "add-class",
    epilog="Example: unseen add-class animals.safetensors --classes more.csv",
    rich_help_panel=MODELS,
)(model_commands.add_class)
app.command(epilog="Example: unseen serve animals.safetensors --port 8000", rich_help_panel=MODELS)(
    serve_commands.serve
)
app.command(epilog="Example: unseen extract photos --out features.npz", rich_help_panel=DATA)(
    extract_command.extract
)
app.add_typer(dataset_commands.app, name="datasets", rich_help_panel=DATA)
app.command(epilog="Example: unseen bench --paper --budget quick", rich_help_panel=STUDY)(
    bench_commands.bench
)
app.command(epilog="Example: unseen report --out out/bench", rich_help_panel=STUDY)(
    bench_commands.report
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unseen {unseen.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def unseen_command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (or UNSEEN_DEBUG=1).")
    ] = False,
) -> None:
    """Recognise classes that nobody has labelled."""
    if debug:
        os.environ["UNSEEN_DEBUG"] = "1"
    if context.invoked_subcommand is None:
        typer.echo(FIRST_STEPS)


def main() -> None:
    """Run the command; what is wrong with the input is one line, and exit code 2."""
    write_what_the_console_can()
    try:
        app()
    except (ValueError, OSError) as error:  # DataError is a ValueError
        if os.environ.get("UNSEEN_DEBUG", "0") not in ("", "0"):
            raise
        print_error(error)
        sys.exit(2)
