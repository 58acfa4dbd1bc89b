"""The array types that the whole library uses."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

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
