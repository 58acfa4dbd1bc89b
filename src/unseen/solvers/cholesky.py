"""Positive definite systems: Cholesky in single precision, refined to double where that pays.

NumPy and SciPy each bring a BLAS with threads of its own, and waiting threads keep a core busy: a loop
that alternates between them takes twice as long. Small systems, which are solved often, use NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from unseen.typing import Array

Solve = Callable[[Array], Array]

LEAST_SINGLE_COLUMNS = 1024
"""Columns from which a factor in single precision is worth its refinement."""

MOST_NUMPY_COLUMNS = 512
"""Columns up to which NumPy's own routines are as quick as SciPy's."""

REFINEMENTS = 8


def rough_solver(G: Array) -> Solve:
    """Return a map near R → G⁻¹R, good as a preconditioner; single precision where G is large."""
    if len(G) < LEAST_SINGLE_COLUMNS:
        return _double(G)
    try:
        factor = linalg.cho_factor(G.astype(np.float32), check_finite=False, overwrite_a=True)
    except linalg.LinAlgError:  # too near to singular for single precision
        return _double(G)
    return lambda R: np.asarray(
        linalg.cho_solve(factor, R.astype(np.float32), check_finite=False).astype(R.dtype)
    )


def solver(G: Array, tol: float = 1e-8) -> Solve:
    """Return the map R → G⁻¹R, of relative residual ``tol``.

    A large G is factored in single precision, which takes half the time, and each solution is refined
    by its residual in double precision; where that does not settle, G is factored again in double.
    """
    if len(G) < LEAST_SINGLE_COLUMNS:
        return _double(G)
    rough = rough_solver(G)
    G = G.astype(float, copy=False)

    def solve(R: Array) -> Array:
        R = R.astype(float, copy=False)
        solution = rough(R)
        wanted = tol * np.linalg.norm(R, axis=0)
        for _ in range(REFINEMENTS):
            residual = R - G @ solution
            if (np.linalg.norm(residual, axis=0) <= wanted).all():
                return solution
            solution += rough(residual)
        return _double(G)(R)

    return solve


def _double(G: Array) -> Solve:
    if len(G) <= MOST_NUMPY_COLUMNS:
        inverse = lower_inverse(lower_factor(G.astype(float, copy=False)))
        return lambda R: np.asarray(inverse.T @ (inverse @ R))
    factor = linalg.cho_factor(G.astype(float), check_finite=False, overwrite_a=True)
    return lambda R: np.asarray(linalg.cho_solve(factor, R, check_finite=False))


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
