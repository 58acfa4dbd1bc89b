"""A folder of photographs: one sub-folder a class, as a user would have it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.datasets.arrays import check_matrix
from unseen.datasets.native import unseen_from
from unseen.datasets.record import ZeroShotDataset, assemble
from unseen.datasets.splits import unseen_class_split
from unseen.datasets.table_layout import read_semantics
from unseen.exceptions import DataError
from unseen.files import reading
from unseen.image_files import open_image, read_picture_file

PathLike = str | os.PathLike[str]

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_SIDE, _BINS = 12, 16


def load_image_folder(
    folder: PathLike,
    semantics: object,
    unseen: PathLike | Sequence[str],
    *,
    extract: Callable[[Sequence[Path]], object] | None = None,
    features: str | None = None,
    name: str | None = None,
) -> ZeroShotDataset:
    """Load photographs whose class is the name of the folder they lie in.

    Parameters
    ----------
    folder : path
        ``<folder>/<class>/<picture>``.
    semantics : path or mapping
        CSV or Parquet with a column ``class`` and one column an attribute; or class → vector.
    unseen : path or sequence of class names
        The classes to hold out, or a text file that names one a line.
    extract : callable, optional
        Takes the paths of all N pictures and returns an array of shape (N, p): a network of
        yours. By default :func:`thumbnail_features`, which shows that the data loads; it knows
        colours and coarse layout, and is no match for a network's features.
    features : str, optional
        What to call the features. By default the name of ``extract``.
    name : str, optional
        By default the name of the folder.

    Returns
    -------
    ZeroShotDataset
        ``images`` holds the paths relative to ``folder``.
    """
    folder = Path(folder)
    table = read_semantics(semantics)
    pictures = list_images(folder)
    y = np.array([p.parent.name for p in pictures])
    strangers = sorted(set(y.tolist()) - {str(c) for c in table.classes.tolist()})
    if strangers:
        raise DataError(
            f"{folder / strangers[0]}: semantics has no vector for the class {strangers[0]!r}. "
            "Name the folder as the class, add its vector, or move it away."
        )
    names, source = unseen_from(unseen, folder / "unseen.txt", table.classes)
    index = unseen_class_split(y, names, source)
    function = extract or thumbnail_features
    X = check_matrix(np.asarray(function(pictures)), f"extract on {folder}")
    if len(X) != len(pictures):
        raise DataError(
            f"extract returned {len(X)} rows for {len(pictures)} pictures. It must return one "
            "row for each path, in the order given."
        )
    return assemble(
        folder,
        X=X,
        y=y,
        semantics=table,
        **index,
        name=name or folder.name,
        features=features or getattr(function, "__name__", type(function).__name__),
        provenance=f"{folder}, split by {source}",
        images=[str(p.relative_to(folder).as_posix()) for p in pictures],
    )


def list_images(folder: PathLike) -> list[Path]:
    """Return the pictures in the sub-folders of ``folder``, sorted; a link out of it is refused."""
    folder = _existing(folder)
    paths = sorted(
        p
        for sub in folder.iterdir()
        if sub.is_dir() and not sub.name.startswith(".")
        for p in sub.iterdir()
        if p.suffix.lower() in IMAGE_SUFFIXES
    )
    return _checked(folder, paths, "Put them in one sub-folder a class")


def list_all_images(folder: PathLike) -> list[Path]:
    """Return the pictures anywhere in ``folder``, sorted; a link out of it is refused."""
    folder = _existing(folder)
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in IMAGE_SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.is_dir()
    )
    return _checked(folder, paths, "Put them there")


def _existing(folder: PathLike) -> Path:
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder.")
    return folder


def _checked(folder: Path, paths: list[Path], remedy: str) -> list[Path]:
    root = folder.resolve()
    for path in paths:
        if not path.resolve().is_relative_to(root):
            raise DataError(f"{path}: is a link that leads out of {folder}. Copy the picture in.")
    if not paths:
        raise DataError(f"{folder}: no pictures. {remedy}, as {', '.join(IMAGE_SUFFIXES)}.")
    return paths


def thumbnail_features(paths: Sequence[PathLike]) -> npt.NDArray[np.float32]:
    """Return a 12×12 colour thumbnail and a colour histogram for each picture (480 numbers).

    A placeholder that needs no network: enough to test a pipeline, not for results.
    """
    return np.stack([_thumbnail(Path(path)) for path in paths])


def _thumbnail(path: Path) -> npt.NDArray[np.float32]:
    with reading(path), open_image(read_picture_file(path)) as picture:
        picture.draft("RGB", (4 * _SIDE, 4 * _SIDE))
        small = picture.convert("RGB").resize((4 * _SIDE, 4 * _SIDE))
    pixels = np.asarray(small, dtype=np.float32) / 255
    thumbnail = pixels.reshape(_SIDE, 4, _SIDE, 4, 3).mean(axis=(1, 3))
    bins = np.minimum((pixels * _BINS).astype(int), _BINS - 1)
    histogram = np.stack([np.bincount(bins[..., c].ravel(), minlength=_BINS) for c in range(3)])
    return np.concatenate([thumbnail.ravel(), histogram.ravel() / bins[..., 0].size]).astype(np.float32)
