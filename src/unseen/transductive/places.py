"""Which class is which, known by its vector: a vector that changed after ``fit`` is a new class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Places:
    """Positions of keys; a key that occurs twice gives its first position first."""

    def __init__(self, keys: list[bytes]) -> None:
        self._places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            self._places.setdefault(key, []).append(place)

    def take(self, key: bytes) -> int | None:
        """Return the position of a key, None if there is none."""
        places = self._places.get(key)
        return None if not places else places.pop(0) if len(places) > 1 else places[0]


def keys(vectors: Array) -> list[bytes]:
    """Return a key for each class vector; equal vectors have equal keys."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, dtype=np.float64) + 0.0]
