"""Cholesky factors, their inverses, and the eigenvectors that two matrices share.

NumPy and SciPy each bring a BLAS with threads of its own, and waiting threads keep a core busy: a loop
that alternates between them takes twice as long. Small systems, which are solved often, use NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from unseen.typing import Array

Solve = Callable[[Array], Array]

MOST_NUMPY_COLUMNS = 512
"""Columns up to which NumPy's own routines are as quick as SciPy's."""


def joint_eigenvectors(A: Array, B: Array) -> tuple[Array, Array]:
    """Return d and T with TᵀBT = I and TᵀAT = diag(d), for symmetric A and positive definite B."""
    inverse = np.linalg.inv(np.linalg.cholesky(B))
    inner = inverse @ A @ inverse.T
    d, U = np.linalg.eigh((inner + inner.T) / 2)
    return d, inverse.T @ U


def lower_factor(G: Array) -> Array:
    """Return L with LLᵀ = G, lower triangular; a large G is overwritten."""
    if len(G) <= MOST_NUMPY_COLUMNS:
        return np.linalg.cholesky(G)
    return np.asarray(linalg.cholesky(G, lower=True, check_finite=False, overwrite_a=True))


def lower_inverse(L: Array) -> Array:
    """Return L⁻¹ of a lower triangular matrix."""
    if len(L) <= MOST_NUMPY_COLUMNS:
        return np.linalg.inv(L)
    eye = np.eye(len(L), dtype=L.dtype, order="F")  # LAPACK's order, so that it can be overwritten
    solved = linalg.solve_triangular(L, eye, lower=True, check_finite=False, overwrite_b=True)
    return np.asarray(solved)


def lower_solver(L: Array) -> Solve:
    """Return the map R → L⁻¹R of a lower triangular matrix."""
    if len(L) <= MOST_NUMPY_COLUMNS:
        inverse = lower_inverse(L)
        return lambda R: inverse @ R
    return lambda R: np.asarray(linalg.solve_triangular(L, R, lower=True, check_finite=False))
