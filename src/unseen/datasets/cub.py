"""Caltech-UCSD Birds 200-2011 in its own layout (Wah et al., 2011)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen.datasets import native
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import class_names, read_sidecar
from unseen.datasets.splits import Index, read_numbered, unseen_class_split
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, safe_image_name

PathLike = str | os.PathLike[str]

#: Where CUB keeps its class-attribute matrix, and the attribute names.
MATRICES = ("attributes/class_attribute_labels_continuous.txt", "class_attributes.txt")
ATTRIBUTES = ("attributes.txt", "attributes/attributes.txt", "../attributes.txt")


def load_cub(
    folder: PathLike,
    features: PathLike | None = None,
    *,
    unseen: PathLike | Sequence[str] | None = None,
    held_out: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> ZeroShotDataset:
    """Load CUB: ``images.txt``, ``classes.txt``, ``image_class_labels.txt``, attributes, features.

    Parameters
    ----------
    folder : path
        CUB's own folder.
    features : path, optional
        One row an image, in the order of ``images.txt``; or, where the file names its images
        (``image_files``), in any order: the rows are matched by name. By default ``features.*``.
    unseen : path or sequence of class names, optional
        A list of the unseen classes; by default the folder's ``testclasses.txt``, which CUB
        itself does not have. (xlsa17's ``CUB/testclasses.txt`` is the proposed split.)
    held_out : bool
        Whether the test images of seen classes in CUB's ``train_test_split.txt`` go to
        ``test_seen``. By default all rows of seen classes are for training.
    max_bytes : int
        What a compressed file may expand to.

    Returns
    -------
    ZeroShotDataset
        Class vectors are CUB's percentages, matched to classes by class number.
    """
    folder = Path(folder)
    sidecar = read_sidecar(folder)
    classes = class_names(read_numbered(folder / "classes.txt"), sidecar, folder)
    attributes_path = native.first_of(folder, ATTRIBUTES, "attribute names")
    attributes = read_numbered(attributes_path)
    matrix = native.first_of(folder, MATRICES, "class-attribute matrix")
    vectors = native.read_class_matrix(matrix, len(classes), len(attributes))
    images = _images(folder / "images.txt")
    y = classes[native.read_labels(folder / "image_class_labels.txt", len(classes))]
    native.check_rows(images, y, folder / "images.txt", "image_class_labels.txt")
    held = native.read_features(folder, features, max_bytes)
    X = native.aligned(held, images, folder / "images.txt")
    index = native.kept_split(folder, len(y)) if unseen is None else None
    source: object = "the rows that convert wrote"
    if index is None:
        names, source = native.unseen_from(unseen, folder / "testclasses.txt", classes)
        index = unseen_class_split(y, names, source)
        if held_out:
            index = _held_out(index, folder / "train_test_split.txt", len(y))
    attribute_names = sidecar.attributes if sidecar else attributes
    return assemble(
        folder,
        X=X,
        y=y,
        semantics=class_table(matrix, classes, native.typed(vectors, sidecar), attribute_names),
        **index,
        name=sidecar.name if sidecar else "CUB",
        features=sidecar.features if sidecar else held.path.stem,
        provenance=f"{held.path}, {matrix}, split by {source}",
        images=sidecar.images if sidecar else images,
    )


def _images(path: Path) -> list[str]:
    names = read_numbered(path)
    return [safe_image_name(name, path, line) for line, name in enumerate(names, 1)]


def _held_out(index: dict[str, Index], path: Path, rows: int) -> dict[str, Index]:
    """Move the rows that CUB marks 0 (test) from train to test_seen."""
    flags = read_numbered(path)
    if len(flags) != rows or not set(flags) <= {"0", "1"}:
        raise DataError(f"{path}: must mark each of {rows} images 1 (train) or 0 (test).")
    train = np.array(flags) == "1"
    seen = index["train"]
    return {**index, "train": seen[train[seen]], "test_seen": seen[~train[seen]]}
