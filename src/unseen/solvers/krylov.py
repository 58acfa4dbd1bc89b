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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.solvers.images import Columns, Halves, Images, Operator
from unseen.typing import Array

TOLERANCE = 1e-4
"""Relative error at which a solution is taken, in the norm of its system."""

NEGLIGIBLE_SHARE = 1e-3
"""Principal directions of the residuals that together have at most this share of their length are
dropped: they do not widen the basis."""

DROPPED_ERROR = 0.2
"""Directions are also dropped while the error that they leave is below this share of the tolerance."""

BLOCK_COLUMNS = 8
"""Blocks have a multiple of so many columns: a product with 50 takes longer than one with 48."""

LARGE_OVERLAP = 0.1
"""A block whose overlap with the basis is at least this is orthogonalised twice."""

SPAN_TOLERANCE = 1e-3
"""A vector lies in the span of the basis if its distance from it is at most this share of itself."""


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

    def __init__(
        self, operators: Sequence[Operator | None], width: int, most: int, dtype: npt.DTypeLike
    ) -> None:
        self._most, self._dtype = most, np.dtype(dtype)
        self._basis = Columns(width, dtype)
        self._images = [self._images_of(operator) for operator in operators]

    @property
    def rank(self) -> int:
        """Columns of the basis."""
        return self._basis.count

    def replace(self, place: int, operator: Operator | None) -> None:
        """Replace an operator, or remove it, and compute the images of the basis.

        Where both have the same first half, call :meth:`renew` instead.
        """
        self._images[place] = images = self._images_of(operator)
        if images is not None and self.rank:
            images.widen(self._basis.taken, self._basis.taken)

    def renew(self, place: int, operator: Halves) -> None:
        """Replace an operator by one with the same first half, whose images are used again."""
        images = self._images[place]
        if images is None:
            return self.replace(place, operator)
        images.renew(operator, self._basis.taken)

    def restart(self, near: Array) -> None:
        """Begin the basis anew, with the span of what should be near the next solutions, (p, k).

        Where that lies in the basis, as solutions do, its images are known and cost no product.
        """
        near = near.astype(self._dtype)
        Q = self._basis.taken
        U = Q.T @ near
        if np.linalg.norm(near - Q @ U) > SPAN_TOLERANCE * np.linalg.norm(near):
            self._basis.count = 0
            for images in self._images:
                if images is not None:
                    images.forget()
            return self._widen(_orthonormal(near))
        U = _orthonormal(_orthonormal(U))
        self._basis.turn(U)
        for images in self._images:
            if images is not None:
                images.turn(U)

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
            block = _leading(residual, max(NEGLIGIBLE_SHARE, DROPPED_ERROR * tol / errors[-1]))
            if self.rank + _blocks_to_go(errors, tol) * block.shape[1] > self._most:
                raise SlowConvergence
            self._widen(block)

    def _images_of(self, operator: Operator | None) -> Images | None:
        return None if operator is None else Images(operator, len(self._basis.values), self._dtype)

    def _galerkin(self, R: Array, system: System, kappa: Array) -> tuple[Array, Array]:
        """Return the solution in the span of the basis, and its residual."""
        Q = self._basis.taken
        U = self._inner(system, (Q.T @ R).astype(float))
        Z = Q @ U.astype(Q.dtype)
        residual = R - Z * kappa[-1].astype(Q.dtype)
        for k, images in zip(kappa[:-1], self._images, strict=True):
            if images is not None:
                residual -= images.columns.taken @ (U * k).astype(Q.dtype)
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
        for k, images in zip(kappa[:-1], self._images, strict=True):
            if images is not None:
                total += k * images.form
        return total

    def _widen(self, B: Array) -> None:
        """Add the span of B, nearly orthonormal, to the basis, and take its images."""
        Q = self._basis.taken
        for _ in range(2):  # twice is enough for orthogonality to rounding
            inside = Q.T @ B
            B = _orthonormal(B - Q @ inside)
            if np.abs(inside).max(initial=0.0) < LARGE_OVERLAP:
                break
        self._basis.append(B)
        for images in self._images:
            if images is not None:
                images.widen(B, self._basis.taken)


def joint_eigenvectors(A: Array, B: Array) -> tuple[Array, Array]:
    """Return d and T with TᵀBT = I and TᵀAT = diag(d), for symmetric A and positive definite B."""
    inverse = np.linalg.inv(np.linalg.cholesky(B))
    inner = inverse @ A @ inverse.T
    d, U = np.linalg.eigh((inner + inner.T) / 2)
    return d, inverse.T @ U


def _orthonormal(B: Array) -> Array:
    """Return an orthonormal basis of the span of B, without directions that are rounding alone."""
    B = B / np.maximum(np.linalg.norm(B, axis=0), np.finfo(B.dtype).tiny)
    values, vectors = np.linalg.eigh((B.T @ B).astype(float))
    distinct = values > 10 * np.finfo(B.dtype).eps * values[-1]
    return np.asarray(B @ (vectors[:, distinct] / np.sqrt(values[distinct])).astype(B.dtype))


def _leading(B: Array, left: float) -> Array:
    """Return the principal directions of B, without the weakest that together are a share ``left``."""
    values, vectors = np.linalg.eigh((B.T @ B).astype(float))
    lengths = np.sqrt(np.cumsum(np.maximum(values, 0.0)))
    count = int((lengths > left * lengths[-1]).sum())
    if count > BLOCK_COLUMNS:
        count -= count % BLOCK_COLUMNS
    directions = vectors[:, -count:] / np.sqrt(values[-count:])
    return np.asarray(B @ directions.astype(B.dtype))


def _blocks_to_go(errors: list[float], tol: float) -> float:
    """Return how many more blocks will be needed, as far as the last steps tell."""
    if len(errors) < 3:
        return 1.0
    rate = min(float(np.sqrt(errors[-1] / errors[-3])), 0.99)
    return float(np.log(tol / errors[-1]) / np.log(rate))
