"""Codes on the simplex: a vector as a mixture of atoms.

No solver of SciPy or scikit-learn has the constraint Σz = 1, z ≥ 0 for many rows at once; this is the
accelerated projected gradient, with the projection by sorting. Rows do not influence each other: the
number of steps is fixed, so that a row's code does not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np

from unseen.typing import Array


def project_to_simplex(rows: Array) -> Array:
    """Return the nearest point of the simplex {z ≥ 0, Σz = 1} for each row.

    >>> project_to_simplex(np.array([[0.5, 0.5], [2.0, 0.0], [0.0, -1.0]]))
    array([[0.5, 0.5],
           [1. , 0. ],
           [1. , 0. ]])
    """
    falling = -np.sort(-rows, axis=1)
    excess = np.cumsum(falling, axis=1) - 1
    place = np.arange(1, rows.shape[1] + 1, dtype=rows.dtype)
    support = (falling * place > excess).sum(axis=1)
    shift = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    return np.asarray(np.maximum(rows - shift.astype(rows.dtype), 0))


def simplex_codes(
    rows: Array, atoms: Array, ridge: float, steps: int = 200, linear: Array | None = None
) -> Array:
    """Write rows as mixtures: min over z in the simplex of ½‖x − zᵀD‖² + γ/2 ‖z‖² − ⟨linear, z⟩.

    Parameters
    ----------
    rows : array of shape (N, p)
    atoms : array of shape (K, p)
        D.
    ridge : float
        γ, in units of the mean squared length of the atoms about their mean.
    steps : int
    linear : array of shape (N, K), optional
        A reward for each atom, in the same units as γ.

    Returns
    -------
    codes : array of shape (N, K), in the dtype of ``rows``
    """
    # The code sums to one, so that a common shift of rows and atoms changes nothing: centre them.
    centre = atoms.mean(axis=0)
    D = (atoms - centre).astype(float)
    G = D @ D.T
    unit = max(float(np.trace(G)) / len(G), np.finfo(float).tiny)
    G[np.diag_indices_from(G)] += ridge * unit
    lipschitz = float(np.linalg.eigvalsh(G)[-1])
    pull = (rows - centre.astype(rows.dtype)) @ D.T.astype(rows.dtype)
    if linear is not None:
        pull = pull + (unit * linear).astype(rows.dtype)
    G, pull = (G / lipschitz).astype(rows.dtype), pull / rows.dtype.type(lipschitz)
    codes = np.full(pull.shape, 1 / len(atoms), dtype=rows.dtype)
    ahead, momentum = codes, 1.0
    for _ in range(steps):
        moved = project_to_simplex(ahead - ahead @ G + pull)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + rows.dtype.type((momentum - 1) / grown) * (moved - codes)
        codes, momentum = moved, grown
    return codes
