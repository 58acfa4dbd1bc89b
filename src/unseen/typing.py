"""The array types that the whole library uses."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Numbers of any dtype."""
Codes = npt.NDArray[np.intp]
"""Classes by their place in a list."""
Mask = npt.NDArray[np.bool_]
"""Which rows, or which classes, are meant."""

Label: TypeAlias = Hashable
"""The name of a class: a string or an integer, also of NumPy."""
CandidateClasses: TypeAlias = str | Sequence[Label] | Array | None
"""Among which classes to answer: "unseen", "seen", "all", or a list of classes."""
RandomState: TypeAlias = int | np.random.RandomState | None
"""What scikit-learn's ``check_random_state`` takes."""


class RowValues(Protocol):
    """Values, one a row, in memory or in chunks: passes read them, and nobody else asks which."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first, as of an array."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array."""

    def __len__(self) -> int: ...
