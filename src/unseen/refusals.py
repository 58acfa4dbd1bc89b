"""What estimators say when they refuse: what was wrong, where, and what to do about it."""

from __future__ import annotations

import warnings
from typing import NoReturn

import numpy as np
from sklearn.utils.validation import check_array

from unseen.exceptions import NonFiniteScores
from unseen.semantics import ClassTable, place_among
from unseen.typing import Array, Codes


def refuse_numbers(owner: str, reason: object) -> NoReturn:
    """Say that a fit failed because numbers got out of hand."""
    raise ValueError(
        f"{owner} cannot learn from these numbers ({reason}): rows or class vectors are too large, too "
        "small or too much alike. Standardise X, for example with "
        "sklearn.preprocessing.StandardScaler, and check that classes have different vectors."
    ) from (reason if isinstance(reason, BaseException) else None)


def refuse_no_labels(owner: str) -> NoReturn:
    """Say that labels are missing."""
    raise ValueError(
        f"{owner} requires y to be passed, but the target y is None. Give labels; or, if there are "
        "none, and rows and class vectors are embeddings in one space, fit SharedSpacePrototypes."
    )


def refuse_chunks(owner: str) -> NoReturn:
    """Say that rows must be in memory."""
    raise ValueError(
        f"{owner} needs all rows in memory, and X is not: it comes in chunks. Give "
        "np.asarray(X), or fit FastTraining around an inductive estimator, or a method that "
        "learns from chunks: unseen.methods.select(takes_chunks=True) lists them."
    )


def refuse_few_classes(classes: Array, width: int, semantics: object, owner: str) -> NoReturn:
    """Say that labelled rows of two classes are needed, and what to do where there are none."""
    remedy = "Label rows of another class."
    if semantics is not None and ClassTable.of(semantics).vectors.shape[1] == width:
        remedy = (
            "Label rows of another class; or, if rows and class vectors are embeddings in one space, "
            "fit SharedSpacePrototypes, which needs no labelled row."
        )
    raise ValueError(
        f"{owner} needs labelled rows of at least two classes. Got {len(classes)} class: "
        f"{classes.tolist()}. {remedy}"
    )


def refuse_constant_rows(rows: int, owner: str) -> NoReturn:
    """Say that all labelled rows are the same."""
    raise ValueError(
        f"X is constant: all {rows} labelled rows are the same, so {owner} can learn "
        "nothing from them. Check how the features were computed."
    )


def refuse_constant_vectors(vectors: Array, owner: str) -> NoReturn:
    """Say that all seen classes have the same vector."""
    zero = " (zero)" if not vectors.any() else ""
    raise ValueError(
        f"semantics gives the same vector{zero} to all {len(vectors)} seen classes, so {owner} "
        "cannot tell them apart. Check how the vectors were computed."
    )


def refuse_range(
    values: Array, limits: tuple[float, float], owner: str, name: str, classes: Array | None
) -> NoReturn:
    """Say which numbers are so large or so small that their squares overflow or vanish."""
    least, most = limits
    largest = float(max(values.max(), -values.min()))
    much = "large" if largest > most else "small"
    row = int(np.flatnonzero((np.abs(values) == largest).any(axis=1))[0])
    where = f"row {row}" if classes is None else f"class {classes[row]!s}"
    raise ValueError(
        f"The numbers of {name} are too {much} for {owner}: the largest is {largest:.2g} ({where}), of "
        f"type {values.dtype}, and should lie between {least:.0e} and {most:.0e}. Check the units of "
        f"{where}; if they are right, scale {name}, for example to unit length."
    )


def refuse_label_type(classes: Array, described: Array) -> NoReturn:
    """Say that the labels of y and the classes of semantics are of different types."""
    y, table = ("strings" if a.dtype.kind in "US" else "integers" for a in (classes, described))
    raise ValueError(
        f"y holds {y} ({some_labels(classes)}), but the classes of semantics are {table} "
        f"({some_labels(described)}). Name the classes alike in both."
    )


def refuse_width(width: int, fitted: int, owner: str) -> NoReturn:
    """Say that semantics has another width than the one that ``fit`` used."""
    raise ValueError(
        f"semantics now has {width} columns, but {owner} was fitted with {fitted}. Give "
        "vectors of the same kind, or fit again."
    )


def refuse_scores(wrong: Codes, X: Array, vectors: Array, owner: str) -> NoReturn:
    """Say which rows have no finite score."""
    check_array(X, dtype=None, estimator=owner, input_name="X")  # says what is wrong, if it is in X
    largest, of_classes = (float(np.abs(a).max()) for a in (X[wrong[0]], vectors))
    raise NonFiniteScores(
        f"{owner} has no finite score for {len(wrong)} of {len(X)} rows. The first is row {wrong[0]}; "
        f"its largest number is {largest:.2g}, that of the class vectors {of_classes:.2g}. Give rows "
        "and vectors in the units of those that fit saw; if they are, standardise X and fit again.",
        rows=wrong.tolist(),
    )


def scored_codes(classes: Array, candidates: Array, wanted: object, owner: str) -> Codes:
    """Return the place of each candidate among the classes of y, -1 if it is not there.

    Where no class of y is a candidate, every answer would be wrong: that is refused.
    """
    codes = place_among(candidates, classes)
    if not len(classes):
        raise ValueError("y holds no label, so there is nothing to score. Give true labels.")
    others = np.delete(classes, codes[codes >= 0])
    asked = f"candidates={wanted!r}" if isinstance(wanted, str) else "a list of candidates"
    remedy = (
        "To score rows of seen classes, set candidates='seen' or 'all'. In cross-validation hold out "
        "whole classes: among_held_out(estimator, y) with cv=ClassWiseKFold(), or ClassWiseSearch, of "
        "unseen.model_selection."
    )
    if len(others) == len(classes):
        raise ValueError(
            f"None of the {len(classes)} class(es) of y is a candidate, so every answer would be "
            f"wrong: y holds {some_labels(classes)}, and {owner} answers among "
            f"{some_labels(candidates)} ({asked}). {remedy}"
        )
    if len(others):
        warnings.warn(
            f"{len(others)} of the {len(classes)} classes of y are no candidates of {owner} ({asked}), "
            f"and their rows count as wrong: {some_labels(others)}. {remedy}",
            UserWarning,
            stacklevel=3,
        )
    return codes


def refuse_foreign_labels(labels: Array, candidates: Array, wanted: object, owner: str) -> None:
    """Refuse to be scored by true labels none of which is a candidate."""
    if labels.dtype.kind == "f":  # integers that a missing value turned into floats
        labels = labels[np.isfinite(labels)].astype(np.int64)
    labels, named = np.unique(labels.astype(str)), candidates.astype(str)
    if len(labels) and not np.isin(labels, named).any():
        scored_codes(labels, named, wanted, owner)


def some_labels(labels: Array) -> str:
    """Return the first labels, for a message."""
    return ", ".join(repr(v) for v in labels[:3].tolist()) + (", …" if len(labels) > 3 else "")
