"""Animals with Attributes in its own layout (Lampert, Nickisch, Harmeling, CVPR 2009)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from unseen.datasets import native
from unseen.datasets.missing import fill_missing
from unseen.datasets.record import ZeroShotDataset, assemble, class_table
from unseen.datasets.sidecar import class_names, read_sidecar
from unseen.datasets.splits import one_based, read_numbered, unseen_class_split
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES
from unseen.typing import Array, Codes

PathLike = str | os.PathLike[str]

#: AwA marks a class-attribute pair that nobody rated.
MISSING = -1.0


def load_awa(
    folder: PathLike,
    features: PathLike | None = None,
    *,
    labels: PathLike | None = None,
    unseen: PathLike | Sequence[str] | None = None,
    semantics: Literal["continuous", "binary"] = "continuous",
    missing: Literal["mean", "zero", "keep"] = "mean",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> ZeroShotDataset:
    """Load AwA: ``classes.txt``, ``predicates.txt``, ``predicate-matrix-*.txt`` and features.

    Parameters
    ----------
    folder : path
        AwA's own folder.
    features : path, optional
        One row an image: ``.npy``, ``.npz``, ``.mat``, ``.h5``, Parquet or text (AwA2's own
        ``AwA2-features.txt``). By default ``features.*`` in the folder.
    labels : path, optional
        One class number a line, from 1 (``AwA2-labels.txt``). By default ``labels`` in the
        feature file, or ``labels.txt`` in the folder.
    unseen : path or sequence of class names, optional
        By default the folder's ``testclasses.txt``: AwA's standard split of 40 and 10 classes.
    semantics : {"continuous", "binary"}
    missing : {"mean", "zero", "keep"}
        The continuous matrix marks with −1 what nobody rated (in AwA, four colours of the
        antelope). "mean" puts the attribute's mean over the classes that were rated; "zero"
        puts 0; "keep" leaves −1, as xlsa17's ``original_att`` does.
    max_bytes : int
        What a compressed file may expand to.

    Returns
    -------
    ZeroShotDataset
        Train: all rows of the seen classes; ``test_seen`` is empty.
    """
    folder = Path(folder)
    sidecar = read_sidecar(folder)
    names = class_names(read_numbered(folder / "classes.txt"), sidecar, folder)
    matrix = folder / f"predicate-matrix-{semantics}.txt"
    attributes = read_numbered(folder / "predicates.txt")
    vectors = native.read_class_matrix(matrix, len(names), len(attributes))
    note = "as written"
    if sidecar is None and semantics == "continuous":
        vectors, note = _filled(vectors, missing, matrix)
    held = native.read_features(folder, features, max_bytes)
    y = names[_row_labels(held, labels, folder, len(names))]
    native.check_rows(held.X, y, held.path, "the labels")
    index = native.kept_split(folder, len(y)) if unseen is None else None
    source: object = "the rows that convert wrote"
    if index is None:
        classes, source = native.unseen_from(unseen, folder / "testclasses.txt", names)
        index = unseen_class_split(y, classes, source)
    attribute_names = sidecar.attributes if sidecar else attributes
    return assemble(
        folder,
        X=held.X,
        y=y,
        semantics=class_table(matrix, names, native.typed(vectors, sidecar), attribute_names),
        **index,
        name=sidecar.name if sidecar else "AwA",
        features=sidecar.features if sidecar else held.path.stem,
        provenance=f"{held.path}, {matrix} ({note}), split by {source}",
        images=sidecar.images if sidecar else None,
    )


def _row_labels(held: native.Features, labels: PathLike | None, folder: Path, classes: int) -> Codes:
    if labels is None and held.labels is not None:
        return one_based(held.labels, classes, held.path, "labels", "the classes")
    path = native.first_of(folder, ["labels.txt"], "labels") if labels is None else Path(labels)
    return native.read_labels(path, classes)


def _filled(vectors: Array, missing: str, path: Path) -> tuple[Array, str]:
    """Return the matrix without its missing values, and what was done to them."""
    if missing not in ("mean", "zero", "keep"):
        raise DataError(f"missing must be 'mean', 'zero' or 'keep'. Got {missing!r} instead.")
    gaps = vectors == MISSING
    if missing == "keep" or not gaps.any():
        return vectors, f"{gaps.sum()} missing values kept as −1"
    filled = fill_missing(vectors, gaps, missing, path)
    return filled, f"{gaps.sum()} missing values set to the {missing}"
