"""The probabilities of a pool, one column a class: "none of these" is the last where it may be said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from unseen.exceptions import DataError
from unseen.typing import Array, Codes, Mask

BELOW_ANSWER = 0.999
"""The largest probability of another class, as a share of that of the answer."""


class RowAnswers(NamedTuple):
    """Answers for rows: which class, how sure, and how likely a row belongs to no candidate."""

    probabilities: Array
    """(n, L), the largest of each row is the answer's; (n, L + 1) where strangers are looked for."""
    classes: list[str]
    """Of the columns; the last is the label of strangers where they are looked for."""
    strangers: Array | None = None
    """(n,) the probability of belonging to no candidate; None if nobody asked."""


def row_answers(model: Any, X: Array, pool_answers: Codes | None = None) -> RowAnswers:
    """Return the answers of a model for rows.

    A model with ``strangers`` has one more column: that of its label for unknown rows. The other
    probabilities are then those of a class *and* of being no stranger, so that all columns add up to 1.
    The rows that it calls strangers are answered so, and no others, whatever their probability.

    Parameters
    ----------
    model : estimator
    X : array of shape (n, p)
    pool_answers : array of shape (n,), optional
        The column of the answer, where X is the pool of a model that has a ``confidence_``: it answers
        for its pool in another way than for new rows, whose neighbours it does not know. The other
        classes then share the rest as for new rows, but none of them more than the answer.
    """
    classes = [str(name) for name in model.classes_.tolist()]
    if not len(X):
        return RowAnswers(np.empty((0, len(classes))), classes)
    P = np.array(model.predict_proba(X), dtype=float)
    if pool_answers is not None and P.shape[1] > 1:
        P = with_answers(P, pool_answers, np.asarray(model.confidence_, dtype=float))
    unknown = unknown_label(model)
    if unknown is None:
        return RowAnswers(P, classes)
    strangers = np.asarray(model.stranger_proba(X), dtype=float)
    called = np.asarray(model.predict(X)).astype(str) == unknown
    return RowAnswers(joint_probabilities(P, strangers, called), [*classes, unknown], strangers)


def unknown_label(model: Any) -> str | None:
    """Return the label that a fitted model gives to strangers; None if it looks for none."""
    if getattr(model, "strangers_", None) is None:
        return None
    return "unknown" if model.unknown is None else str(model.unknown)


def joint_probabilities(P: Array, strangers: Array, called: Array) -> Array:
    """Return (n, L + 1): each class and no stranger, and a stranger; called rows are answered so."""
    joint = np.column_stack([P * (1 - strangers)[:, None], strangers])
    answers = np.where(called, P.shape[1], P.argmax(axis=1))
    confidence = np.maximum(joint[np.arange(len(joint)), answers], 1.001 / joint.shape[1])
    return with_answers(joint, answers, confidence)


def with_answers(probabilities: Array, answers: Codes, confidence: Array) -> Array:
    """Return probabilities in which the answers have this confidence, and no other class has more."""
    rows = np.arange(len(probabilities))
    others = np.array(probabilities, dtype=float)
    others[rows, answers] = 0
    others += np.finfo(float).tiny
    left = (1 - confidence)[:, None]
    others *= left / others.sum(axis=1, keepdims=True)
    most, even = others.max(axis=1, keepdims=True), left / (others.shape[1] - 1)
    excess = np.maximum(most - BELOW_ANSWER * confidence[:, None], 0)
    flat = np.minimum(excess / np.maximum(most - even, np.finfo(float).tiny), 1)
    others += flat * (even - others)
    others[rows, answers] = confidence
    return others


def prediction_sets(model: Any, probabilities: Array, strangers: Array | None, coverage: float) -> Mask:
    """Return which columns of the probabilities are in the prediction set of each row.

    Where strangers are looked for, their label is in the set of rows that are answered so, and of rows
    that are strangers with a probability above 1 − ``coverage``.

    Parameters
    ----------
    model : estimator
    probabilities, strangers : arrays
        As in :class:`RowAnswers`.
    coverage : float in (0, 1)
        How often a set should hold the right class.
    """
    if not hasattr(model, "predict_set"):
        raise DataError(
            f"{type(model).__name__} makes no prediction sets: it is no estimator of this library. "
            "Leave the coverage out.",
            options=("set",),
        )
    if not 0 < coverage < 1:
        raise DataError(
            f"The coverage of prediction sets must be a number between 0 and 1. Got {coverage:g}.",
            options=("set",),
        )
    if strangers is None:
        return np.asarray(model._likeliest(probabilities, coverage))
    L = probabilities.shape[1] - 1
    of_classes = probabilities[:, :L]
    shares = of_classes / np.maximum(of_classes.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    called = probabilities.argmax(axis=1) == L
    sets = np.asarray(model._likeliest(shares, coverage)) & (strangers < 1)[:, None]
    return np.column_stack([sets, called | (strangers > 1 - coverage)])


def certain(probabilities: Array, corrections: Mapping[int, str], classes: list[str]) -> Array:
    """Return probabilities in which corrected rows are certain of the label that was given."""
    given = np.array(probabilities)
    for row, label in corrections.items():
        given[row] = 0
        given[row, classes.index(label)] = 1
    return given
