"""Preconditioned conjugate gradients for systems that differ by a shift, all columns in one block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from unseen.rows.passes import blocks
from unseen.solvers.moments import rough_solver
from unseen.typing import Array, Solve

PRODUCT_ROWS = 512
"""Rows of a matrix in single precision that are converted to double at a time."""


def shifted_solver(G: Array, G2: Array, d: Array, tol: float, max_iter: int) -> Solve:
    """Return the map R → Z with (G + dⱼ G₂) zⱼ = rⱼ for every column j."""
    groups = _preconditioners(G, G2, d)

    def operator(v: Array) -> Array:
        image = _product(G2, v)
        image *= d
        image += _product(G, v)
        return image

    return lambda R: _block_cg(operator, lambda r: _apply(groups, r), R, tol, max_iter)


def _product(G: Array, v: Array) -> Array:
    """Return Gv in the precision of v, without a copy of the whole of G in it."""
    if G.dtype == v.dtype:
        return np.asarray(G @ v)
    out = np.empty_like(v)
    for rows in blocks(len(G), PRODUCT_ROWS):
        np.matmul(G[rows].astype(v.dtype), v, out=out[rows])
    return out


def _preconditioners(
    G: Array, G2: Array, d: Array, spread: float = 4.0
) -> list[tuple[npt.NDArray[np.intp], Solve]]:
    """Factor G + d G₂ once for each group of columns whose d are within ``spread``."""
    # Columns whose d·G₂ is small against G share one factor.
    relative = d * (np.trace(G2) / np.trace(G))
    bins = np.floor(np.log(np.maximum(relative, 0.05)) / np.log(spread)).astype(int)
    groups = []
    for bin_ in np.unique(bins):
        columns = np.flatnonzero(bins == bin_)
        middle = float(np.exp(np.log(np.maximum(d[columns], 1e-12)).mean()))
        near = middle * G2
        near += G
        groups.append((columns, rough_solver(near)))
    return groups


def _apply(groups: list[tuple[npt.NDArray[np.intp], Solve]], residual: Array) -> Array:
    out = np.empty_like(residual)
    for columns, solve in groups:
        out[:, columns] = solve(residual[:, columns])
    return out


def _block_cg(operator: Solve, precondition: Solve, right: Array, tol: float, max_iter: int) -> Array:
    """Preconditioned conjugate gradients on all columns at once, each with its own step."""
    x = precondition(right)
    residual = right - operator(x)
    target = tol * np.linalg.norm(right, axis=0)
    z = precondition(residual)
    direction = z
    rho = np.einsum("ij,ij->j", residual, z)
    for _ in range(max_iter):
        if (np.linalg.norm(residual, axis=0) <= target).all():
            break
        image = operator(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        share = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        x += share * direction
        residual -= share * image
        z = precondition(residual)
        before, rho = rho, np.einsum("ij,ij->j", residual, z)
        direction = z + np.divide(rho, before, out=np.zeros_like(rho), where=before > 0) * direction
    return x
