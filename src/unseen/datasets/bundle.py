"""The ``npz`` bundle: a whole data set in one file, features mapped into memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from unseen.datasets.arrays import check_matrix, read_npz
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import describe, from_json, to_json
from unseen.datasets.splits import PARTS
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, atomic_file
from unseen.typing import Variables

PathLike = str | os.PathLike[str]


def write_bundle(dataset: ZeroShotDataset, target: PathLike) -> None:
    """Write a data set to one uncompressed ``.npz``."""
    arrays: Variables = {
        "X": np.ascontiguousarray(dataset.X),
        "y": dataset.y,
        "classes": dataset.semantics.classes,
        "vectors": dataset.semantics.vectors,
        "meta": np.array(to_json(describe(dataset, classes=None))),
        **{part: getattr(dataset, part) for part in PARTS},
    }
    if dataset.images is not None:
        arrays["images"] = np.array(list(dataset.images), dtype=str)
    with atomic_file(target) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def load_bundle(path: PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES) -> ZeroShotDataset:
    """Load what :func:`write_bundle` wrote; ``X`` is mapped into memory, not read."""
    held = read_npz(path, max_bytes=max_bytes)
    missing = [n for n in ("X", "y", "classes", "vectors", "meta", *PARTS) if n not in held]
    if missing:
        raise DataError(
            f"{path}: has no array {missing[0]!r}: it is not a bundle written by convert. For "
            "features alone, use load_table."
        )
    for part in PARTS:
        if held[part].ndim != 1 or held[part].dtype.kind not in "iu":
            raise DataError(f"{path}: {part!r} must be a list of row numbers.")
    if held["y"].ndim != 1 or held["y"].dtype.kind not in "iuU" or held["meta"].dtype.kind != "U":
        raise DataError(f"{path}: 'y' or 'meta' is not of the type that convert writes.")
    meta = from_json(str(held["meta"]), path)
    images = held.get("images")
    if images is not None and (images.dtype.kind != "U" or images.ndim != 1):
        raise DataError(f"{path}: 'images' must be a list of names.")
    vectors = check_matrix(held["vectors"], f"{path}: 'vectors'")
    return assemble(
        path,
        X=check_matrix(held["X"], f"{path}: 'X'"),
        y=np.asarray(held["y"]),
        semantics=class_table(path, held["classes"], np.asarray(vectors), meta.attributes),
        **{part: np.asarray(held[part]) for part in PARTS},
        name=meta.name,
        features=meta.features,
        provenance=meta.provenance or f"{Path(path)}",
        images=None if images is None else images.tolist(),
    )
