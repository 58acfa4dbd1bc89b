"""Quasi-Newton descent on several arrays at once, by SciPy's L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize

from unseen.typing import Array

Objective = Callable[[list[Array]], tuple[float, list[Array]]]


def minimise(objective: Objective, start: Sequence[Array], iterations: int) -> tuple[list[Array], int]:
    """Take at most ``iterations`` steps; the objective never rises above that of the start.

    Parameters
    ----------
    objective : callable
        arrays → (value, gradients of the same shapes).
    start : sequence of arrays

    Returns
    -------
    arrays : list of arrays in float64
    iterations : int
        Steps that were taken.

    Examples
    --------
    >>> found, _ = minimise(lambda p: (float(p[0] @ p[0]), [2 * p[0]]), [np.array([3.0, 4.0])], 20)
    >>> bool(np.allclose(found[0], 0))
    True
    """
    shapes = [np.shape(part) for part in start]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def unpack(flat: Array) -> list[Array]:
        parts = np.split(flat, ends)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def pack(parts: Sequence[Array]) -> Array:
        return np.concatenate([np.ravel(part).astype(float) for part in parts])

    def flat_objective(flat: Array) -> tuple[float, Array]:
        value, gradients = objective(unpack(flat))
        return float(value), pack(gradients)

    minimum = optimize.minimize(
        flat_objective,
        pack(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": int(iterations), "maxfun": 3 * int(iterations) + 1},
    )
    return unpack(minimum.x), int(minimum.nit)
