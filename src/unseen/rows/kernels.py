"""What a pass does with one block of rows in memory.

A kernel takes aligned blocks (None where an array was None) and then what is the same for all blocks. A
kernel of :func:`~unseen.rows.passes.summed` returns a tuple of sums, one of
:func:`~unseen.rows.passes.mapped` one value for each row. All of them can be sent to a worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from unseen.typing import Array, Codes

if TYPE_CHECKING:
    from unseen.rows.labelled import FoldOf

WIDEST_IN_DOUBLE = 512
"""Columns up to which class sums are added in double precision. Sums of numbers in single precision are
then exact, and class means do not depend on how rows are divided into blocks. For wider rows, a copy in
double would cost more than the rest of fast training."""

Scaling = Literal["none", "unit", "root"]
"""How rows are scaled: not at all, to unit length, or to signed square roots of unit length."""


def scaled(X: Array, scaling: Scaling) -> Array:
    """Return scaled rows; a zero row stays zero.

    >>> scaled(np.array([[9.0, -16.0], [0.0, 0.0]]), "root")
    array([[ 0.6, -0.8],
           [ 0. ,  0. ]])
    """
    if scaling == "none":
        return X
    if scaling == "unit":
        return unit_rows(X)
    rooted = np.abs(X)
    np.sqrt(rooted, out=rooted)
    np.copysign(rooted, X, out=rooted)
    return unit_rows(rooted, out=rooted)


def unit_rows(X: Array, out: Array | None = None) -> Array:
    """Return rows scaled to unit length; a zero row stays zero."""
    length = np.sqrt(np.einsum("ij,ij->i", X, X))
    return np.asarray(np.divide(X, np.where(length > 0, length, 1)[:, None], out=out))


def class_sums(X: Array, codes: Codes, weights: Array | None, classes: int) -> tuple[Array]:
    """Return the sum of the rows of each class, (classes, p)."""
    dtype = np.dtype(float) if X.shape[1] <= WIDEST_IN_DOUBLE else X.dtype
    return (indicator(codes, classes, weights, dtype) @ X.astype(dtype, copy=False),)


def class_weights(codes: Codes, weights: Array | None, classes: int) -> tuple[Array]:
    """Return how many rows, or how much weight, each class has."""
    return (np.bincount(codes, weights=weights, minlength=classes),)


def class_totals(X: Array, codes: Codes, weights: Array | None, classes: int) -> tuple[Array, Array]:
    """Return the sum and the weight of the rows of each class."""
    return *class_sums(X, codes, weights, classes), *class_weights(codes, weights, classes)


def gram(X: Array, weights: Array | None) -> tuple[Array]:
    """Return Xᵀ diag(weights) X."""
    if weights is None:
        return (X.T @ X,)
    scaled = X * np.sqrt(weights)[:, None].astype(X.dtype)
    return (scaled.T @ scaled,)  # a matrix by its own transpose takes half the products


def labelled_sums(
    X: Array, codes: Codes, weights: Array | None, classes: int
) -> tuple[Array, Array, Array]:
    """Return XᵀX, the class sums (classes, p) and the class weights."""
    return *gram(X, weights), *class_totals(X, codes, weights, classes)


def scaled_sums(
    X: Array, codes: Codes, weights: Array | None, classes: int, scaling: Scaling
) -> tuple[Array, Array, Array]:
    """Return the ``labelled_sums`` of scaled rows."""
    return labelled_sums(scaled(X, scaling), codes, weights, classes)


def error_sums(X: Array, codes: Codes, weights: Array | None, W: Array) -> tuple[Array]:
    """Sum the rows that XW gets wrong: added to the predicted class, taken from the true one."""
    scores = X @ W
    wrong = np.flatnonzero(scores[np.arange(len(X)), codes] < scores.max(axis=1))
    if not len(wrong):
        return (np.zeros(W.T.shape, dtype=X.dtype),)
    weight, predicted = None if weights is None else weights[wrong], scores[wrong].argmax(axis=1)
    went, belong = (indicator(c, W.shape[1], weight, X.dtype) for c in (predicted, codes[wrong]))
    return ((went - belong) @ X[wrong],)


def indicator(
    codes: Codes, classes: int, weights: Array | None, dtype: npt.DTypeLike
) -> sparse.csr_matrix:
    """Return the one-hot labels, (classes, N), times the weights."""
    values = np.ones(len(codes)) if weights is None else weights
    place = (codes, np.arange(len(codes)))
    return sparse.csr_matrix((values.astype(dtype), place), shape=(classes, len(codes)))


def fold_sums(X: Array, codes: Codes, weights: Array | None, table: FoldOf) -> tuple[Array, ...]:
    """Return XᵀX of the rows of each class-wise fold, then the class totals of all."""
    parts = [_rows_of_fold(table, f, X, codes, weights) for f in range(len(table.parts))]
    moments = [gram(block, weight)[0] for block, _, weight in parts]
    return (*moments, *class_totals(X, codes, weights, len(table.fold)))


def fold_hits(
    X: Array, codes: Codes, weights: Array | None, table: FoldOf, left: list[Array], right: list[Array]
) -> list[Array]:
    """Return, for each fold, the weight of the rows of each class that models get right, (L, I, J).

    ``left[f]`` (p, I, K′) maps a row in I ways, ``right[f]`` (J, K′, L) from there, in J ways, to the
    scores of the L classes that fold f holds out.
    """
    answers = []
    for f, (halves, others) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _rows_of_fold(table, f, X, codes, weights)
        count, inner, classes = others.shape
        hits = np.zeros((classes, halves.shape[1], count))
        if len(block):
            sums = indicator(true, classes, weight, np.dtype(float))
            wide = others.transpose(1, 0, 2).reshape(inner, -1)
            embedded = block @ halves.reshape(len(halves), -1)
            for i in range(halves.shape[1]):
                scores = embedded[:, i * inner : (i + 1) * inner] @ wide
                best = scores.reshape(len(block), count, classes).argmax(axis=2)
                hits[:, i] = sums @ (best == true[:, None])
        answers.append(hits)
    return answers


def fold_scores(
    X: Array, codes: Codes, weights: Array | None, table: FoldOf, left: list[Array], right: list[Array]
) -> list[tuple[Array, Array, Array | None]]:
    """Return, for each fold, the scores X·left·right of its rows, their classes and their weights."""
    answers = []
    for f, (half, other) in enumerate(zip(left, right, strict=True)):
        block, true, weight = _rows_of_fold(table, f, X, codes, weights)
        answers.append(((block @ half) @ other, true, weight))
    return answers


def _rows_of_fold(
    table: FoldOf, fold: int, X: Array, codes: Codes, weights: Array | None
) -> tuple[Array, Codes, Array | None]:
    """Return the rows of one fold, coded by place; nothing is copied where all are in it."""
    here, places = table.fold[codes] == fold, table.place[codes]
    if here.all():
        return X, places, weights
    return X[here], places[here], None if weights is None else weights[here]


def magnitudes(X: Array) -> tuple[Array, Array]:
    """Return the sum of the absolute values of the negative entries, and of all entries."""
    total = np.abs(X).sum(dtype=float)
    return (total - X.sum(dtype=float)) / 2, total


def place_among(codes: Codes, classes: Codes) -> Array:
    """Return the place of each code among sorted classes."""
    return np.asarray(np.searchsorted(classes, codes))


def first_time(first_round: Array, chosen: Array, number: int) -> Array:
    """Return the round that first chose each row, now that round ``number`` chose some."""
    return np.where((first_round == 0) & (chosen > 0), number, first_round)


def differences(codes: Codes, others: Codes) -> tuple[int]:
    """Return in how many rows two labels differ."""
    return (int((codes != others).sum()),)


def weights_of_class(codes: Codes, chosen: Array, weight: Array) -> Array:
    """Return the weight of the class of each chosen row, zero for the others."""
    return np.where(chosen, weight[codes], 0.0)


def affine(X: Array, weights: Array, constant: Array) -> Array:
    """Return XW + c."""
    return np.asarray(X @ weights + constant)


def best_class(scores: Array, classes: Array) -> Array:
    """Return the class with the largest score of each row."""
    return np.asarray(classes[scores.argmax(axis=1)])


def decision(scores: Array) -> Array:
    """Return the scores; of two classes, as scikit-learn has it, their difference."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def softmax(scores: Array, temperature: float, doubt: float = 0.0) -> Array:
    """Return (1 − doubt)·softmax(scores / temperature) + doubt / L."""
    P = special.softmax(scores / temperature, axis=1)
    return np.asarray((1 - doubt) * P + doubt / scores.shape[1] if doubt else P)


def log_softmax(scores: Array, temperature: float) -> Array:
    """Return the logarithm of softmax(scores / temperature)."""
    return np.asarray(special.log_softmax(scores / temperature, axis=1))


def deviations(scores: Array) -> tuple[float]:
    """Return the sum of the standard deviations of the rows' scores."""
    return (float(scores.std(axis=1, dtype=float).sum()),)


def own_score(scores: Array, codes: Codes) -> Array:
    """Return the score of the class of each row."""
    return np.take_along_axis(scores, codes[:, None], axis=1).ravel()


def soft_labels(scores: Array, biases: Array) -> Array:
    """Return softmax(scores + biases), without denormal numbers, which slow products tenfold."""
    E = scores + biases.astype(scores.dtype)
    E -= E.max(axis=1, keepdims=True)
    np.exp(E, out=E)
    E /= E.sum(axis=1, keepdims=True)
    E[E < 1e-15] = 0
    return np.asarray(E)


def soft_sums(X: Array, labels: Array) -> tuple[Array, Array]:
    """Return the mass of each class and the sum of its rows, QᵀX."""
    return labels.sum(axis=0, dtype=float), labels.T.astype(X.dtype) @ X


def log_partition(scores: Array, biases: Array) -> tuple[Array]:
    """Return Σₙ log Σₖ exp(sₙₖ + bₖ)."""
    return (np.asarray(special.logsumexp(scores + biases, axis=1).sum()),)


def label_changes(before: Array, labels: Array, trusted: float) -> tuple[Array, ...]:
    """Return rows of probability ``trusted`` or more, class masses, changed labels, moved mass."""
    changed = (before.argmax(axis=1) != labels.argmax(axis=1)).sum()
    sure = (labels.max(axis=1) >= trusted).sum()
    return sure, labels.sum(axis=0, dtype=float), changed, np.abs(labels - before).sum(dtype=float) / 2


def purity_and_drift(
    start: Array, end: Array, first: Array, last: Array, temperature: float
) -> tuple[Array, Array]:
    """Return the sum of the highest probabilities at the end, and how many labels have changed."""
    S = end + last
    changed = S.argmax(axis=1) != (start + first).argmax(axis=1)
    return softmax(S, temperature).max(axis=1).sum(), changed.sum()


def unclamped(scores: Array, biases: Array) -> Array:
    """Return scores + biases; rows that were clamped to a class, which have −∞, become zero."""
    return np.where(np.isfinite(scores).all(axis=1, keepdims=True), scores + biases, 0.0)


def relative_probabilities(scores: Array) -> Array:
    """Return exp(scores), each row scaled to a largest entry of one."""
    return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)).astype(float))


def drawn_mass(P: Array, factors: Array) -> tuple[Array]:
    """Return the mass that each class would get with factor one, given the factors of the others."""
    return ((1.0 / (P @ factors)) @ P,)


def soft_products(P: Array, factors: Array) -> tuple[Array, Array]:
    """Return the class totals of the soft labels Q ∝ P·factors, and QᵀQ."""
    Q = P * factors
    Q /= Q.sum(axis=1, keepdims=True)
    return Q.sum(axis=0), Q.T @ Q


def with_biases(log_p: Array, biases: Array) -> Array:
    """Return log-probabilities plus one bias a class, normalised again."""
    return log_softmax(log_p + biases, 1.0)


def pseudo_label_loss(scores: Array, codes: Codes) -> Array:
    """Loss of Eq. (16): ‖f(x) − g(x)‖², for the labels f that ``codes`` gives."""
    rows = np.arange(len(scores))
    loss: Array = np.einsum("ij,ij->i", scores, scores) - 2 * scores[rows, codes] + 1
    return loss


def trusted_loss(embedding: Array, codes: Codes, weights: Array) -> tuple[float, Array]:
    """Return the loss of Eq. (16), summed over rows with a weight, and how many each class has."""
    chosen = weights > 0
    loss = pseudo_label_loss(embedding, codes)[chosen]
    return float(loss.sum(dtype=float)), np.bincount(codes[chosen], minlength=embedding.shape[1])
