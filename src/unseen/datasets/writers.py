"""Write a data set as xlsa17 or as a table. The native layouts are in ``write_native``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.sidecar import describe, write_sidecar
from unseen.datasets.splits import PARTS, write_split
from unseen.datasets.table_files import write_table
from unseen.datasets.xlsa17 import LOCATIONS, SPLITS
from unseen.exceptions import DataError
from unseen.files import is_inside, need
from unseen.typing import Array

_LINE_BREAKS = r"[\x00-\x1f\x7f\x85\u2028\u2029]"
_MAT5_LIMIT = 2**31 - 2**16
FEATURES, CLASSES, SPLIT, LABELS = "features", "classes.csv", "split.csv", "labels.csv"


def labels_from_one(dataset: ZeroShotDataset) -> npt.NDArray[np.int32]:
    """Return the class number of each row, from 1, in the order of the class table."""
    return (dataset.semantics.positions(dataset.y) + 1).astype(np.int32)


def plain_names(names: Iterable[object], prefix: str, *, spaces: bool = True) -> list[str]:
    """Return the names if a text layout can hold them, each once; otherwise numbered ones."""
    texts = [str(n) for n in names]
    forbidden = re.compile(_LINE_BREAKS if spaces else _LINE_BREAKS[:-1] + r"\s]")
    usable = all(t and t == t.strip() and not forbidden.search(t) for t in texts)
    if usable and len(set(texts)) == len(texts):
        return texts
    return [f"{prefix}{i}" for i in range(1, len(texts) + 1)]


def write_lines(path: Path, lines: Sequence[object]) -> None:
    """Write one entry a line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def images_fit(dataset: ZeroShotDataset, *, spaces: bool = True) -> bool:
    """Say whether there are image names, and a text layout can hold them."""
    if dataset.images is None:
        return False
    names = list(dataset.images)
    plain = plain_names(dict.fromkeys(names), "", spaces=spaces)
    return plain == list(dict.fromkeys(names)) and all(is_inside(name) for name in names)


def images_apart(dataset: ZeroShotDataset) -> tuple[str, ...] | None:
    """Return the image names for the sidecar, where the layout cannot hold them."""
    if dataset.images is None or images_fit(dataset):
        return None
    return tuple(dataset.images)


def cell(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    """Return a column of MATLAB cells."""
    cells = np.empty((len(texts), 1), dtype=object)
    cells[:, 0] = texts
    return cells


def write_xlsa17(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write ``<features>.mat``, ``att_splits.mat`` and class lists; say what they cannot hold."""
    table = dataset.semantics
    X = dataset.X
    if X.dtype == np.float16 or table.vectors.dtype == np.float16:
        raise DataError("MATLAB has no 16-bit floating point. Convert X to float32 first.")
    if X.dtype.itemsize * len(X) * X.shape[1] > _MAT5_LIMIT:
        raise DataError("MATLAB v5 holds at most 2 GiB a variable. Convert to 'npz' instead.")
    held: dict[str, object] = {
        "features": np.asarray(X).T,
        "labels": labels_from_one(dataset)[:, None],
    }
    if images_fit(dataset):
        held["image_files"] = cell(list(dataset.images or ()))
    slug = re.sub(r"[^\w.-]+", "_", dataset.features).strip("._") or FEATURES
    if slug.lower().endswith("_splits"):
        slug += "_features"
    _save_mat(folder / f"{slug}.mat", held)
    names = plain_names(table.classes.tolist(), "class")
    splits: dict[str, object] = {"allclasses_names": cell(names), "att": table.vectors.T}
    for part, name in LOCATIONS.items():
        splits[name] = (getattr(dataset, part) + 1).astype(np.int32)[:, None]
    _save_mat(folder / SPLITS, splits)
    write_lines(folder / "allclasses.txt", names)
    spelt = dict(zip(table.classes.tolist(), names, strict=True))
    write_lines(folder / "trainvalclasses.txt", [spelt[c] for c in dataset.seen_classes.tolist()])
    write_lines(folder / "testclasses.txt", [spelt[c] for c in dataset.unseen_classes.tolist()])
    write_sidecar(folder, describe(dataset, images=images_apart(dataset)))
    return ["attribute names, the data set's name and its provenance are in unseen.json"]


def _save_mat(path: Path, variables: dict[str, object]) -> None:
    from scipy.io import savemat  # loads slowly, and only this layout needs it

    with path.open("wb") as file:
        savemat(file, variables, format="5", oned_as="column")


def write_csv_table(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write ``features.csv`` (class, image, numbers), ``classes.csv`` and ``split.csv``."""
    X = np.asarray(dataset.X)
    if X.dtype.kind != "f" and (np.abs(X.astype(np.float64)) > 2**53).any():
        raise DataError("Whole numbers beyond 2^53 do not survive text. Convert to 'npz' instead.")
    write_table(folder / f"{FEATURES}.csv", _columns(X), _text_columns(dataset), X)
    return _write_rest(dataset, folder)


def write_parquet_table(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write ``features.parquet``, ``classes.csv`` and ``split.csv``."""
    pyarrow, parquet = need("pyarrow", folder), need("pyarrow.parquet", folder)
    X = np.asarray(dataset.X)
    columns = {name: pyarrow.array(values) for name, values in _text_columns(dataset).items()}
    columns |= {
        name: pyarrow.array(np.ascontiguousarray(X[:, i])) for i, name in enumerate(_columns(X))
    }
    parquet.write_table(pyarrow.table(columns), folder / f"{FEATURES}.parquet")
    return _write_rest(dataset, folder)


def write_npy_table(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    """Write ``features.npy``, ``labels.csv``, ``classes.csv`` and ``split.csv``."""
    np.save(folder / f"{FEATURES}.npy", np.ascontiguousarray(dataset.X))
    nothing = np.empty((len(dataset.y), 0))
    write_table(folder / LABELS, [], _text_columns(dataset), nothing)
    return _write_rest(dataset, folder)


def _columns(X: Array) -> list[str]:
    return [f"f{i}" for i in range(X.shape[1])]


def _text_columns(dataset: ZeroShotDataset) -> dict[str, Sequence[str]]:
    names = plain_names(dataset.semantics.classes.tolist(), "class")
    text: dict[str, Sequence[str]] = {
        "class": np.array(names)[dataset.semantics.positions(dataset.y)].tolist()
    }
    if images_fit(dataset):
        text["image"] = list(dataset.images or ())
    return text


def _write_rest(dataset: ZeroShotDataset, folder: Path) -> list[str]:
    table = dataset.semantics
    columns = plain_names(table.attributes or [""], "a")
    if table.attributes is None or "class" in columns or len(columns) != table.vectors.shape[1]:
        columns = [f"a{i}" for i in range(1, table.vectors.shape[1] + 1)]
    names = plain_names(table.classes.tolist(), "class")
    write_table(folder / CLASSES, columns, {"class": names}, table.vectors)
    write_split(folder / SPLIT, {part: getattr(dataset, part) for part in PARTS})
    write_sidecar(folder, describe(dataset, images=images_apart(dataset)))
    return ["types, the data set's name and its provenance are in unseen.json"]
