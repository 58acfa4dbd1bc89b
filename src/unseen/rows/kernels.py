"""What a pass does with one block of rows in memory.

A kernel takes aligned blocks (None where an array was None) and then what is the same for all blocks. A
kernel of :func:`~unseen.rows.passes.summed` returns a tuple of sums, one of
:func:`~unseen.rows.passes.mapped` one value for each row. All of them can be sent to a worker.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import log_softmax as scipy_log_softmax
from scipy.special import logsumexp
from scipy.special import softmax as scipy_softmax

from unseen.typing import Array, Codes, Mask

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


def hits(
    best: Codes, codes: Codes, weights: Array | None, code_of: Array, classes: int
) -> tuple[Array, Array]:
    """Return the weight of the rows of each class that are right, and of all of them.

    ``best`` is the column of the best candidate, ``code_of`` the class of each column; a row with a
    negative code has no label.
    """
    labelled = codes >= 0
    true = codes[labelled]
    weight = np.ones(len(true)) if weights is None else weights[labelled]
    right = weight * (code_of[best[labelled]] == true)
    return np.bincount(true, right, classes), np.bincount(true, weight, classes)


def magnitudes(X: Array) -> tuple[Array, Array]:
    """Return the sum of the absolute values of the negative entries, and of all entries."""
    total = np.abs(X).sum(dtype=float)
    return (total - X.sum(dtype=float)) / 2, total


def at(codes: Codes, table: Array) -> Array:
    """Return the entry of a table for each code."""
    return np.asarray(table[codes])


def place_among(codes: Codes, classes: Codes) -> Array:
    """Return the place of each code among sorted classes."""
    return np.asarray(np.searchsorted(classes, codes))


def first_time(first_round: Array, chosen: Array, number: int) -> Array:
    """Return the round that first chose each row, now that round ``number`` chose some."""
    return np.where((first_round == 0) & (chosen > 0), number, first_round)


def zero_as_never(first_round: Array) -> Array:
    """Return rounds with -1 in the place of 0."""
    return np.where(first_round > 0, first_round, -1)


def differences(codes: Codes, others: Codes) -> tuple[int]:
    """Return in how many rows two labels differ."""
    return (int((codes != others).sum()),)


def weights_of_class(codes: Codes, chosen: Array, weight: Array) -> Array:
    """Return the weight of the class of each chosen row, zero for the others."""
    return np.where(chosen, weight[codes], 0.0)


def affine(X: Array, weights: Array, constant: Array) -> Array:
    """Return XW + c."""
    return np.asarray(X @ weights + constant)


def best_column(scores: Array) -> Array:
    """Return the column of the largest score of each row."""
    return np.asarray(scores.argmax(axis=1))


def best_class(scores: Array, classes: Array) -> Array:
    """Return the class with the largest score of each row."""
    return np.asarray(classes[scores.argmax(axis=1)])


def decision(scores: Array) -> Array:
    """Return the scores; of two classes, as scikit-learn has it, their difference."""
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def softmax(scores: Array, temperature: float, doubt: float = 0.0) -> Array:
    """Return (1 − doubt)·softmax(scores / temperature) + doubt / L."""
    P = scipy_softmax(scores / temperature, axis=1)
    return np.asarray((1 - doubt) * P + doubt / scores.shape[1] if doubt else P)


def log_softmax(scores: Array, temperature: float) -> Array:
    """Return the logarithm of softmax(scores / temperature)."""
    return np.asarray(scipy_log_softmax(scores / temperature, axis=1))


def deviations(scores: Array) -> tuple[float]:
    """Return the sum of the standard deviations of the rows' scores."""
    return (float(scores.std(axis=1, dtype=float).sum()),)


def own_score(scores: Array, codes: Codes) -> Array:
    """Return the score of the class of each row."""
    return np.take_along_axis(scores, codes[:, None], axis=1).ravel()


def margin(scores: Array) -> Array:
    """Return how far the best score is above the second best."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


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
    return (np.asarray(logsumexp(scores + biases, axis=1).sum()),)


def label_changes(before: Array, labels: Array, trusted: float) -> tuple[Array, ...]:
    """Return rows of probability ``trusted`` or more, class masses, changed labels, moved mass."""
    changed = (before.argmax(axis=1) != labels.argmax(axis=1)).sum()
    sure = (labels.max(axis=1) >= trusted).sum()
    return sure, labels.sum(axis=0, dtype=float), changed, np.abs(labels - before).sum(dtype=float) / 2


def any_above(labels: Array, least: float) -> Mask:
    """Tell for each row whether one of its probabilities reaches a limit."""
    return np.asarray(labels.max(axis=1) >= least)


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
    moved = log_p + biases
    moved -= moved.max(axis=1, keepdims=True)
    moved -= np.log(np.exp(moved).sum(axis=1, keepdims=True))
    return np.asarray(moved)


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
