"""One subspace for all systems of a fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy.typing as npt

from unseen.solvers.images import Halves, Operator
from unseen.solvers.krylov import SlowConvergence, Subspace, System
from unseen.typing import Array, Solve

MOST = 6
"""A basis of more than one direction for MOST columns costs more than a factorisation."""

LABELLED, POOL, METRIC = 0, 1, 2
"""The places of operators in a :class:`SharedSubspace`."""


class SharedSubspace:
    """One subspace for all systems of a fit: labelled rows, then a pool, then a metric.

    Parameters
    ----------
    labelled : callable
        The product with the second moments of the labelled rows.
    width : int
        Columns of the features.
    dtype : dtype
    tol : float
        Of its solutions.
    """

    def __init__(self, labelled: Operator, width: int, dtype: npt.DTypeLike, tol: float) -> None:
        self._space = Subspace([labelled, None, None], width, width // MOST, dtype)
        self._tol = tol
        self._pool: Array | None = None

    def with_metric(self, spread: Solve) -> None:
        """Measure weights by a metric over the same rows from now on; its part is the map B → FFᵀB."""
        self._space.replace(METRIC, spread)

    def with_pool(self, operator: Operator, rows: Array | None, near: Array) -> None:
        """Set the operator of the pool, and a solution, (p, k), near which the next ones are sought.

        Where its rows are those of the last pool with other weights, their products with the basis are
        used again.
        """
        renewed = isinstance(operator, Halves) and rows is not None and rows is self._pool
        if not renewed:
            self.without_pool()
        self._space.restart(near)
        if isinstance(operator, Halves) and renewed:
            self._space.renew(POOL, operator)
        else:
            self._space.replace(POOL, operator)
        self._pool = rows

    def without_pool(self) -> None:
        """Forget the rows of the pool."""
        self._space.replace(POOL, None)
        self._pool = None

    def system(self, system: System, tol: float | None = None) -> Solve:
        """Return the map R → Z of :meth:`Subspace.solve`, to another tolerance if one is given.

        A correction that is small against the largest solution need not be known to its last digit.
        """
        largest = 0.0

        def solve(R: Array) -> Array:
            nonlocal largest
            Z, length = self._space.solve(R, system, tol or self._tol, largest)
            largest = max(largest, length)
            return Z.astype(float)

        return solve


def first_of(quick: Solve, make_safe: Callable[[], Solve]) -> Solve:
    """Return ``quick`` until it converges too slowly, and from then on the safe solver."""
    safe: list[Solve] = []

    def solve(R: Array) -> Array:
        if not safe:
            try:
                return quick(R)
            except SlowConvergence:
                safe.append(make_safe())
        return safe[0](R)

    return solve
