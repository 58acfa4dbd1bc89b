"""The array types that the whole library uses."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Numbers of any dtype."""
Codes = npt.NDArray[np.intp]
"""Classes by their place in a list."""
UNLABELLED = -1
"""The code of a row without a label."""
Mask = npt.NDArray[np.bool_]
"""Which rows, or which classes, are meant."""

Solve: TypeAlias = Callable[[Array], Array]
"""The map from right-hand sides to the solutions of a linear system."""
DType: TypeAlias = np.dtype[Any]
"""The type of the entries of an array."""
Label: TypeAlias = Hashable
"""The name of a class: a string or an integer, also of NumPy."""
CandidateClasses: TypeAlias = str | Sequence[Label] | Array | None
"""Among which classes to answer: "unseen", "seen", "all", or a list of classes."""
ClassShares: TypeAlias = Mapping[str, float] | Mapping[int, float]
"""The share of each class."""
Variables: TypeAlias = dict[str, Any]
"""Arrays, texts and records by name, as a container file holds them: its reader knows their types."""
JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON, as :mod:`json` reads and writes it: only what reads it knows its members."""
RandomState: TypeAlias = int | np.random.RandomState | None
"""What scikit-learn's ``check_random_state`` takes."""


class RowValues(Protocol):
    """Values, one a row, in memory or in chunks: passes read them, and nobody else asks which."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first, as of an array."""

    @property
    def dtype(self) -> DType:
        """As of an array."""

    def __len__(self) -> int: ...


class Classifier(Protocol):
    """A fitted classifier: one of this library, or a pipeline that ends in one."""

    @property
    def classes_(self) -> Array:
        """Among which it answers."""

    @property
    def n_features_in_(self) -> int:
        """How many numbers a row has."""

    def predict(self, X: object) -> Any:
        """Return the class of each row."""

    def predict_proba(self, X: object) -> Any:
        """Return probabilities, columns as in ``classes_``."""

    def decision_function(self, X: object) -> Any:
        """Return scores, columns as in ``classes_``."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters by name."""

    def set_params(self, **params: object) -> object:
        """Change parameters."""
