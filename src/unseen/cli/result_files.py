"""Files of results, of which an earlier one is never lost."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unseen.exceptions import DataError
from unseen.files import atomic_file

if TYPE_CHECKING:
    from unseen.labelling import Fitted


def check_free(force: bool, *paths: Path | None) -> None:
    """Refuse to replace a result that is there already, before anything is computed.

    Parameters
    ----------
    force : bool
        Whether the user wants it replaced; see :func:`set_aside`.
    *paths : path or None
        What will be written.
    """
    for path in paths:
        if path is not None and path.exists() and not force:
            raise DataError(
                f"{path}: is there already, from an earlier run, and is left as it is. Name another "
                f"file to write, or give --force: it replaces this one and keeps it as {path.name}.bak."
            )


def set_aside(*paths: Path | None) -> list[Path]:
    """Copy results that are about to be replaced: labels.csv to labels.csv.bak, .bak2, and so on."""
    copies = []
    for path in paths:
        if path is None or not path.is_file():
            continue
        number, copy = 1, path.with_name(f"{path.name}.bak")
        while copy.exists() and not filecmp.cmp(path, copy, shallow=False):
            number += 1
            copy = path.with_name(f"{path.name}.bak{number}")
        if not copy.exists():
            with atomic_file(copy) as temporary:
                shutil.copyfile(path, temporary)
        copies.append(copy)
    return copies


def review_path(out: Path, review: int) -> Path | None:
    """Return where the items to look at are written: beside the labels, or nowhere."""
    return out.with_name("review.csv") if review else None


def write_review(fitted: Fitted, out: Path, review: int, quiet: bool) -> None:
    """Write the items to look at, if they are asked for, and say how to go on."""
    from unseen import labelling

    path = review_path(out, review)
    if path is None:
        return
    count = labelling.write_review(path, fitted, review)
    if not quiet:
        typer.echo(
            f"wrote {path}: {count} to look at. Fill in the column 'label', then run the same command "
            f"with --known {path} --force"
        )
