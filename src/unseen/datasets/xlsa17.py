"""The field's de-facto layout: ``<features>.mat`` and ``att_splits.mat`` in one folder.

``features`` is p×N, ``labels`` N×1 from 1, ``image_files`` optional; ``att`` is q×classes in the
order of ``allclasses_names``, which ``labels`` index too; ``trainval_loc``, ``test_seen_loc`` and
``test_unseen_loc`` count rows from 1. (Xian, Lampert, Schiele, Akata: "Zero-Shot Learning: A
Comprehensive Evaluation of the Good, the Bad and the Ugly", TPAMI 2018.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unseen.datasets.arrays import FEATURE_KEYS, check_matrix, pick, read_mat
from unseen.datasets.benchmark_facts import standard_unseen
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import Sidecar, class_names, read_sidecar
from unseen.datasets.splits import PARTS, Index, one_based, read_class_list, unseen_class_split
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES
from unseen.typing import Array

PathLike = str | os.PathLike[str]

SPLITS = "att_splits.mat"
#: The name in ``att_splits.mat`` of each index set of the record.
LOCATIONS = dict(zip(PARTS, ("trainval_loc", "test_seen_loc", "test_unseen_loc"), strict=True))


def load_xlsa17(
    folder: PathLike,
    features: str | None = None,
    split: Literal["PS", "SS"] = "PS",
    *,
    attributes: Literal["att", "original_att"] = "att",
    class_lists: PathLike | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> ZeroShotDataset:
    """Load a data set in the xlsa17 layout, MATLAB v5 or v7.3.

    Parameters
    ----------
    folder : path
        Where ``att_splits.mat`` and the feature file lie.
    features : str, optional
        The feature file, with or without ``.mat`` ("res101"). By default the only one there.
    split : {"PS", "SS"}
        The proposed split, as ``att_splits.mat`` holds it; or the standard split, which it does
        not hold: all rows of the seen classes for training, none held out, all rows of the
        unseen classes for test.
    attributes : {"att", "original_att"}
        Class vectors scaled to unit length, or as published.
    class_lists : path, optional
        For SS, the folder of its ``testclasses.txt`` (AwA's own folder, say; the list in an xlsa17
        folder is that of PS). The standard splits of AwA, CUB and aPY are known here and need none.
    max_bytes : int
        What a compressed variable may expand to.

    Returns
    -------
    ZeroShotDataset
        ``X`` in the type it is stored in. ``provenance`` names the file, the split, and whether
        the splits are of v1 (2017), whose ``train_loc`` and ``val_loc`` hold rows of
        ``test_seen``, or v2 (2019), where they do not.

    Examples
    --------
    >>> load_xlsa17("nowhere")
    Traceback (most recent call last):
        ...
    unseen.exceptions.DataError: nowhere: no such folder. ...
    """
    folder = Path(folder)
    if split not in ("PS", "SS"):
        raise DataError(f"split must be 'PS' or 'SS'. Got {split!r} instead.")
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. It should hold {SPLITS} and a feature file.")
    splits_path, features_path = folder / SPLITS, _feature_file(folder, features)
    wanted = ("allclasses_names", attributes, *LOCATIONS.values(), "train_loc", "val_loc")
    splits = read_mat(splits_path, wanted, max_bytes=max_bytes)
    held = read_mat(
        features_path,
        (*FEATURE_KEYS, "labels", "image_files"),
        lazy=FEATURE_KEYS,
        max_bytes=max_bytes,
    )
    sidecar = read_sidecar(folder)
    classes = _classes(splits, splits_path, sidecar)
    X = check_matrix(pick(held, FEATURE_KEYS, features_path), features_path)
    y = classes[_labels(held, features_path, len(classes), len(X))]
    index, how = _split(splits, splits_path, y, classes, split, class_lists)
    images, root = _images(held, features_path, sidecar)
    return assemble(
        folder,
        X=X,
        y=y,
        semantics=_semantics(splits, splits_path, attributes, classes, sidecar),
        **index,
        name=sidecar.name if sidecar else folder.name,
        features=sidecar.features if sidecar else features_path.stem,
        provenance=f"{features_path}, {splits_path}: {how}, semantics {attributes}{root}",
        images=images,
    )


def _feature_file(folder: Path, features: str | None) -> Path:
    if features is not None:
        name = features if features.endswith(".mat") else f"{features}.mat"
        path = folder / name
        if not path.is_file():
            raise DataError(f"{path}: no such file. {_feature_hint(folder)}")
        return path
    candidates = _feature_files(folder)
    if len(candidates) != 1:
        raise DataError(
            f"{folder}: {'no' if not candidates else 'more than one'} feature file. "
            f"{_feature_hint(folder)}"
        )
    return candidates[0]


def _feature_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("*.mat") if not p.stem.lower().endswith("_splits"))


def _feature_hint(folder: Path) -> str:
    names = ", ".join(p.stem for p in _feature_files(folder))
    return (
        f"Name one of: {names}."
        if names
        else "Place one there (res101.mat, say) with 'features' and 'labels'."
    )


def _need(held: Mapping[str, object], name: str, path: Path) -> Any:
    if name not in held:
        raise DataError(f"{path}: has no variable {name!r}. It is not in the xlsa17 layout.")
    return held[name]


def _classes(splits: Mapping[str, object], path: Path, sidecar: Sidecar | None) -> Array:
    names = _need(splits, "allclasses_names", path)
    if not isinstance(names, list) or not all(n.strip() for n in names):
        raise DataError(f"{path}: 'allclasses_names' must be a cell of class names, none empty.")
    return class_names(names, sidecar, path)


def _labels(held: Mapping[str, object], path: Path, classes: int, rows: int) -> Index:
    labels = one_based(_need(held, "labels", path), classes, path, "labels", "the classes")
    if len(labels) != rows:
        raise DataError(
            f"{path}: 'features' has {rows} columns, one a sample, but there are {len(labels)} "
            "labels. If features holds one row a sample, transpose it."
        )
    return labels


def _semantics(
    splits: Mapping[str, object], path: Path, name: str, classes: Array, sidecar: Sidecar | None
) -> Any:
    vectors = _need(splits, name, path)
    if not hasattr(vectors, "dtype"):
        raise DataError(f"{path}: {name!r} holds text, but class vectors are numbers.")
    names = sidecar.attributes if sidecar else None
    return class_table(f"{path}: {name!r}", classes, vectors, names)


def _split(
    splits: Mapping[str, object],
    path: Path,
    y: Array,
    classes: Array,
    split: str,
    class_lists: PathLike | None,
) -> tuple[dict[str, Index], str]:
    """Return the index sets, and what to say of them."""
    if split == "SS":
        unseen, source = _standard(path.parent, classes, class_lists)
        return unseen_class_split(y, unseen, source), f"standard split (SS) of {source}"
    rows = len(y)
    index = {
        part: one_based(_need(splits, name, path), rows, path, name, "the rows")
        for part, name in LOCATIONS.items()
    }
    return index, f"the split of the file (PS), {_version(splits, index['test_seen'])}"


def _version(splits: Mapping[str, object], test_seen: Index) -> str:
    """Tell v1 from v2: v1's validation rows take in the held-out rows of seen classes."""
    validation = [np.asarray(splits[n]).ravel() for n in ("train_loc", "val_loc") if n in splits]
    if validation and np.isin(test_seen + 1, np.concatenate(validation)).any():
        return "v1: its train_loc and val_loc hold rows of test_seen, do not tune on them"
    return "v2"


def _standard(folder: Path, classes: Array, lists: PathLike | None) -> tuple[list[Any], object]:
    if lists is not None:
        path = Path(lists) / "testclasses.txt"
        return list(read_class_list(path, set(classes.tolist()))), path
    known = standard_unseen(classes.tolist())
    if known is None:
        raise DataError(
            f"{folder}: the standard split (SS) of these classes is not known here. Give "
            "class_lists=, a folder whose testclasses.txt names its unseen classes."
        )
    return known, "the published class list"


def _images(
    held: Mapping[str, object], path: Path, sidecar: Sidecar | None
) -> tuple[list[str] | None, str]:
    """Return the image names, relative to the folder that they share, and a note of that folder."""
    if sidecar is not None and sidecar.images is not None:
        return list(sidecar.images), ""
    names = held.get("image_files")
    if names is None:
        return None, ""
    if not isinstance(names, list):
        raise DataError(f"{path}: 'image_files' must be a cell of image names.")
    for entry, name in enumerate(names, 1):
        if not name or ".." in name.replace("\\", "/").split("/"):
            raise DataError(f"{path}: 'image_files', entry {entry}: {name!r} is not a plain path.")
    if not all(name.startswith("/") for name in names):
        return names, ""
    root = os.path.commonpath([os.path.dirname(os.path.dirname(n)) for n in names])  # noqa: PTH120
    return [os.path.relpath(n, root) for n in names], f", images relative to {root}"
