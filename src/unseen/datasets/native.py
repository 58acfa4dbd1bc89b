"""What the native layouts of AwA, CUB and aPY share: feature rows, labels and class matrices."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.arrays import (
    ARRAY_SUFFIXES,
    FEATURE_KEYS,
    check_matrix,
    pick,
    read_array,
    read_container,
    read_text,
)
from unseen.datasets.sidecar import ROWS, Sidecar
from unseen.datasets.splits import Index, one_based, read_class_list, read_split
from unseen.exceptions import DataError
from unseen.typing import Array, Label

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Features:
    """Feature rows, with the labels and image names that the same file may hold."""

    path: Path
    X: Any
    labels: Any = None
    images: list[str] | None = None


def first_of(folder: Path, names: Sequence[str], what: str) -> Path:
    """Return the first of these files that the folder has."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: no {what}. Place {' or '.join(names)} there.")


def read_features(folder: Path, features: PathLike | None, max_bytes: int) -> Features:
    """Read the features of a native layout, from the file given or ``features.*`` in the folder."""
    if features is None:
        path = first_of(folder, [f"features{s}" for s in ARRAY_SUFFIXES], "features")
    else:
        path = Path(features)
    if path.suffix.lower() not in (".mat", ".npz", ".h5", ".hdf5"):
        return Features(path, read_array(path, max_bytes=max_bytes))
    wanted = (*FEATURE_KEYS, "labels", "image_files")
    held = read_container(path, wanted, lazy=FEATURE_KEYS, max_bytes=max_bytes)
    X = check_matrix(pick(held, FEATURE_KEYS, path), path)
    images = held.get("image_files")
    return Features(path, X, held.get("labels"), images if isinstance(images, list) else None)


def read_labels(path: Path, classes: int) -> Index:
    """Read one label a line, from 1, or "number label" lines as CUB has them."""
    values = read_text(path)
    if values.shape[1] == 2 and np.array_equal(values[:, 0], np.arange(1, len(values) + 1)):
        values = values[:, 1]
    elif values.shape[1] != 1:
        raise DataError(f"{path}: has {values.shape[1]} columns, but labels have one a line.")
    return one_based(values, classes, path, "labels", "the classes")


def read_class_matrix(path: Path, classes: int, attributes: int | None) -> Array:
    """Read a class × attribute matrix and check its shape."""
    values = read_text(path)
    if len(values) != classes or attributes not in (None, values.shape[1]):
        raise DataError(
            f"{path}: has shape {values.shape}, but there are {classes} classes and "
            f"{attributes if attributes is not None else 'some'} attributes."
        )
    return values


def typed(values: Array, sidecar: Sidecar | None) -> Array:
    """Return class vectors in the type that was written."""
    return values if sidecar is None else values.astype(sidecar.semantics_dtype)


def in_order(sidecar: Sidecar | None, rows: int, path: Path) -> Index | None:
    """Return the place of each row of the data set among the rows on disk, where they differ."""
    if sidecar is None or sidecar.order is None:
        return None
    order = np.array(sidecar.order)
    if not np.array_equal(np.sort(order), np.arange(rows)):
        raise DataError(f"{path}: the order in the sidecar does not fit {rows} rows.")
    return order.astype(np.intp)


def kept_split(folder: Path, rows: int) -> dict[str, Index] | None:
    """Return the rows that convert wrote beside class lists, which cannot hold them."""
    path = folder / ROWS
    return read_split(path, rows) if path.is_file() else None


def unseen_from(
    unseen: PathLike | Sequence[Label] | None, default: Path, classes: Array
) -> tuple[list[Any], object]:
    """Return the unseen classes: a sequence, a list on disk, or the default list on disk."""
    known = set(classes.tolist())
    if unseen is None or isinstance(unseen, (str, os.PathLike)):
        path = default if unseen is None else Path(unseen)
        if path.is_dir():
            path = path / "testclasses.txt"
        if unseen is None and not path.is_file():
            raise DataError(
                f"{path}: no such file, so the unseen classes are not known. Place it there, one "
                "class a line, or give unseen=."
            )
        return list(read_class_list(path, known)), path
    strangers = sorted(str(c) for c in unseen if c not in known)
    if strangers:
        raise DataError(f"unseen: {strangers[0]!r} is not among the {len(known)} classes.")
    return list(unseen), "unseen="


def check_rows(X: Any, labels: Sequence[object] | Array, features: Path, source: object) -> None:
    """Check that there is one feature row for each label."""
    if len(X) != len(labels):
        raise DataError(
            f"{features}: has {len(X)} rows, but {source} has {len(labels)}. One row of features "
            "belongs to each. If the file has one column a sample, transpose it."
        )


def aligned(features: Features, names: Sequence[str], source: object) -> Any:
    """Return the feature rows in the order of ``names``, where the file names its images."""
    if features.images is None:
        check_rows(features.X, names, features.path, source)
        return features.X
    ends = ["/".join(Path(n).parts[-2:]) for n in features.images]
    place = {name: i for i, name in enumerate(ends)}
    missing = [n for n in names if n not in place]
    if missing or len(place) < len(ends):
        what = f"no row for {missing[0]!r}" if missing else "an image twice"
        raise DataError(f"{features.path}: has {what}; {source} names {len(names)} images.")
    order = np.array([place[n] for n in names])
    return features.X if np.array_equal(order, np.arange(len(features.X))) else features.X[order]
