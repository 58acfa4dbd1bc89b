"""Large positive definite systems with few right-hand sides, solved in a small growing subspace.

    (κ₁M₁ + κ₂M₂ + … + κ₀I) Z = R

Q, an orthonormal basis that begins with the right-hand sides and grows by residuals, is kept with its
images MᵢQ. In that span the system is small and solved exactly (Galerkin); the residual of the whole
one is then a product of kept arrays. Every next system profits: another right-hand side, other
coefficients κ, another shift of a regularisation path. A system costs a few products MᵢB, never p × p.

The error is certified. With all Mᵢ positive semi-definite, ‖z − z*‖ in the norm of the system is at
most ‖residual‖/√κ₀, and that bounds the error of the scores of the rows behind Mᵢ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.solvers.cholesky import joint_eigenvectors
from unseen.typing import Array

Map = Callable[[Array], Array]

TOLERANCE = 1e-4
"""Relative error at which a solution is taken, in the norm of its system."""

NEGLIGIBLE = 1e-3
"""A part of the residuals that is this small a share of all does not widen the basis."""

LEFT = 0.2
"""Nor does what, left alone, would keep the error below this share of what is asked."""

GROUP = 8
"""Columns of a block come in groups: a product with 50 columns takes longer than one with 48."""

OVERLAP = 0.1
"""A block with less of the basis in it is orthogonal to rounding once that is taken away."""

LIES = 1e-3
"""What is farther from the basis than this share of its length does not lie in it."""


@dataclass(frozen=True)
class Halves:
    """An operator in two steps: what the first makes of the basis serves again with another second."""

    first: Map
    second: Map


Operator = Map | Halves


class SlowConvergence(Exception):
    """The basis would grow too large: the system is better solved directly."""


@dataclass(frozen=True)
class System:
    """The coefficients κ of the operators, then κ₀ of the identity: base + dⱼ·slope for column j."""

    base: Array
    slope: Array | None = None
    shifts: Array | float = 0.0
    """d, one for every column."""

    def coefficients(self, columns: int) -> Array:
        """Return κ for every column, of shape (operators + 1, columns)."""
        kappa = np.repeat(self.base[:, None], columns, axis=1)
        return kappa if self.slope is None else kappa + self.slope[:, None] * self.shifts


class Subspace:
    """An orthonormal basis Q of a growing subspace, and its images under some operators.

    Parameters
    ----------
    operators : sequence of callables, halves or None
        Each takes an array of shape (p, b) to M times it; M is symmetric and positive semi-definite.
        None stands for zero, until it is replaced.
    width : int
        p, the columns of the operators.
    most : int
        Columns of the basis at most.
    dtype : dtype
        In which products are taken; the small systems are solved in double precision.
    """

    def __init__(self, operators: Sequence[Operator | None], width: int, most: int, dtype: Any) -> None:
        self._most, self._dtype = most, np.dtype(dtype)
        self._basis = _Columns(width, dtype)
        self._kept = [self._images_of(operator) for operator in operators]

    @property
    def rank(self) -> int:
        """Columns of the basis."""
        return self._basis.count

    def replace(self, place: int, operator: Operator | None) -> None:
        """Put another operator, or none, in place of one; the basis begins anew."""
        self._kept[place] = self._images_of(operator)
        self.restart()

    def renew(self, place: int, operator: Halves, near: Array) -> None:
        """Put in place of halves others with the same first; begin with what is near, as in restart.

        Where that lies in the basis, which solutions do, its images are known, and the first half too.
        """
        near = near.astype(self._dtype)
        Q, kept = self._basis.taken, self._kept[place]
        U = Q.T @ near
        if kept is None or np.linalg.norm(near - Q @ U) > LIES * np.linalg.norm(near):
            self.replace(place, operator)
            return self.restart(near)
        U = _orthonormal(_orthonormal(U))
        self._basis.turn(U)
        for images in self._kept:
            if images is not None:
                images.turn(U)
        kept.renew(operator, self._basis.taken)

    def restart(self, near: Array | None = None) -> None:
        """Begin the basis anew, with the span of what should be near the next solutions, (p, k)."""
        self._basis.count = 0
        for kept in self._kept:
            if kept is not None:
                kept.forget()
        if near is not None:
            self._widen(_orthonormal(near.astype(self._dtype)))

    def solve(
        self, R: Array, system: System, tol: float = TOLERANCE, least: float = 0.0
    ) -> tuple[Array, float]:
        """Solve a system for every column of R.

        Parameters
        ----------
        R : array of shape (p, k)
        system : System
        tol : float
            Error at most, in the norm of the system, relative to the solution.
        least : float
            A solution shorter than this, in that norm, is as exact as one of this length.

        Returns
        -------
        Z : array of shape (p, k)
        length : float
            Of Z in the norm of the system.

        Raises
        ------
        SlowConvergence
            When the basis would need more than ``most`` columns, or the system is nearly singular.
        """
        kappa = system.coefficients(R.shape[1])
        R = R.astype(self._dtype, copy=False)
        if not R.any():
            return np.zeros_like(R), 0.0
        if not (kappa[-1] > 0).all():
            raise SlowConvergence
        if not self.rank:
            self._widen(_orthonormal(R))
        errors: list[float] = []
        while True:
            Z, residual = self._galerkin(R, system, kappa)
            energy = float(np.sqrt(max(float(np.einsum("ij,ij->", R, Z)), 0.0)))
            lengths = np.linalg.norm(residual, axis=0) / np.sqrt(kappa[-1])
            errors.append(float(np.linalg.norm(lengths)) / max(energy, least, np.finfo(float).tiny))
            if errors[-1] <= tol:
                return Z, energy
            residual /= np.sqrt(kappa[-1]).astype(residual.dtype)
            block = _leading(residual, max(NEGLIGIBLE, LEFT * tol / errors[-1]))
            if self.rank + _blocks_to_go(errors, tol) * block.shape[1] > self._most:
                raise SlowConvergence
            self._widen(block)

    def _images_of(self, operator: Operator | None) -> _Images | None:
        return None if operator is None else _Images(operator, len(self._basis.values), self._dtype)

    def _galerkin(self, R: Array, system: System, kappa: Array) -> tuple[Array, Array]:
        """Return the solution in the span of the basis, and its residual."""
        Q = self._basis.taken
        U = self._inner(system, (Q.T @ R).astype(float))
        Z = Q @ U.astype(Q.dtype)
        residual = R - Z * kappa[-1].astype(Q.dtype)
        for k, kept in zip(kappa[:-1], self._kept, strict=True):
            if kept is not None:
                residual -= kept.columns.taken @ (U * k).astype(Q.dtype)
        return Z, residual

    def _inner(self, system: System, right: Array) -> Array:
        """Solve in coordinates of the basis."""
        first = self._form(system.base)
        try:
            if system.slope is None:
                np.linalg.cholesky(first)  # or it is not positive definite
                return np.linalg.solve(first, right)
            values, P = joint_eigenvectors(self._form(system.slope), first)
        except np.linalg.LinAlgError:
            raise SlowConvergence from None
        scale = 1.0 + np.maximum(values, 0.0)[:, None] * system.shifts
        return np.asarray(P @ ((P.T @ right) / scale))

    def _form(self, kappa: Array) -> Array:
        total: Array = kappa[-1] * np.eye(self.rank)
        for k, kept in zip(kappa[:-1], self._kept, strict=True):
            if kept is not None:
                total += k * kept.form
        return total

    def _widen(self, B: Array) -> None:
        """Add the span of B, nearly orthonormal, to the basis, and take its images."""
        Q = self._basis.taken
        for _ in range(2):  # twice is enough for orthogonality to rounding
            inside = Q.T @ B
            B = _orthonormal(B - Q @ inside)
            if np.abs(inside).max(initial=0.0) < OVERLAP:
                break
        self._basis.append(B)
        for kept in self._kept:
            if kept is not None:
                kept.widen(B, self._basis.taken)


class _Columns:
    """Columns of an array that grows without being copied each time."""

    def __init__(self, width: int, dtype: Any) -> None:
        self.values: Array = np.empty((width, 0), dtype=dtype, order="F")
        self.count = 0

    @property
    def taken(self) -> Array:
        return self.values[:, : self.count]

    def append(self, B: Array) -> None:
        count = self.count + B.shape[1]
        if count > self.values.shape[1]:
            grown = np.empty((len(B), max(count, 3 * self.count // 2)), self.values.dtype, order="F")
            grown[:, : self.count] = self.taken
            self.values = grown
        self.values[:, self.count : count] = B
        self.count = count

    def turn(self, U: Array) -> None:
        """Take combinations of the columns, no more than there are, in their place."""
        turned = self.taken @ U
        self.count = U.shape[1]
        self.values[:, : self.count] = turned


class _Images:
    """What an operator M makes of a basis Q: MQ, and QᵀMQ in double precision."""

    def __init__(self, operator: Operator, width: int, dtype: Any) -> None:
        self._operator = operator
        self._half: _Columns | None = None
        self.columns = _Columns(width, dtype)
        self.form: Array = np.empty((0, 0))

    def forget(self) -> None:
        self._half = None
        self.columns.count = 0
        self.form = np.empty((0, 0))

    def turn(self, U: Array) -> None:
        """Follow the basis when it is turned."""
        for columns in (self.columns, self._half):
            if columns is not None:
                columns.turn(U)
        self.form = U.T.astype(float) @ self.form @ U

    def renew(self, operator: Halves, Q: Array) -> None:
        """Take another second half."""
        self._operator = operator
        half = self._half
        self.forget()
        if half is None:
            self.widen(Q, Q)
        else:
            self._half = half
            self._add(operator.second(half.taken), Q)

    def widen(self, B: Array, Q: Array) -> None:
        """Take the image of B, the last columns of Q."""
        if not isinstance(self._operator, Halves):
            return self._add(self._operator(B), Q)
        half = self._operator.first(B)
        if self._half is None:
            self._half = _Columns(len(half), half.dtype)
        self._half.append(half)
        self._add(self._operator.second(half), Q)

    def _add(self, image: Array, Q: Array) -> None:
        self.columns.append(image)
        old, rank = len(self.form), Q.shape[1]
        new = (Q.T @ image).astype(float)
        form = np.empty((rank, rank))
        form[:old, :old] = self.form
        form[:, old:] = new
        form[old:, :old] = new[:old].T
        form[old:, old:] = (new[old:] + new[old:].T) / 2
        self.form = form


def _orthonormal(B: Array) -> Array:
    """Return an orthonormal basis of the span of B, without directions that are rounding alone."""
    B = B / np.maximum(np.linalg.norm(B, axis=0), np.finfo(B.dtype).tiny)
    values, vectors = np.linalg.eigh((B.T @ B).astype(float))
    kept = values > 10 * np.finfo(B.dtype).eps * values[-1]
    return np.asarray(B @ (vectors[:, kept] / np.sqrt(values[kept])).astype(B.dtype))


def _leading(B: Array, left: float) -> Array:
    """Return the principal directions of B, without the weakest that together are a share ``left``."""
    values, vectors = np.linalg.eigh((B.T @ B).astype(float))
    lengths = np.sqrt(np.cumsum(np.maximum(values, 0.0)))
    count = int((lengths > left * lengths[-1]).sum())
    if count > GROUP:
        count -= count % GROUP
    directions = vectors[:, -count:] / np.sqrt(values[-count:])
    return np.asarray(B @ directions.astype(B.dtype))


def _blocks_to_go(errors: list[float], tol: float) -> float:
    """Return how many more blocks will be needed, as far as the last steps tell."""
    if len(errors) < 3:
        return 1.0
    rate = min(float(np.sqrt(errors[-1] / errors[-3])), 0.99)
    return float(np.log(tol / errors[-1]) / np.log(rate))
