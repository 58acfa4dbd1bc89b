"""Write a data set in the native layouts of AwA, CUB and aPY."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from unseen.datasets.apy import CLASS_VECTORS
from unseen.datasets.apy import FILES as APY_FILES
from unseen.datasets.cub import MATRICES
from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.sidecar import ROWS, describe, write_sidecar
from unseen.datasets.splits import PARTS, write_split
from unseen.datasets.table_files import number_format, write_table
from unseen.datasets.writers import images_fit, labels_from_one, plain_names, write_lines
from unseen.typing import Array

_ROWS_NOTE = f"the rows of each index set are in {ROWS}; the class lists alone cannot hold them"
_META_NOTE = "image names, types and provenance are in unseen.json"


def write_awa(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write AwA's text files, ``features.npy`` and ``labels.txt``."""
    names, attributes = _class_names(dataset), _attribute_names(dataset)
    _numbered(folder / "classes.txt", names, "{0:6d}\t{1}")
    _numbered(folder / "predicates.txt", attributes, "{0:6d}\t{1}")
    _matrix(folder / "predicate-matrix-continuous.txt", dataset.semantics.vectors)
    write_lines(folder / "labels.txt", labels_from_one(dataset).tolist())
    _write_the_rest(dataset, folder, names)
    return [
        _ROWS_NOTE,
        _META_NOTE,
        "there is no predicate-matrix-binary.txt: the record has one matrix",
    ]


def write_cub(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write CUB's text files and ``features.npy``."""
    names, attributes = _class_names(dataset), _attribute_names(dataset)
    _numbered(folder / "classes.txt", names)
    _numbered(folder / "attributes.txt", attributes)
    matrix = folder / MATRICES[0]
    matrix.parent.mkdir()
    _matrix(matrix, dataset.semantics.vectors)
    labels = labels_from_one(dataset)
    _numbered(folder / "image_class_labels.txt", labels.tolist())
    _numbered(folder / "images.txt", _image_names(dataset, names, labels))
    _write_the_rest(dataset, folder, names)
    return [_ROWS_NOTE, _META_NOTE]


def write_apy(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write aPY's three annotation files, every object with its class's vector, and features."""
    names = plain_names(dataset.semantics.classes.tolist(), "class", spaces=False)
    labels = labels_from_one(dataset)
    images = _image_names(dataset, names, labels, spaces=False)
    vectors = dataset.semantics.vectors
    write_lines(folder / "attribute_names.txt", _attribute_names(dataset))
    write_lines(folder / "class_names.txt", names)
    texts = [" ".join(number_format(vectors) % v for v in row) for row in vectors.tolist()]
    parts = _apy_parts(dataset)
    for name, rows in zip(APY_FILES, parts, strict=True):
        lines = [
            f"{images[r]} {names[labels[r] - 1]} 0 0 0 0 {texts[labels[r] - 1]}" for r in rows.tolist()
        ]
        write_lines(folder / name, lines)
    on_disk = np.concatenate(parts)
    np.save(folder / "features.npy", np.asarray(dataset.X)[on_disk])
    columns = [f"a{i}" for i in range(1, vectors.shape[1] + 1)]
    write_table(folder / CLASS_VECTORS, columns, {"class": names}, vectors)
    write_split(folder / ROWS, {part: getattr(dataset, part) for part in PARTS})
    image_names = None if dataset.images is None else tuple(dataset.images)
    order = tuple(np.argsort(on_disk).tolist())
    write_sidecar(folder, describe(dataset, images=image_names, order=order))
    return [
        _ROWS_NOTE,
        f"the order of the rows is in unseen.json, that of the classes in {CLASS_VECTORS}",
        "there are no boxes (0 0 0 0), and attributes are the class's, not the object's",
    ]


def _apy_parts(dataset: ZeroShotDataset) -> list[Array]:
    """Return the rows of aPascal train, aPascal test and aYahoo."""
    unseen = np.isin(dataset.y, dataset.unseen_classes)
    held_out = np.zeros(len(dataset.y), dtype=bool)
    held_out[dataset.test_seen] = True
    return [
        np.flatnonzero(~unseen & ~held_out),
        np.flatnonzero(~unseen & held_out),
        np.flatnonzero(unseen),
    ]


def _class_names(dataset: ZeroShotDataset) -> list[str]:
    return plain_names(dataset.semantics.classes.tolist(), "class")


def _attribute_names(dataset: ZeroShotDataset) -> list[str]:
    width = dataset.semantics.vectors.shape[1]
    return plain_names(dataset.semantics.attributes or [""] * width, "attribute")


def _image_names(
    dataset: ZeroShotDataset, names: list[str], labels: Array, *, spaces: bool = True
) -> list[str]:
    """Return names that the layout can hold; made from class and row where there are none."""
    if images_fit(dataset, spaces=spaces):
        return list(dataset.images or ())
    return [f"{names[c - 1]}/row{i}.jpg".replace("..", "_") for i, c in enumerate(labels.tolist())]


def _write_the_rest(dataset: ZeroShotDataset, folder: Path, names: list[str]) -> None:
    """Write features, index sets, class lists and what no file of AwA or CUB can hold."""
    np.save(folder / "features.npy", np.ascontiguousarray(dataset.X))
    write_split(folder / ROWS, {part: getattr(dataset, part) for part in PARTS})
    spelt = dict(zip(dataset.semantics.classes.tolist(), names, strict=True))
    for file, classes in (
        ("trainclasses.txt", dataset.seen_classes),
        ("testclasses.txt", dataset.unseen_classes),
    ):
        write_lines(folder / file, [spelt[c] for c in classes.tolist()])
    image_names = None if dataset.images is None else tuple(dataset.images)
    write_sidecar(folder, describe(dataset, images=image_names))


def _numbered(path: Path, entries: Iterable[object], form: str = "{0} {1}") -> None:
    write_lines(path, [form.format(i, entry) for i, entry in enumerate(entries, 1)])


def _matrix(path: Path, vectors: Array) -> None:
    np.savetxt(path, vectors, fmt=number_format(vectors))
