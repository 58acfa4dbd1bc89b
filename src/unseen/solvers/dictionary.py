"""Dictionaries: rows as sparse combinations of atoms, and atoms that fit rows."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from unseen.rows.passes import blocks
from unseen.typing import Array

BLOCK_ROWS_OF_CODES = 512
"""Rows of a block: the lasso makes several copies of it in double precision."""


def sparse_codes(
    X: Array,
    atoms: Array,
    penalty: float,
    prior: Array | None = None,
    tie: float = 0.0,
    positive: bool = False,
) -> Array:
    """Write rows in atoms: min over y of ½‖x − yᵀD‖² + τ/2 ‖y − prior‖² + λ‖y‖₁.

    The tie is more rows of the same lasso, which scikit-learn solves by coordinate descent, a block of
    rows at a time. With few atoms of many columns the problem is first written in the atoms' own span.

    Parameters
    ----------
    X : array of shape (N, p)
    atoms : array of shape (q, p)
        D.
    penalty : float
        λ.
    prior : array of shape (N, q), optional
    tie : float
        τ.
    positive : bool
        Codes >= 0.
    """
    D, basis = atoms.astype(float), None
    if D.shape[0] < D.shape[1]:
        basis, triangle = linalg.qr(D.T, mode="economic")
        D, basis = triangle.T, basis.astype(X.dtype)
    tied = prior is not None and tie > 0
    if tied:
        D = np.concatenate([D, np.sqrt(tie) * np.eye(len(D))], axis=1)
    codes = np.empty((len(X), len(D)))
    for part in blocks(len(X), BLOCK_ROWS_OF_CODES):
        rows = np.asarray(X[part] if basis is None else X[part] @ basis, dtype=float)
        if prior is not None and tied:
            rows = np.concatenate([rows, np.sqrt(tie) * prior[part]], axis=1)
        codes[part] = _lasso(rows, D, penalty, positive)
    return codes


def _lasso(rows: Array, D: Array, penalty: float, positive: bool) -> Array:
    from sklearn.decomposition import sparse_encode  # loads slowly, and only dictionaries need it

    if penalty <= 0 and not positive:
        return np.asarray(linalg.lstsq(D.T, rows.T)[0].T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(
            sparse_encode(
                *(rows, D),
                algorithm="lasso_cd",
                alpha=max(penalty, 1e-12),
                max_iter=200,
                positive=positive,
            )
        )


def tied_dictionary(X: Array, codes: Array, anchor: Array, tie: float) -> Array:
    """Return the atoms nearest to others that fit rows: min over D of ‖X − YD‖² + τ‖D − D₀‖².

    Parameters
    ----------
    X, codes : arrays of shape (N, p) and (N, q)
    anchor : array of shape (q, p)
        D₀.
    tie : float
        τ > 0.
    """
    G = codes.T @ codes
    G[np.diag_indices_from(G)] += tie
    return np.asarray(linalg.solve(G, codes.T @ X + tie * anchor, assume_a="pos"))
