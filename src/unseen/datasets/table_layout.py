"""Your own data: features in one table, classes in another, and a split."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.datasets.arrays import FEATURE_KEYS, check_matrix, pick, read_array, read_container
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.splits import (
    PARTS,
    Index,
    read_class_list,
    read_lines,
    read_split,
    split_from_names,
    unseen_class_split,
)
from unseen.datasets.table_files import Table, read_table
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, safe_image_name
from unseen.semantics import ClassTable
from unseen.typing import Array, Label

PathLike = str | os.PathLike[str]

#: Columns of a feature table that are names, not numbers.
NAMES = ("class", "image", "split")


def load_table(
    features: PathLike,
    semantics: object,
    split: PathLike | Sequence[object] | Mapping[str, object] | None = None,
    *,
    labels: PathLike | Sequence[Label] | None = None,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> ZeroShotDataset:
    """Load your own features and classes.

    Parameters
    ----------
    features : path
        CSV or Parquet with a header: a column ``class``, optionally ``image`` and ``split``, and
        numbers. Or ``.npy``, ``.npz``, ``.h5`` or ``.mat`` with numbers only.
    semantics : path or mapping
        CSV or Parquet with a column ``class`` and one column an attribute; or class → vector.
    split : path, sequence or mapping, optional
        What is held out: a sequence of unseen classes or a ``.txt`` file of them, one a line; a
        CSV of ``set,row`` lines (rows from 0); or index arrays by "train", "test_seen" and
        "test_unseen". By default the column ``split`` of the features, which holds those words.
    labels : path or sequence, optional
        The class of each row, where ``features`` has no column for it: a ``.txt`` file with one
        name a line; or a CSV with a column ``class``, and ``image`` and ``split`` if you like.
    dtype : dtype, optional
        Of the numbers in a CSV; float64 by default.
    name : str, optional
        By default the name of the feature file.
    max_bytes : int
        What a file may expand to.

    Returns
    -------
    ZeroShotDataset

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "x.csv").write_text("class,a,b\\nfox,1,2\\nfox,1,3\\nbat,4,4\\n")
    >>> _ = (folder / "c.csv").write_text("class,flies,furry\\nfox,0,1\\nbat,1,1\\n")
    >>> data = load_table(folder / "x.csv", folder / "c.csv", split=["bat"])
    >>> data.X.shape, data.unseen_classes.tolist()
    ((3, 2), ['bat'])
    """
    path = Path(features)
    X, text, stored = _read_features(path, dtype, max_bytes)
    table = read_semantics(semantics, max_bytes=max_bytes)
    if isinstance(labels, (str, os.PathLike)) and Path(labels).suffix.lower() in (
        ".csv",
        ".parquet",
    ):
        text = {**text, **read_table(labels, NAMES, max_bytes=max_bytes).text}
        stored, labels = None, None
    y = _labels(path, text, labels, stored, table, len(X))
    index, how = _split(path, text, split, y, table)
    images = text.get("image")
    if images is not None:
        images = [safe_image_name(n, path, line) for line, n in enumerate(images, 2)]
    return assemble(
        path,
        X=X,
        y=y,
        semantics=table,
        **index,
        name=name or path.stem,
        features=path.stem,
        provenance=f"{path}, split by {how}",
        images=images,
    )


def _read_features(
    path: Path, dtype: npt.DTypeLike | None, max_bytes: int
) -> tuple[Any, dict[str, list[str]], Any]:
    """Return the numbers, the columns of names, and labels stored beside the numbers."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".parquet"):
        table = read_table(path, NAMES, dtype=dtype or np.float64, max_bytes=max_bytes)
        return check_matrix(table.numbers, path), table.text, None
    if suffix in (".npz", ".h5", ".hdf5", ".mat"):
        wanted = (*FEATURE_KEYS, "labels", "y")
        held = read_container(path, wanted, lazy=FEATURE_KEYS, max_bytes=max_bytes)
        X = check_matrix(pick(held, FEATURE_KEYS, path), path)
        return X, {}, held.get("y", held.get("labels"))
    return read_array(path, max_bytes=max_bytes), {}, None


def read_semantics(semantics: object, *, max_bytes: int = DEFAULT_MAX_BYTES) -> ClassTable:
    """Read a CSV or Parquet of classes, or take a mapping as it is."""
    if not isinstance(semantics, (str, os.PathLike)):
        try:
            return ClassTable.of(semantics)
        except ValueError as error:
            raise DataError(str(error)) from None
    table = read_table(semantics, {"class"}, max_bytes=max_bytes)
    if "class" not in table.text:
        raise DataError(f"{semantics}: line 1 has no column 'class'. The header is class,<attribute>,…")
    return class_table(semantics, _as_classes(table), table.numbers, table.columns)


def _as_classes(table: Table) -> Array:
    return np.array(table.text["class"], dtype=str)


def _labels(
    path: Path,
    text: Mapping[str, Sequence[str]],
    labels: object,
    stored: object,
    table: ClassTable,
    rows: int,
) -> Array:
    source: object = path
    if labels is None:
        values = text.get("class", stored)
    elif isinstance(labels, (str, os.PathLike)):
        source, values = labels, read_lines(labels)
    else:
        source, values = "labels=", labels
    if values is None:
        raise DataError(
            f"{source}: has no column 'class', so the rows have no class. Add it, or give labels=."
        )
    y = np.asarray(values).ravel()
    if y.dtype.kind not in "iuU" or len(y) != rows:
        raise DataError(f"{source}: has {len(y)} labels of {y.dtype} for {rows} rows of {path}.")
    if y.dtype.kind in "iu" and table.classes.dtype.kind == "U":
        y = y.astype(str)
    elif y.dtype.kind == "U" and table.classes.dtype.kind in "iu":
        y = _as_integers(y, source)
    return y


def _as_integers(y: Array, source: object) -> Array:
    try:
        return y.astype(np.int64)
    except (ValueError, OverflowError):
        raise DataError(f"{source}: the classes are whole numbers, but not all labels are.") from None


def _split(
    path: Path, text: Mapping[str, Sequence[str]], split: Any, y: Array, table: ClassTable
) -> tuple[dict[str, Index], str]:
    if split is None:
        if "split" not in text:
            raise DataError(
                f"{path}: no split. Give split=, a list of the unseen classes, or add a column "
                f"'split' that holds {', '.join(PARTS)} or none."
            )
        return split_from_names(text["split"], path), "its column 'split'"
    if isinstance(split, Mapping):
        return {part: _index(split.get(part, ()), part) for part in PARTS}, "index arrays"
    if isinstance(split, (str, os.PathLike)):
        if Path(split).suffix.lower() == ".csv":
            return read_split(split, len(y)), str(split)
        names: Sequence[Any] = read_class_list(split, {str(c) for c in table.classes.tolist()})
        if table.classes.dtype.kind != "U":
            names = _as_integers(np.array(names), split).tolist()
        return unseen_class_split(y, names, split), str(split)
    return unseen_class_split(y, list(split), "split="), "unseen classes"


def _index(values: object, part: str) -> Index:
    array = np.asarray(values)
    if array.size and (array.ndim != 1 or array.dtype.kind not in "iu"):
        raise DataError(f"split[{part!r}] must be a list of row numbers from 0.")
    return array.astype(np.intp)
