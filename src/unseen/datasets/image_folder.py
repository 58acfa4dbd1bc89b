"""A folder of photographs: one sub-folder a class, as a user would have it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from unseen.image_files import IMAGE_SUFFIXES, missing_decoder, open_image, read_picture_file

PathLike = str | os.PathLike[str]

_SIDE, _BINS = 12, 16


@dataclass(frozen=True)
class FolderContents:
    """The pictures of a folder, sorted, and its other files with the reason why each is not read.

    Hidden files, whose names begin with a dot, are in neither list.
    """

    pictures: list[Path]
    unread: list[tuple[Path, str]]


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
    return class_folders(folder).pictures


def list_all_images(folder: PathLike) -> list[Path]:
    """Return the pictures anywhere in ``folder``, sorted; a link out of it is refused."""
    return any_folder(folder).pictures


def class_folders(folder: PathLike) -> FolderContents:
    """Return the pictures ``<folder>/<class>/<picture>``, and all other files in ``folder``."""
    return _contents(folder, "Put them in one sub-folder a class", depth=2)


def any_folder(folder: PathLike) -> FolderContents:
    """Return the pictures anywhere in ``folder``, and all other files in it."""
    return _contents(folder, "Put them there")


def _contents(folder: PathLike, remedy: str, depth: int = 0) -> FolderContents:
    """List a folder; with ``depth``, pictures must lie so deep."""
    folder = _existing(folder)
    pictures, unread = [], []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts) or path.is_dir():
            continue
        reason = _not_read(path)
        if not reason and depth and len(parts) != depth:
            reason = "it lies in no folder of a class" if len(parts) < depth else "it lies too deep"
            reason += ": labelled pictures lie in one sub-folder a class"
        if reason:
            unread.append((path, reason))
        else:
            pictures.append(path)
    return FolderContents(_checked(folder, pictures, unread, remedy), unread)


def _not_read(path: Path) -> str:
    """Say why a file is not read, judged by its name; "" if it is."""
    suffix = path.suffix.lower()
    if suffix not in IMAGE_SUFFIXES:
        return f"{suffix} is no picture format that is read" if suffix else "its name has no ending"
    return missing_decoder(suffix)


def _existing(folder: PathLike) -> Path:
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder.")
    return folder


def _checked(
    folder: Path, paths: list[Path], unread: list[tuple[Path, str]], remedy: str
) -> list[Path]:
    root = folder.resolve()
    for path in paths:
        if not path.resolve().is_relative_to(root):
            raise DataError(f"{path}: is a link that leads out of {folder}. Copy the picture in.")
    if not paths:
        first = f" {unread[0][0].name} is not read: {unread[0][1]}." if unread else ""
        raise DataError(f"{folder}: no pictures.{first} {remedy}, as {', '.join(IMAGE_SUFFIXES)}.")
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
