"""Passes over rows: class sums, Gram matrices and predictions, one block of rows at a time.

Nothing here makes a copy of X or an array of N × p: memory is bounded by a block and by p × p or
p × K sums. Sums are kept in float64; the products that make them run in the dtype of X. Rows may be
in memory or :class:`~unseen.rows.chunks.Chunks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from unseen.rows.chunks import BLOCK, Chunks, blocks, summed
from unseen.typing import Array, Codes

__all__ = [
    "Array",
    "Codes",
    "between_factor",
    "block_sums",
    "blocks",
    "class_patterns",
    "class_sums",
    "class_totals",
    "class_weights",
    "error_sums",
    "gram",
    "labelled_sums",
    "row_space",
    "within_class_scatter",
]


NARROW = 512
"""Columns up to which class sums are added in double: of single numbers they are then exact, and class
means the same however the rows are cut. Of wide rows, a copy in double would cost more than all else
that fast training does."""


def class_sums(X: Any, codes: Any, classes: int, weights: Any = None) -> Array:
    """Return the sum of the rows of each class, XᵀY: an array of shape (p, classes)."""
    (total,) = summed(_class_sums, X, codes, weights, given=(classes,))
    return total.T


def class_weights(codes: Any, classes: int, weights: Any = None) -> Array:
    """Return how many rows, or how much weight, each class has."""
    if isinstance(codes, Chunks):
        return summed(_class_weights, codes, weights, given=(classes,))[0]
    return np.bincount(codes, weights=weights, minlength=classes).astype(float)


def gram(X: Any, weights: Any = None, dtype: Any = np.float64) -> Array:
    """Return XᵀX, or Xᵀdiag(weights)X: an array of shape (p, p), summed in ``dtype``.

    Of chunks it is summed in float64.
    """
    if isinstance(X, Chunks):
        return summed(_gram, X, weights, size=4 * BLOCK)[0]
    if weights is None and X.flags.c_contiguous and X.dtype == dtype:
        return np.asarray(X.T @ X)
    total = np.zeros((X.shape[1], X.shape[1]), dtype)
    for rows in blocks(len(X), 4 * BLOCK):
        total += _gram(X[rows], None if weights is None else weights[rows])[0]
    return total


def labelled_sums(X: Any, codes: Any, classes: int, weights: Any = None) -> tuple[Array, Array, Array]:
    """Return XᵀX, the class sums and the class weights of chunks, in one pass."""
    moments, sums, counts = summed(block_sums, X, codes, weights, given=(classes,), size=4 * BLOCK)
    return moments, sums.T, counts


def error_sums(X: Any, codes: Any, W: Array, weights: Any = None) -> Array:
    """Score every row, and sum the rows that are wrong by where they went and where they belong.

    Parameters
    ----------
    X : array or chunks of shape (N, p)
    codes : array or chunks of shape (N,)
        The class y of every row.
    W : array of shape (p, K)
        One column of weights a class.
    weights : array or chunks of shape (N,), optional

    Returns
    -------
    array of shape (p, K)
        Σₙ wₙ xₙ (f(xₙ) − yₙ)ᵀ, with f(xₙ) the one-hot prediction: rows that are right cost nothing.
    """
    (sums,) = summed(_error_sums, X, codes, weights, given=(W.astype(X.dtype, copy=False),))
    return sums.T


def class_totals(X: Any, codes: Any, classes: int, weights: Any = None) -> tuple[Array, Array]:
    """Return the class sums and the class weights; of chunks, in one pass."""
    if isinstance(X, Chunks):
        sums, counts = summed(_class_totals, X, codes, weights, given=(classes,))
        return sums.T, counts
    return class_sums(X, codes, classes, weights), class_weights(codes, classes, weights)


def class_patterns(sums: Array, counts: Array, dtype: Any) -> tuple[Array, Codes]:
    """Return the visual pattern (mean row) of every class that has rows, and those classes."""
    present = np.flatnonzero(counts > 0)
    means = sums[:, present] / counts[present]
    patterns: Array = np.ascontiguousarray(means.T, dtype=dtype)
    return patterns, present


def between_factor(sums: Array, counts: Array) -> Array:
    """Return F with FFᵀ = Σₖ nₖ mₖmₖᵀ, what class means give to XᵀX: (p, K), classes with rows only."""
    present = counts > 0
    factor: Array = sums[:, present] / np.sqrt(counts[present])
    return factor


def within_class_scatter(second_moments: Array, sums: Array, counts: Array) -> Array:
    """Return Σₖ Σₙ∈ₖ (xₙ − mₖ)(xₙ − mₖ)ᵀ from XᵀX, the class sums (p, K) and the class sizes."""
    factor = between_factor(sums, counts)
    scatter: Array = second_moments - factor @ factor.T
    return scatter


def row_space(X: Array, solved: Array | None = None) -> tuple[Array, Array]:
    """Write few rows of many columns in coordinates of their own span.

    Parameters
    ----------
    X : array of shape (n, p) with n < p
    solved : array of shape (p, n), optional
        M⁻¹Xᵀ for a positive definite M; lengths of weight vectors are then measured as ‖v‖² = vᵀMv.

    Returns
    -------
    Z : array of shape (n, r) with r ≤ n
        The rows in the new coordinates.
    basis : array of shape (p, r)
        X @ basis = Z, and ‖basis @ u‖² = ‖u‖² in that metric.
    """
    rows = X.astype(float)
    if solved is None and 8 * len(X) > X.shape[1]:
        basis, triangle = linalg.qr(rows.T, mode="economic")
        return triangle.T, basis
    digits = np.finfo(float if solved is None else X.dtype).eps
    solved = rows.T if solved is None else solved
    products = rows @ solved
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    kept = values > len(values) * digits * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return vectors * roots, solved @ (vectors / roots)


# Below: what a pass does with one block.


def _class_sums(X: Array, codes: Codes, weights: Array | None, classes: int) -> tuple[Array]:
    dtype = np.dtype(float) if X.shape[1] <= NARROW else X.dtype
    return (_indicator(codes, classes, weights, dtype) @ X.astype(dtype, copy=False),)


def _class_weights(codes: Codes, weights: Array | None, classes: int) -> tuple[Array]:
    return (np.bincount(codes, weights=weights, minlength=classes),)


def _gram(X: Array, weights: Array | None) -> tuple[Array]:
    if weights is None:
        return (X.T @ X,)
    scaled = X * np.sqrt(weights)[:, None].astype(X.dtype)
    return (scaled.T @ scaled,)  # a matrix by its own transpose takes half the products


def _class_totals(X: Array, codes: Codes, weights: Array | None, classes: int) -> tuple[Array, Array]:
    return *_class_sums(X, codes, weights, classes), *_class_weights(codes, weights, classes)


def block_sums(
    X: Array, codes: Codes, weights: Array | None, classes: int
) -> tuple[Array, Array, Array]:
    """Return XᵀX, the class sums (classes, p) and the class weights of one block of rows."""
    return *_gram(X, weights), *_class_totals(X, codes, weights, classes)


def _error_sums(X: Array, codes: Codes, weights: Array | None, W: Array) -> tuple[Array]:
    scores = X @ W
    wrong = np.flatnonzero(scores[np.arange(len(X)), codes] < scores.max(axis=1))
    if not len(wrong):
        return (np.zeros(W.T.shape, dtype=X.dtype),)
    own, found = None if weights is None else weights[wrong], scores[wrong].argmax(axis=1)
    went, belong = (_indicator(c, W.shape[1], own, X.dtype) for c in (found, codes[wrong]))
    return ((went - belong) @ X[wrong],)


def _indicator(codes: Codes, classes: int, weights: Array | None, dtype: Any) -> sparse.csr_matrix:
    values = np.ones(len(codes)) if weights is None else weights
    place = (codes, np.arange(len(codes)))
    return sparse.csr_matrix((values.astype(dtype), place), shape=(classes, len(codes)))
