"""A digest of the code that decides a result: a result of other code is another result.

Every file of the package counts unless it is listed here, so that a new file counts from the start.
Listed files only present data or results, or are interfaces to the library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import unseen

PACKAGE = Path(unseen.__file__).parent

AROUND = ("cli", "serving", "labelling", "persistence")
"""Packages that no fit and no measurement uses."""

PAGES = (
    "experiments/answer_tables.py",
    "experiments/forms.py",
    "experiments/paper.py",
    "experiments/published_comparison.py",
    "experiments/result_figures.py",
    "experiments/result_page.py",
    "experiments/result_tables.py",
    "experiments/results.py",
    "experiments/significance.py",
    "experiments/summary.py",
    "experiments/unlabelled_tables.py",
    "reporting/answer_picture.py",
    "reporting/figures.py",
    "reporting/html_page.py",
    "reporting/table_exports.py",
    "reporting/value_table.py",
)
"""Files that turn stored results into tables, figures and pages. Thumbnails are stored with a cell, so
the file that makes them counts."""


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
