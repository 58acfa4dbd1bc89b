"""Splits on disk: lists of classes, and lists of rows."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.files import check_size, reading
from unseen.typing import Array

PathLike = str | os.PathLike[str]
Index = npt.NDArray[np.intp]

#: The three index sets of a data set, in the order of its record.
PARTS = ("train", "test_seen", "test_unseen")


def read_lines(path: PathLike) -> list[str]:
    """Read the lines of a text file that are not blank, without the white space around them."""
    with reading(path):
        check_size(path, "the list", Path(path).stat().st_size, 2**30)
        text = Path(path).read_text(encoding="utf-8-sig")
    if "\x00" in text:
        raise DataError(f"{path}: holds a NUL character. It is not a text file.")
    return [line.strip() for line in text.split("\n") if line.strip()]


def read_class_list(path: PathLike, known: Collection[str]) -> list[str]:
    """Read one class name a line; each must be among ``known``, and there once."""
    names = read_lines(path)
    known, taken = set(known), set[str]()
    for line, name in enumerate(names, 1):
        if name not in known:
            raise DataError(
                f"{path}: entry {line}: the class {name!r} is not among the {len(known)} classes "
                "of the data set. Check the spelling."
            )
        if name in taken:
            raise DataError(f"{path}: entry {line}: the class {name!r} is there twice.")
        taken.add(name)
    if not names:
        raise DataError(f"{path}: names no class.")
    return names


def read_numbered(path: PathLike) -> list[str]:
    """Read lines of "number name", numbered from 1 without a gap, and return the names."""
    names = []
    for line, text in enumerate(read_lines(path), 1):
        number, _, name = text.replace("\t", " ").partition(" ")
        if number != str(line) or not name.strip():
            raise DataError(f"{path}: entry {line}: expected '{line} <name>', found {text[:60]!r}.")
        names.append(name.strip())
    if not names:
        raise DataError(f"{path}: is empty.")
    return names


def unseen_class_split(
    y: Array, unseen: Collection[str] | Collection[int], source: object
) -> dict[str, Index]:
    """Split rows by class: all rows of ``unseen`` classes are for test, all others for training."""
    there = set(np.unique(y).tolist())
    absent = sorted(str(c) for c in unseen if c not in there)
    if absent:
        raise DataError(
            f"{source}: {len(absent)} unseen class(es) have no row: {', '.join(absent[:5])}. "
            "Check the spelling, or leave them out."
        )
    is_unseen = np.isin(y, np.array(list(unseen)))
    if is_unseen.all() or not is_unseen.any():
        raise DataError(f"{source}: a split needs rows of seen and of unseen classes.")
    return {
        "train": np.flatnonzero(~is_unseen),
        "test_seen": np.empty(0, np.intp),
        "test_unseen": np.flatnonzero(is_unseen),
    }


def split_from_names(names: Sequence[str], path: PathLike) -> dict[str, Index]:
    """Turn a column that names the part of each row into index sets; "none" leaves a row out."""
    for line, name in enumerate(names, 2):
        if name not in (*PARTS, "none"):
            raise DataError(
                f"{path}: line {line}, column 'split': {name!r} is not one of "
                f"{', '.join(PARTS)} or none."
            )
    column = np.array(names)
    return {part: np.flatnonzero(column == part) for part in PARTS}


def read_split(path: PathLike, rows: int) -> dict[str, Index]:
    """Read a CSV of ``set,row`` lines (rows from 0), in the order they stand."""
    index: dict[str, list[int]] = {part: [] for part in PARTS}
    with reading(path), Path(path).open(encoding="utf-8-sig", newline="") as file:
        check_size(path, "the split", Path(path).stat().st_size, 2**32)
        reader = csv.reader(file, strict=True)
        if next(reader, None) != ["set", "row"]:
            raise DataError(f"{path}: line 1 must be 'set,row'.")
        for cells in reader:
            if len(cells) != 2 or cells[0] not in index or not cells[1].isdecimal():
                raise DataError(
                    f"{path}: line {reader.line_num}: expected one of {', '.join(PARTS)} and a "
                    f"row number, found {','.join(cells)[:60]!r}."
                )
            row = int(cells[1][:20])
            if row >= rows:
                raise DataError(
                    f"{path}: line {reader.line_num}: row {row}, but the data has rows 0 to {rows - 1}."
                )
            index[cells[0]].append(row)
    return {part: np.array(values, dtype=np.intp) for part, values in index.items()}


def write_split(path: PathLike, parts: Mapping[str, Iterable[int]]) -> None:
    """Write what :func:`read_split` reads."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "row"])
        for part in PARTS:
            writer.writerows((part, int(row)) for row in parts[part])


def one_based(values: object, limit: int, path: PathLike, name: str, of: str) -> Index:
    """Turn MATLAB's indices from 1 into indices from 0; say so where they look 0-based."""
    array = np.asarray(values).ravel()
    if array.dtype.kind not in "fiu":
        raise DataError(f"{path}: {name} holds {array.dtype}, but indices are whole numbers.")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.floor(array))).all():
        raise DataError(f"{path}: {name} holds a number that is not whole.")
    bad = (array < 1) | (array > limit)
    if bad.any():
        where = int(np.argmax(bad))
        hint = " It looks 0-based: add 1 to every entry." if array.min() == 0 else ""
        raise DataError(
            f"{path}: {name}, entry {where + 1}: {array[where]:g} is not one of {of} 1 to {limit}."
            f"{hint}"
        )
    return array.astype(np.intp) - 1
