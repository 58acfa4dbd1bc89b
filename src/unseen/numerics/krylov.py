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
import numpy.typing as npt
from scipy import linalg

Array = npt.NDArray[Any]
Operator = Callable[[Array], Array]

TOLERANCE = 1e-4
"""Relative error at which a solution is taken, in the norm of its system."""

NEGLIGIBLE = 1e-3
"""Residuals that are this small a share of the largest do not widen the basis."""


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
    operators : sequence of callables, or None
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
        self._operators, self._most = list(operators), most
        self._Q: Array = np.empty((width, 0), dtype=dtype)
        self._images: list[Array | None] = [None if o is None else self._Q for o in operators]
        self._forms = [np.empty((0, 0)) for _ in operators]

    @property
    def rank(self) -> int:
        """Columns of the basis."""
        return int(self._Q.shape[1])

    def replace(self, place: int, operator: Operator) -> None:
        """Put another operator in place of one, and take the images of the basis again."""
        self._operators[place] = operator
        image = np.asarray(operator(self._Q)) if self.rank else self._Q
        self._images[place], self._forms[place] = image, _grown(np.empty((0, 0)), self._Q, image)

    def restart(self, rank: int, B: Array) -> None:
        """Keep so many columns of the basis, and add the span of B."""
        self._Q = self._Q[:, :rank]
        self._images = [None if image is None else image[:, :rank] for image in self._images]
        self._forms = [form[:rank, :rank] for form in self._forms]
        self._widen(B.astype(self._Q.dtype))

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
        R = R.astype(self._Q.dtype, copy=False)
        if not R.any():
            return np.zeros_like(R), 0.0
        if not (kappa[-1] > 0).all():
            raise SlowConvergence
        if not self.rank:
            self._widen(R)
        errors: list[float] = []
        while True:
            Z, residual = self._galerkin(R, system, kappa)
            energy = float(np.sqrt(max(float(np.einsum("ij,ij->", R, Z)), 0.0)))
            lengths = np.linalg.norm(residual, axis=0) / np.sqrt(kappa[-1])
            errors.append(float(np.linalg.norm(lengths)) / max(energy, least, np.finfo(float).tiny))
            if errors[-1] <= tol:
                return Z, energy
            wanted = lengths > NEGLIGIBLE * lengths.max()
            if self.rank + _blocks_to_go(errors, tol) * int(wanted.sum()) > self._most:
                raise SlowConvergence
            self._widen(residual[:, wanted])

    def _galerkin(self, R: Array, system: System, kappa: Array) -> tuple[Array, Array]:
        """Return the solution in the span of the basis, and its residual."""
        Q = self._Q
        U = self._inner(system, (Q.T @ R).astype(float))
        Z = Q @ U.astype(Q.dtype)
        residual = R - Z * kappa[-1].astype(Q.dtype)
        for k, image in zip(kappa[:-1], self._images, strict=True):
            if image is not None:
                residual -= image @ (U * k).astype(Q.dtype)
        return Z, residual

    def _inner(self, system: System, right: Array) -> Array:
        """Solve in coordinates of the basis."""
        first = self._form(system.base)
        try:
            if system.slope is None:
                factor = linalg.cho_factor(first, check_finite=False)
                return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
            values, P = linalg.eigh(self._form(system.slope), first, check_finite=False)
        except linalg.LinAlgError:
            raise SlowConvergence from None
        scale = 1.0 + np.maximum(values, 0.0)[:, None] * system.shifts
        return np.asarray(P @ ((P.T @ right) / scale))

    def _form(self, kappa: Array) -> Array:
        total: Array = kappa[-1] * np.eye(self.rank)
        for k, form, image in zip(kappa[:-1], self._forms, self._images, strict=True):
            if image is not None:
                total += k * form
        return total

    def _widen(self, B: Array) -> None:
        """Add the span of B to the basis, and take its images."""
        for _ in range(2):  # twice is enough for orthogonality to rounding
            B = _orthonormal(B - self._Q @ (self._Q.T @ B))
        self._Q = np.concatenate([self._Q, B], axis=1)
        for place, (operator, image) in enumerate(zip(self._operators, self._images, strict=True)):
            if operator is not None and image is not None:
                new = np.asarray(operator(B))
                self._images[place] = np.concatenate([image, new], axis=1)
                self._forms[place] = _grown(self._forms[place], self._Q, new)


def _orthonormal(B: Array) -> Array:
    """Return an orthonormal basis of the span of B, without directions that are rounding alone."""
    B = B / np.maximum(np.linalg.norm(B, axis=0), np.finfo(B.dtype).tiny)
    values, vectors = linalg.eigh((B.T @ B).astype(float), check_finite=False)
    kept = values > 10 * np.finfo(B.dtype).eps * values[-1]
    return np.asarray(B @ (vectors[:, kept] / np.sqrt(values[kept])).astype(B.dtype))


def _blocks_to_go(errors: list[float], tol: float) -> float:
    """Return how many more blocks will be needed, as far as the last steps tell."""
    if len(errors) < 3:
        return 1.0
    rate = min(float(np.sqrt(errors[-1] / errors[-3])), 0.99)
    return float(np.log(tol / errors[-1]) / np.log(rate))


def _grown(form: Array, Q: Array, image: Array) -> Array:
    """Return QᵀMQ in double precision, from what it was and M times the new columns of Q."""
    old, rank = len(form), Q.shape[1]
    new = (Q.T @ image).astype(float)
    grown = np.empty((rank, rank))
    grown[:old, :old] = form
    grown[:, old:] = new
    grown[old:, :old] = new[:old].T
    corner = new[old:]
    grown[old:, old:] = (corner + corner.T) / 2
    return grown
