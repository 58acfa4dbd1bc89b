"""aPascal-aYahoo in its own layout (Farhadi, Endres, Hoiem, Forsyth, CVPR 2009)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets import native
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import Sidecar, class_names, read_sidecar
from unseen.datasets.splits import read_lines
from unseen.datasets.table_files import read_table
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, safe_image_name
from unseen.typing import Array

PathLike = str | os.PathLike[str]

#: The annotation files, in the order in which their rows are numbered.
FILES = ("apascal_train.txt", "apascal_test.txt", "ayahoo_test.txt")
#: Where convert puts class vectors that rows cannot hold.
CLASS_VECTORS = "unseen_classes.csv"


@dataclass(frozen=True)
class _Rows:
    images: list[str]
    classes: list[str]
    attributes: Array


def load_apy(
    folder: PathLike,
    features: PathLike | None = None,
    *,
    held_out: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> ZeroShotDataset:
    """Load aPY: aPascal's classes are seen, aYahoo's unseen.

    Parameters
    ----------
    folder : path
        The unpacked ``attribute_data``: ``apascal_train.txt``, ``apascal_test.txt`` and
        ``ayahoo_test.txt`` (image, class, box, 64 attributes of 0 or 1), ``attribute_names.txt``.
    features : path, optional
        One row an object, in the order of those three files. By default ``features.*``.
    held_out : bool
        Whether aPascal's test rows go to ``test_seen``. By default all of aPascal is for training.
    max_bytes : int
        What a compressed file may expand to.

    Returns
    -------
    ZeroShotDataset
        A class's vector is the mean of the attributes of its objects.

    Notes
    -----
    The published files have 12,695 objects of aPascal and 2,644 of aYahoo, 15,339 in all, as in
    xlsa17. The paper's "2,644 images from 32 classes" counts aYahoo alone.
    """
    folder = Path(folder)
    sidecar = read_sidecar(folder)
    attributes = read_lines(folder / "attribute_names.txt")
    parts = [_read_rows(folder / name, len(attributes)) for name in FILES]
    native_y = np.array([c for part in parts for c in part.classes])
    images = [i for part in parts for i in part.images]
    held = native.read_features(folder, features, max_bytes)
    native.check_rows(held.X, native_y, held.path, "the annotation files")
    sizes = np.cumsum([0, *(len(part.classes) for part in parts)])
    X, order = held.X, native.in_order(sidecar, len(native_y), folder)
    semantics, y = _semantics(folder, parts, native_y, attributes, sidecar)
    if order is not None:
        X, y = X[order], y[order]
    index = native.kept_split(folder, len(y))
    if index is None:
        first, second, third = (np.arange(a, b) for a, b in pairwise(sizes))
        seen = first if held_out else np.concatenate([first, second])
        index = {
            "train": seen,
            "test_seen": second if held_out else second[:0],
            "test_unseen": third,
        }
    return assemble(
        folder,
        X=X,
        y=y,
        semantics=semantics,
        **index,
        name=sidecar.name if sidecar else "aPY",
        features=sidecar.features if sidecar else held.path.stem,
        provenance=f"{held.path}, {folder}: class vectors are means over objects",
        images=sidecar.images if sidecar else images,
    )


def _read_rows(path: Path, attributes: int) -> _Rows:
    images, classes, values = [], [], []
    for line, text in enumerate(read_lines(path), 1):
        cells = text.split()
        if len(cells) != 6 + attributes:
            raise DataError(
                f"{path}: line {line} has {len(cells)} cells; an image, a class, 4 box "
                f"coordinates and {attributes} attributes make {6 + attributes}."
            )
        images.append(safe_image_name(cells[0], path, line))
        classes.append(cells[1])
        try:
            values.append([float(v) for v in cells[6:]])
        except ValueError as error:
            raise DataError(f"{path}: line {line}: {error}.") from None
    array = np.array(values, dtype=float).reshape(len(values), attributes)
    return _Rows(images, classes, array)


def _semantics(
    folder: Path, parts: list[_Rows], y: Array, attributes: list[str], sidecar: Sidecar | None
) -> tuple[Any, Array]:
    """Return the class table and the class of each row, as the sidecar spells it."""
    path = folder / CLASS_VECTORS
    if sidecar is not None and path.is_file():
        table = read_table(path, {"class"})
        written, vectors = table.text.get("class", []), table.numbers
    else:
        order = dict.fromkeys(y.tolist())  # in the order of their first object
        written = list(order)
        rows = np.concatenate([part.attributes for part in parts])
        vectors = np.stack([mean_of_class(rows[y == c]) for c in written])
    names = class_names(written, sidecar, path)
    place = {name: i for i, name in enumerate(written)}
    strangers = set(y.tolist()) - set(place)
    if strangers:
        raise DataError(f"{path}: has no vector for {min(strangers)!r}.")
    attribute_names = sidecar.attributes if sidecar else attributes
    semantics = class_table(folder, names, native.typed(vectors, sidecar), attribute_names)
    return semantics, names[[place[c] for c in y.tolist()]]


def mean_of_class(rows: Array) -> Array:
    """Return the mean of a class's attribute rows; exactly the row itself where all are equal.

    Examples
    --------
    >>> mean_of_class(np.array([[0.0, 0.1], [1.0, 0.1], [1.0, 0.1]]))
    array([0.66666667, 0.1       ])
    """
    equal = (rows == rows[0]).all(axis=0)
    mean: Array = np.where(equal, rows[0], rows.mean(axis=0))
    return mean
