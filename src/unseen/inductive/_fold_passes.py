"""Class-wise folds in passes over all rows: sums by fold, and what held-out rows get right.

A row belongs to the fold that holds its class out. One pass takes the sums of all folds, another counts
the hits of all of them for every value of two parameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unseen.rows.chunks import BLOCK, Chunks, summed
from unseen.rows.labelled import Rows
from unseen.rows.passes import (
    Codes,
    _class_sums,
    _class_weights,
    _gram,
    _indicator,
    class_sums,
    class_weights,
)
from unseen.solvers.moments import Moments
from unseen.statistics.evaluation import fit_temperature
from unseen.typing import Array

TEMPERED = 2000
"""Rows a held-out class on which a temperature is fitted, at most."""


class FoldOf(NamedTuple):
    """Where the rows of each class are held out."""

    fold: Codes
    """The fold of each class."""
    place: Codes
    """Its place among the classes of that fold."""
    parts: list[Codes]
    """The classes of each fold."""

    @classmethod
    def of(cls, parts: list[Codes], classes: int) -> FoldOf:
        """Return the table of folds that together hold every class out once."""
        fold, place = np.zeros(classes, dtype=np.intp), np.zeros(classes, dtype=np.intp)
        for number, part in enumerate(parts):
            fold[part], place[part] = number, np.arange(len(part))
        return cls(fold, place, parts)


def fold_sums(rows: Rows, table: FoldOf) -> tuple[list[Array], Array, Array]:
    """Return XᵀX of the rows of each fold, and XᵀY (p, K) and the class weights of all."""
    X, codes, weights = rows
    classes = len(table.fold)
    if not isinstance(X, Chunks):  # rows at hand are better gathered, one fold at a time
        moments = []
        for part in table.parts:
            own = rows.of_classes(part)
            moments.append(Moments(own.X, own.weights).dense)
        sums = class_sums(X, codes, classes, weights)
        return moments, sums, class_weights(codes, classes, weights)
    *moments, labels, counts = summed(
        _fold_sums, X, codes, weights, given=(table.fold, len(table.parts)), size=4 * BLOCK
    )
    return moments, labels.T, counts


def fold_hits(rows: Rows, table: FoldOf, left: list[Array], right: list[Array]) -> list[Array]:
    """Return, for each fold, the weight of the rows of each of its classes that a model gets right.

    Parameters
    ----------
    rows : Rows
    table : FoldOf
    left : list of arrays of shape (p, I, K′)
        For each fold, I maps of a row.
    right : list of arrays of shape (J, K′, L)
        And J maps from there to the scores of the L classes that it holds out.

    Returns
    -------
    list of arrays of shape (L, I, J)
    """
    X, codes, weights = rows
    given = (table.fold, table.place, left, right)
    return list(summed(_fold_hits, X, codes, weights, given=given))


def fold_temperatures(rows: Rows, table: FoldOf, left: list[Array], right: list[Array]) -> list[float]:
    """Return the temperature of the scores X·left·right of the rows of each fold."""
    parts = rows.thinned(TEMPERED, _fold_scores, (table.fold, table.place, left, right))
    found = []
    for own, part in zip(zip(*parts, strict=True), table.parts, strict=True):
        scores, codes, weights = (  # type: Any, Any, Any
            None if values[0] is None else np.concatenate(values) for values in zip(*own, strict=True)
        )
        found.append(fit_temperature(scores, codes, len(part), weights))
    return found


# Below: what a pass does with one block.


def _fold_sums(
    X: Array, codes: Codes, weights: Array | None, fold: Codes, folds: int
) -> tuple[Array, ...]:
    own = fold[codes]
    moments = [_gram(*_of_fold(own, f, X, weights))[0] for f in range(folds)]
    labels = _class_sums(X, codes, weights, len(fold))
    return (*moments, *labels, *_class_weights(codes, weights, len(fold)))


def _fold_hits(
    X: Array,
    codes: Codes,
    weights: Array | None,
    fold: Codes,
    place: Codes,
    left: list[Array],
    right: list[Array],
) -> list[Array]:
    own = fold[codes]
    found = []
    for f, (halves, others) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _of_fold(own, f, X, place[codes], weights)
        count, inner, classes = others.shape
        hits = np.zeros((classes, halves.shape[1], count))
        if len(block):
            sums = _indicator(true, classes, weight, np.dtype(float))
            wide = others.transpose(1, 0, 2).reshape(inner, -1)
            embedded = block @ halves.reshape(len(halves), -1)
            for i in range(halves.shape[1]):
                scores = embedded[:, i * inner : (i + 1) * inner] @ wide
                best = scores.reshape(len(block), count, classes).argmax(axis=2)
                hits[:, i] = sums @ (best == true[:, None])
        found.append(hits)
    return found


def _fold_scores(
    X: Array,
    codes: Codes,
    weights: Array | None,
    fold: Codes,
    place: Codes,
    left: list[Array],
    right: list[Array],
) -> list[tuple[Array, Array, Array | None]]:
    own = fold[codes]
    found = []
    for f, (half, other) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _of_fold(own, f, X, place[codes], weights)
        found.append(((block @ half) @ other, true, weight))
    return found


def _of_fold(own: Codes, fold: int, *arrays: Any) -> list[Any]:
    """Return the rows of one fold; nothing is copied where all or none are."""
    here = own == fold
    if here.all():
        return list(arrays)
    return [None if a is None else a[here] for a in arrays]
