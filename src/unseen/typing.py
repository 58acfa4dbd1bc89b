"""The array types that the whole library uses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Numbers of any dtype."""
Codes = npt.NDArray[np.intp]
"""Classes by their place in a list."""
Mask = npt.NDArray[np.bool_]
"""Which rows, or which classes, are meant."""
