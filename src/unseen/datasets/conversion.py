"""Conversion between layouts, and one call that loads any of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unseen.datasets.apy import FILES as APY_FILES
from unseen.datasets.apy import load_apy
from unseen.datasets.arrays import ARRAY_SUFFIXES
from unseen.datasets.awa import load_awa
from unseen.datasets.bundle import load_bundle, write_bundle
from unseen.datasets.cub import load_cub
from unseen.datasets.image_folder import load_image_folder
from unseen.datasets.native import first_of
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import class_names, read_sidecar
from unseen.datasets.table_layout import load_table
from unseen.datasets.write_native import write_apy, write_awa, write_cub
from unseen.datasets.writers import (
    CLASSES,
    FEATURES,
    LABELS,
    SPLIT,
    write_csv_table,
    write_npy_table,
    write_parquet_table,
    write_xlsa17,
)
from unseen.datasets.xlsa17 import SPLITS, load_xlsa17
from unseen.exceptions import DataError
from unseen.files import atomic_folder

PathLike = str | os.PathLike[str]

_LOG = logging.getLogger(__name__)
_TABLES = tuple(f"{FEATURES}{suffix}" for suffix in (".csv", ".parquet", ".npy"))
#: The layouts that convert writes as a folder.
FOLDER_WRITERS: dict[str, Callable[[ZeroShotDataset, Path], list[str]]] = {
    "xlsa17": write_xlsa17,
    "csv": write_csv_table,
    "parquet": write_parquet_table,
    "npy": write_npy_table,
    "awa": write_awa,
    "cub": write_cub,
    "apy": write_apy,
}
#: Every layout that convert writes.
LAYOUTS = (*FOLDER_WRITERS, "npz")


def detect_layout(path: PathLike) -> str:
    """Say which layout lies at ``path``.

    Returns
    -------
    {"npz", "xlsa17", "awa", "cub", "apy", "table", "images", "file"}
        "table" is a folder with ``features.*`` and ``classes.csv``, "file" one feature file.
    """
    path = Path(path)
    if path.is_file() and path.suffix.lower() in ARRAY_SUFFIXES:
        return "npz" if path.suffix.lower() == ".npz" else "file"
    marks = {
        "xlsa17": (SPLITS,),
        "awa": ("classes.txt", "predicates.txt"),
        "cub": ("classes.txt", "image_class_labels.txt"),
        "apy": APY_FILES[:1],
        "images": ("attributes.csv",),
    }
    for layout, files in marks.items():
        if all((path / name).is_file() for name in files):
            return layout
    if (path / CLASSES).is_file() and any((path / name).is_file() for name in _TABLES):
        return "table"
    if not path.exists():
        raise DataError(f"{path}: no such file or folder.")
    raise DataError(
        f"{path}: is in no layout known here. Known: a folder with {SPLITS} (xlsa17), AwA's, "
        f"CUB's or aPY's text files, {FEATURES}.csv with {CLASSES}, attributes.csv beside "
        "folders of pictures; an .npz bundle; or a feature file."
    )


def load_dataset(path: PathLike, layout: str | None = None, **options: object) -> ZeroShotDataset:
    """Load whatever data set lies at ``path``.

    Parameters
    ----------
    path : path
        A folder or an ``.npz`` bundle.
    layout : str, optional
        As :func:`detect_layout` names it; detected by default.
    **options
        Passed to the layout's own loader (``features=``, ``split=``, ``unseen=`` …).
    """
    if layout is None:
        layout = detect_layout(path)
        if layout == "npz" and "semantics" in options:  # features alone, not a bundle
            layout = "file"
    loaders: dict[str, Callable[..., ZeroShotDataset]] = {
        "npz": load_bundle,
        "xlsa17": load_xlsa17,
        "awa": load_awa,
        "cub": load_cub,
        "apy": load_apy,
        "table": _load_table_folder,
        "images": _load_pictures,
        "file": _load_file,
    }
    if layout not in loaders:
        raise DataError(f"layout must be one of {', '.join(loaders)}. Got {layout!r} instead.")
    try:
        return loaders[layout](path, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        name = str(error).rpartition(" ")[2]
        raise DataError(f"{path}: the layout {layout!r} takes no option {name}.") from None


def _load_table_folder(folder: PathLike, **options: Any) -> ZeroShotDataset:
    """Load a folder with ``features.*``, ``classes.csv`` and ``split.csv``."""
    folder = Path(folder)
    features = first_of(folder, _TABLES, "features")
    sidecar = read_sidecar(folder)
    split = folder / SPLIT
    options.setdefault("split", split if split.is_file() else None)
    if (folder / LABELS).is_file():
        options.setdefault("labels", folder / LABELS)
    if sidecar is not None:
        options.setdefault("dtype", sidecar.x_dtype)
    data = load_table(features, folder / CLASSES, name=folder.name, **options)
    if sidecar is None:
        return data
    classes = class_names(data.semantics.classes.tolist(), sidecar, folder / CLASSES)
    vectors = data.semantics.vectors.astype(sidecar.semantics_dtype)
    return assemble(
        folder,
        X=data.X,
        y=classes[data.semantics.positions(data.y)],
        semantics=class_table(folder / CLASSES, classes, vectors, sidecar.attributes),
        train=data.train,
        test_seen=data.test_seen,
        test_unseen=data.test_unseen,
        name=sidecar.name,
        features=sidecar.features,
        provenance=data.provenance,
        images=sidecar.images or data.images,
    )


def _load_pictures(folder: PathLike, **options: Any) -> ZeroShotDataset:
    """Load ``attributes.csv``, ``unseen.txt`` and the pictures beside them or in ``images``."""
    folder = Path(folder)
    options.setdefault("unseen", folder / "unseen.txt")
    options.setdefault("semantics", folder / "attributes.csv")
    root = folder / "images" if (folder / "images").is_dir() else folder
    return load_image_folder(root, name=folder.name, **options)


def _load_file(path: PathLike, semantics: object = None, **options: Any) -> ZeroShotDataset:
    """Load one feature file, with ``semantics`` and ``split`` (or ``unseen``, a list of classes)."""
    if semantics is None:
        raise DataError(
            f"{path}: holds features only. Give semantics, a CSV of classes, and the unseen ones."
        )
    if "unseen" in options:
        options["split"] = options.pop("unseen")
    return load_table(path, semantics, **options)


def convert(source: ZeroShotDataset | PathLike, target: PathLike, to: str, **options: Any) -> list[str]:
    """Write a data set in another layout.

    Everything returns bit for bit: ``X``, ``y``, the class table and the index sets, their order
    and types included. What a layout cannot hold itself goes into ``unseen.json`` beside it.

    Parameters
    ----------
    source : ZeroShotDataset or path
        A path is loaded by :func:`load_dataset`.
    target : path
        A new or empty folder; a new file for "npz". It is written completely or not at all.
    to : {"xlsa17", "csv", "parquet", "npy", "awa", "cub", "apy", "npz"}
    **options
        For loading ``source``.

    Returns
    -------
    list of str
        What the layout could not hold itself, and where it is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from unseen.datasets import simulate
    >>> data = simulate("AwA", scale=0.01, random_state=0)
    >>> folder = pathlib.Path(tempfile.mkdtemp()) / "peers"
    >>> notes = convert(data, folder, "xlsa17")
    >>> bool((load_dataset(folder).X == data.X).all())
    True
    """
    if to not in LAYOUTS:
        raise DataError(f"to must be one of {', '.join(LAYOUTS)}. Got {to!r} instead.")
    dataset = source if isinstance(source, ZeroShotDataset) else load_dataset(source, **options)
    target = Path(target)
    if to == "npz":
        if target.exists():
            raise DataError(f"{target}: is already there. Name a new file.")
        if target.suffix != ".npz":
            raise DataError(f"{target}: a bundle's name ends in .npz.")
        write_bundle(dataset, target)
        return []
    with atomic_folder(target) as folder:
        notes = FOLDER_WRITERS[to](dataset, folder)
    for note in notes:
        _LOG.info("%s: %s", target, note)
    return notes
