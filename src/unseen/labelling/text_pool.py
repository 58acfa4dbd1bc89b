"""Texts and texts of the classes, read, checked against each other, and turned into vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen.exceptions import DataError
from unseen.features import (
    FeatureStore,
    Progress,
    TextEncoder,
    describe,
    encode_texts,
)
from unseen.files import read_npy
from unseen.labelling.classes import CLASS_COLUMN, Given, Recipe
from unseen.labelling.folders import check_candidates, read_names
from unseen.labelling.pool_data import PoolData
from unseen.labelling.text_files import TextRows, read_class_texts, read_texts
from unseen.semantics import ClassTable
from unseen.typing import Array, JsonObject

NAME_PROMPT = "{}"
"""A class without a text of its own is known by its name as it is."""


@dataclass(frozen=True)
class TextPreparation:
    """Texts, classes and candidates that fit each other; nothing is computed yet."""

    pool: TextRows | None
    """The texts to label; None if only their vectors are known."""
    seen: TextRows | None
    """Texts with labels."""
    given: Given
    class_of_row: list[str]
    """The class of every row of the file of classes."""
    candidates: list[str]
    truth: list[str] = field(default_factory=list)
    """The right labels of the pool in a trial; "" where there is none."""


def prepare_texts(
    texts: Path | None,
    classes: Path | None,
    *,
    column: str = "text",
    seen: Path | None = None,
    label_column: str = "label",
    truth_column: str = "",
    candidates: str = "",
    class_column: str = CLASS_COLUMN,
    unknown: str = "",
) -> TextPreparation:
    """Read texts and classes, and check that they fit each other.

    Parameters
    ----------
    texts : path, optional
        The texts to label; None if only their vectors are known. See
        :func:`~unseen.labelling.text_files.read_texts`.
    classes : path
        See :func:`~unseen.labelling.text_files.read_class_texts`.
    column : str
        The column of the texts, in ``texts`` and in ``seen``.
    seen : path, optional
        Texts of which some have labels; those without are left out.
    label_column : str
        The column of labels in ``seen``.
    truth_column : str
        A column of ``texts`` with the right labels: a trial. They are compared at the end only.
    candidates : str
        Among which classes to answer: "" or "all", a list "refund,delivery" or a text file.
    class_column : str
        The column of ``classes`` that names the classes.
    unknown : str
        The label of texts that belong to no class, which may stand in ``truth_column``.
    """
    if classes is None:
        raise DataError(
            "Which classes there are is not known. Give a file of classes: a .txt of names, or a table "
            "with the columns class and description.",
            options=("classes",),
        )
    given, class_of_row = read_class_texts(classes, class_column)
    pool = None if texts is None else read_texts(texts, column, truth_column)
    labelled = None if seen is None else _labelled(read_texts(seen, column, label_column), given)
    names = given.names if candidates in ("", "all") else read_names(candidates)
    check_candidates(names, given.names, given.source)
    truth: list[str] = []
    if pool is not None and truth_column:
        _check_labels(pool, given, unknown)
        truth = pool.labels
    return TextPreparation(pool, labelled, given, class_of_row, names, truth)


def extract_texts(
    preparation: TextPreparation,
    encoder: TextEncoder,
    store: FeatureStore | None,
    on_progress: Callable[[Progress], None] | None = None,
) -> PoolData:
    """Return the vectors of all texts and classes; those in ``store`` are not computed again."""
    pool, given = preparation.pool, preparation.given
    if pool is None:
        raise DataError("There are no texts to encode. Give a file of texts.", options=("texts",))
    labelled = preparation.seen.texts if preparation.seen is not None else []
    encoded = encode_texts([*labelled, *pool.texts], encoder, store, on_progress=on_progress)
    table = text_class_table(given, encoder)
    recipe = Recipe(encoder.name, prompt=NAME_PROMPT)
    return _pool_data(
        preparation,
        encoder.name,
        encoded.X,
        table,
        origin=text_origin(encoder, recipe),
        computed=encoded.computed,
        reused=encoded.reused,
    )


def text_class_table(given: Given, encoder: TextEncoder) -> ClassTable:
    """Return the vectors of classes, by the encoder of the texts: of their texts, or of their names."""
    return describe(given.names, encoder, given.descriptions, NAME_PROMPT)


def embedded_texts(
    preparation: TextPreparation, embeddings: Path, class_embeddings: Path | None
) -> PoolData:
    """Return a pool from vectors of the user's own.

    Parameters
    ----------
    preparation : TextPreparation
        With or without texts.
    embeddings : path
        ``.npy``, one row for each row of the file of texts.
    class_embeddings : path
        ``.npy``, one row for each row of the file of classes. Several rows of a class are merged into
        their mean direction.
    """
    if class_embeddings is None:
        raise DataError(
            f"{embeddings}: has vectors of the items, but the classes have none. Give a .npy with one "
            "row for each row of the file of classes, of the same encoder.",
            options=("class_embeddings",),
        )
    if preparation.seen is not None:
        raise DataError(
            f"{preparation.seen.path}: labelled texts have no vectors among {embeddings}. Leave one of "
            "them out, or fit in Python: SharedSpacePrototypes(semantics).fit(X, y).",
            options=("seen", "embeddings"),
        )
    X, T = _matrix(embeddings), _matrix(class_embeddings)
    if X.shape[1] != T.shape[1]:
        raise DataError(
            f"{class_embeddings}: has {T.shape[1]} columns, and {embeddings} has {X.shape[1]}. Both "
            "must come from one encoder."
        )
    rows = preparation.class_of_row
    if len(T) != len(rows):
        raise DataError(
            f"{class_embeddings}: has {len(T)} rows, and {preparation.given.source} has {len(rows)}. "
            "Give one vector for each row, in the same order."
        )
    pool = preparation.pool
    if pool is not None:
        count = len(pool.texts) + len(pool.broken)
        if count != len(X):
            raise DataError(
                f"{embeddings}: has {len(X)} rows, and {pool.path} has {count}. Give one vector for "
                "each row, in the same order."
            )
        X = X[pool.rows]
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(rows):
        rows_of.setdefault(name, []).append(row)
    table = ClassTable.of({name: T[of] if len(of) > 1 else T[of[0]] for name, of in rows_of.items()})
    return _pool_data(preparation, embeddings.name, X, table, source=embeddings)


def text_origin(encoder: TextEncoder, recipe: Recipe) -> JsonObject:
    """Return what a model file says of its features and class vectors, for texts."""
    return {
        "texts": encoder.name,
        "identity": encoder.identity,
        **recipe.origin(),
    }


def _pool_data(
    preparation: TextPreparation,
    features: str,
    X: Array,
    table: ClassTable,
    source: Path | None = None,
    **more: Any,
) -> PoolData:
    """Return the record of a pool; the labelled rows of X come first."""
    pool, seen = preparation.pool, preparation.seen
    count = 0 if seen is None else len(seen.texts)
    path = pool.path if pool is not None else source or Path("texts")
    return PoolData(
        path.name,
        features,
        X[:count],
        np.array([] if seen is None else seen.labels, dtype=object),
        X[count:],
        [],
        path,
        table,
        preparation.candidates,
        preparation.truth,
        broken=[*(seen.broken if seen else []), *(pool.broken if pool else [])],
        texts=[] if pool is None else pool.texts,
        text_rows=list(range(len(X))) if pool is None else pool.rows,
        **more,
    )


def _labelled(rows: TextRows, given: Given) -> TextRows:
    """Return the rows that have a label, which must be one of the classes."""
    _check_labels(rows, given)
    keep = [i for i, label in enumerate(rows.labels) if label]
    if not keep:
        raise DataError(
            f"{rows.path}: no row has a label. Name the column of the labels, or leave the file out.",
            options=("label_column", "seen"),
        )
    return TextRows(
        rows.path,
        [rows.texts[i] for i in keep],
        [rows.rows[i] for i in keep],
        [rows.labels[i] for i in keep],
        [rows.lines[i] for i in keep],
        rows.broken,
    )


def _check_labels(rows: TextRows, given: Given, unknown: str = "") -> None:
    known = {"", unknown, *given.names}
    for label, line in zip(rows.labels, rows.lines, strict=True):
        if label not in known:
            raise DataError(
                f"{rows.path}: line {line}: the label {label!r} is none of the {len(given.names)} "
                f"classes of {given.source}. Describe the class there, or correct the label."
            )


def _matrix(path: Path) -> Array:
    """Read a matrix of finite numbers from a .npy file."""
    values = np.asarray(read_npy(path))
    if values.ndim != 2 or values.dtype.kind not in "fiu" or 0 in values.shape:
        raise DataError(
            f"{path}: holds {values.dtype} of shape {values.shape}, but a matrix of numbers is needed, "
            "one row an item."
        )
    values = values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise DataError(f"{path}: row {bad[0]} holds NaN or infinity. Encode that item again.")
    return values
