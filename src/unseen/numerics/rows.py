"""Passes over rows: class sums, Gram matrices and predictions, one block of rows at a time.

Nothing here makes a copy of X or an array of N × p: memory is bounded by a block and by p × p or
p × K sums. Sums are kept in float64; the products that make them run in the dtype of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.intp]

BLOCK = 4096


def blocks(rows: int, size: int = BLOCK) -> Iterator[slice]:
    """Cut ``range(rows)`` into slices of at most ``size``."""
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def class_sums(X: Array, codes: Codes, classes: int, weights: Array | None = None) -> Array:
    """Return the sum of the rows of each class, XᵀY: an array of shape (p, classes)."""
    total = np.zeros((classes, X.shape[1]))
    for rows in blocks(len(X)):
        total += _indicator(codes[rows], classes, weights, rows, X.dtype) @ X[rows]
    return total.T


def class_weights(codes: Codes, classes: int, weights: Array | None = None) -> Array:
    """Return how many rows, or how much weight, each class has."""
    return np.bincount(codes, weights=weights, minlength=classes).astype(float)


def gram(X: Array, weights: Array | None = None, dtype: Any = np.float64) -> Array:
    """Return XᵀX, or Xᵀdiag(weights)X: an array of shape (p, p), summed in ``dtype``."""
    if weights is None and X.flags.c_contiguous and X.dtype == dtype:
        return np.asarray(X.T @ X)
    total = np.zeros((X.shape[1], X.shape[1]), dtype)
    for rows in blocks(len(X), 4 * BLOCK):
        block = X[rows]
        scaled = block if weights is None else block * weights[rows, None].astype(X.dtype)
        total += scaled.T @ block
    return total


def predicted_sums(X: Array, W: Array, weights: Array | None = None) -> tuple[Array, float, Codes]:
    """Score every row, and sum the rows by the class that scores highest.

    Parameters
    ----------
    X : array of shape (N, p)
    W : array of shape (p, K)
        One column of weights a class.
    weights : array of shape (N,), optional

    Returns
    -------
    sums : array of shape (p, K)
        Σₙ wₙ xₙ f(xₙ)ᵀ, with f(xₙ) the one-hot prediction.
    best : float
        Σₙ wₙ maxₖ (XW)ₙₖ.
    codes : array of shape (N,)
        The predictions.
    """
    W = W.astype(X.dtype, copy=False)
    sums = np.zeros((W.shape[1], X.shape[1]))
    codes = np.empty(len(X), dtype=np.intp)
    best = 0.0
    for rows in blocks(len(X)):
        scores = X[rows] @ W
        codes[rows] = scores.argmax(axis=1)
        top = np.take_along_axis(scores, codes[rows, None], axis=1).ravel()
        best += float(top.sum(dtype=float) if weights is None else top @ weights[rows])
        sums += _indicator(codes[rows], W.shape[1], weights, rows, X.dtype) @ X[rows]
    return sums.T, best, codes


def class_patterns(
    X: Array, codes: Codes, classes: int, weights: Array | None = None
) -> tuple[Array, Codes]:
    """Return the visual pattern (mean row) of every class that has rows, and those classes."""
    counts = class_weights(codes, classes, weights)
    present = np.flatnonzero(counts > 0)
    sums = class_sums(X, codes, classes, weights)[:, present]
    patterns: Array = np.ascontiguousarray((sums / counts[present]).T, dtype=X.dtype)
    return patterns, present


def within_class_scatter(second_moments: Array, sums: Array, counts: Array) -> Array:
    """Return Σₖ Σₙ∈ₖ (xₙ − mₖ)(xₙ − mₖ)ᵀ from XᵀX, the class sums (p, K) and the class sizes."""
    present = counts > 0
    scaled = sums[:, present] / np.sqrt(counts[present])
    scatter: Array = second_moments - scaled @ scaled.T
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
    values, vectors = linalg.eigh((products + products.T) / 2)
    kept = values > len(values) * digits * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return vectors * roots, solved @ (vectors / roots)


def _indicator(
    codes: Codes, classes: int, weights: Array | None, rows: slice, dtype: Any
) -> sparse.csr_matrix:
    values = np.ones(len(codes)) if weights is None else weights[rows]
    place = (codes, np.arange(len(codes)))
    return sparse.csr_matrix((values.astype(dtype), place), shape=(classes, len(codes)))
