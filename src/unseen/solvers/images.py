"""Images of the basis of a growing subspace under operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.typing import Array

Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Halves:
    """An operator in two steps; images under the first are used again when the second changes."""

    first: Map
    second: Map


Operator = Map | Halves


class Columns:
    """Columns of an array that grows without being copied each time."""

    def __init__(self, width: int, dtype: npt.DTypeLike) -> None:
        self.values: Array = np.empty((width, 0), dtype=dtype, order="F")
        self.count = 0

    @property
    def taken(self) -> Array:
        """The columns in use."""
        return self.values[:, : self.count]

    def append(self, B: Array) -> None:
        """Add columns."""
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


class Images:
    """Images of a basis Q under an operator M: MQ, and QᵀMQ in double precision."""

    def __init__(self, operator: Operator, width: int, dtype: npt.DTypeLike) -> None:
        self._operator = operator
        self._half: Columns | None = None
        self.columns = Columns(width, dtype)
        self.form: Array = np.empty((0, 0))

    def forget(self) -> None:
        """Begin with an empty basis."""
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
            self._half = Columns(len(half), half.dtype)
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
