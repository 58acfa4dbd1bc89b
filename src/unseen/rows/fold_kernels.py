"""What a pass over class-wise folds does with one block of rows.

A row belongs to the fold that holds its class out: ``fold`` has the fold of each class, ``place`` its
place among the classes of that fold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.rows import kernels
from unseen.typing import Array, Codes


def fold_sums(
    X: Array, codes: Codes, weights: Array | None, fold: Codes, folds: int
) -> tuple[Array, ...]:
    """Return XᵀX of the rows of each fold, then the class sums and the class weights of all."""
    own = fold[codes]
    moments = [kernels.gram(*rows_of_fold(own, f, X, weights))[0] for f in range(folds)]
    labels = kernels.class_sums(X, codes, weights, len(fold))
    return (*moments, *labels, *kernels.class_weights(codes, weights, len(fold)))


def fold_hits(
    X: Array,
    codes: Codes,
    weights: Array | None,
    fold: Codes,
    place: Codes,
    left: list[Array],
    right: list[Array],
) -> list[Array]:
    """Return, for each fold, the weight of the rows of each of its classes that a model gets right."""
    own = fold[codes]
    found = []
    for f, (halves, others) in enumerate(zip(left, right, strict=True)):
        block, true, weight = rows_of_fold(own, f, X, place[codes], weights)
        count, inner, classes = others.shape
        hits = np.zeros((classes, halves.shape[1], count))
        if len(block):
            sums = kernels.indicator(true, classes, weight, np.dtype(float))
            wide = others.transpose(1, 0, 2).reshape(inner, -1)
            embedded = block @ halves.reshape(len(halves), -1)
            for i in range(halves.shape[1]):
                scores = embedded[:, i * inner : (i + 1) * inner] @ wide
                best = scores.reshape(len(block), count, classes).argmax(axis=2)
                hits[:, i] = sums @ (best == true[:, None])
        found.append(hits)
    return found


def fold_scores(
    X: Array,
    codes: Codes,
    weights: Array | None,
    fold: Codes,
    place: Codes,
    left: list[Array],
    right: list[Array],
) -> list[tuple[Array, Array, Array | None]]:
    """Return, for each fold, the scores X·left·right of its rows, their classes and their weights."""
    own = fold[codes]
    found = []
    for f, (half, other) in enumerate(zip(left, right, strict=True)):
        block, true, weight = rows_of_fold(own, f, X, place[codes], weights)
        found.append(((block @ half) @ other, true, weight))
    return found


def rows_of_fold(own: Codes, fold: int, *arrays: Any) -> list[Any]:
    """Return the rows of one fold; nothing is copied where all or none are."""
    here = own == fold
    if here.all():
        return list(arrays)
    return [None if a is None else a[here] for a in arrays]
