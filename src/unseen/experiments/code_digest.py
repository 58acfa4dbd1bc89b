"""A digest of the code that decides a result: a result of other code is another result.

Every file of the package counts unless it is listed here, so that a new file counts from the start. A
file that is listed reads data or results for people, or offers the library to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import unseen

PACKAGE = Path(unseen.__file__).parent

AROUND = ("cli", "serving", "labelling", "reporting", "features", "persistence")
"""Packages that no fit and no measurement uses."""

PAGES = tuple(
    f"experiments/{name}.py"
    for name in (
        *("beside", "drawing", "figures", "formats", "html", "paper", "report", "results"),
        *("significance", "summary", "tables"),
    )
)
"""Files that turn stored results into tables, figures and pages."""


@cache
def code_digest() -> str:
    """Return the digest of the code that decides the result of a cell."""
    return digest_of_files(deciding_files(PACKAGE), PACKAGE)


def deciding_files(package: Path, left_out: Iterable[str] = (*AROUND, *PAGES)) -> list[Path]:
    """Return the Python files of a package in folders of any depth, but for those left out."""
    skipped = [package / part for part in left_out]
    files = sorted(package.rglob("*.py"))
    return [file for file in files if not any(file.is_relative_to(part) for part in skipped)]


def digest_of_files(files: Iterable[Path], folder: Path) -> str:
    """Return a digest of the contents of files and of where in a folder they are."""
    digest = hashlib.sha256()
    for file in files:
        content = hashlib.sha256(file.read_bytes()).digest()
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()[:12]
