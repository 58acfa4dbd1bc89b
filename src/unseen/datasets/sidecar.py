"""``unseen.json`` beside a converted data set: what the layout itself cannot hold."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.datasets.record import ZeroShotDataset
from unseen.exceptions import DataError
from unseen.files import check_size, reading
from unseen.typing import Array, JsonObject

PathLike = str | os.PathLike[str]

SIDECAR = "unseen.json"
VERSION = 1
#: Index sets, in the layouts that know classes only.
ROWS = "unseen_split.csv"


@dataclass(frozen=True)
class Sidecar:
    """What was written with a data set, apart from its numbers."""

    name: str = "unnamed"
    features: str = "unnamed features"
    provenance: str = ""
    attributes: tuple[str, ...] | None = None
    classes: tuple[str, ...] | tuple[int, ...] | None = None
    x_dtype: str = "float64"
    semantics_dtype: str = "float64"
    images: tuple[str, ...] | None = None
    order: tuple[int, ...] | None = None


def describe(dataset: ZeroShotDataset, **more: object) -> Sidecar:
    """Return the sidecar of a data set."""
    table = dataset.semantics
    fields: JsonObject = {
        "name": dataset.name,
        "features": dataset.features,
        "provenance": dataset.provenance,
        "attributes": table.attributes,
        "classes": tuple(table.classes.tolist()),
        "x_dtype": np.dtype(dataset.X.dtype).name,
        "semantics_dtype": table.vectors.dtype.name,
    }
    return Sidecar(**{**fields, **more})


def to_json(sidecar: Sidecar) -> str:
    """Return the sidecar as text."""
    held = {k: v for k, v in vars(sidecar).items() if v is not None}
    return json.dumps({"unseen": VERSION, **held}, indent=1, ensure_ascii=False)


def class_names(names: Sequence[str], sidecar: Sidecar | None, path: PathLike) -> Array:
    """Return the class names of a layout, as the sidecar spells them where there is one."""
    if sidecar is None or sidecar.classes is None:
        return np.array(names)
    if len(sidecar.classes) != len(names):
        raise DataError(
            f"{path}: has {len(names)} classes, but {SIDECAR} beside it {len(sidecar.classes)}. "
            "Convert the data again."
        )
    return np.array(sidecar.classes)


def write_sidecar(folder: Path, sidecar: Sidecar) -> None:
    """Write ``unseen.json`` into the folder."""
    (folder / SIDECAR).write_text(to_json(sidecar) + "\n", encoding="utf-8")


def read_sidecar(folder: PathLike) -> Sidecar | None:
    """Read ``unseen.json`` if the folder has one."""
    path = Path(folder) / SIDECAR
    if not path.is_file():
        return None
    with reading(path):
        check_size(path, "the sidecar", path.stat().st_size, 2**30)
        return from_json(path.read_text(encoding="utf-8"), path)


def from_json(text: str, path: PathLike) -> Sidecar:
    """Check and read the text of a sidecar."""
    with reading(path):
        held = json.loads(text)
    if not isinstance(held, dict) or held.pop("unseen", None) != VERSION:
        raise DataError(f"{path}: is not a sidecar of version {VERSION}. Convert the data again.")
    known = Sidecar.__dataclass_fields__
    for key, value in held.items():
        if key not in known or not _fits(key, value):
            raise DataError(f"{path}: the entry {key!r} is not as convert writes it.")
    lists: JsonObject = {k: tuple(v) if isinstance(v, list) else v for k, v in held.items()}
    return Sidecar(**lists)


def _fits(key: str, value: object) -> bool:
    if key in ("attributes", "images"):
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if key == "classes":
        kinds = {type(v) for v in value} if isinstance(value, list) else set()
        return kinds in ({str}, {int})
    if key == "order":
        return isinstance(value, list) and all(type(v) is int for v in value)
    if key in ("x_dtype", "semantics_dtype"):
        return value in (
            "float16",
            "float32",
            "float64",
            *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)),
        )
    return isinstance(value, str)
