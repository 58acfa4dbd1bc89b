"""Rows of the pool whose class a person knows, and how arrays over the pool are clamped to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np

from unseen.typing import Array, Codes, Label

LOG_ZERO = -60.0
"""The log-probability of a class that a known row does not have: finite, and negligible."""


@dataclass(frozen=True, eq=False)
class Known:
    """Known rows of the pool and the places of their classes among the candidates.

    Every method returns a copy, or the argument itself if no row is known.

    Examples
    --------
    >>> Known(np.array([1]), np.array([0])).clamp_probabilities(np.array([[0.2, 0.8], [0.3, 0.7]]))
    array([[0.2, 0.8],
           [1. , 0. ]])
    """

    rows: Codes
    places: Codes

    @classmethod
    def of(cls, known: Mapping[Any, Label], size: int, candidates: Array) -> Self:
        """Check a mapping from row of a pool of ``size`` rows to one of the candidates."""
        place = {label: k for k, label in enumerate(candidates.tolist())}
        pairs: list[tuple[int, int]] = []
        for row, label in known.items():
            if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= int(row) < size:
                raise ValueError(
                    f"'known' names row {row!r}, but the pool has {size} unlabelled row(s). Count them "
                    "from 0, in the order of X."
                )
            if label not in place:
                names = ", ".join([*map(repr, list(place)[:5]), *["..."] * (len(place) > 5)])
                raise ValueError(
                    f"'known' gives row {row} the class {label!r}, which is no candidate. The "
                    f"candidates are {names}: give one of them, or add the class to them."
                )
            pairs.append((int(row), place[label]))
        rows, places = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2).T
        return cls(rows, places)

    def __len__(self) -> int:
        return len(self.rows)

    def clamp_labels(self, codes: Array) -> Array:
        """Give known rows their label."""
        if not len(self):
            return codes
        clamped = codes.copy()
        clamped[self.rows] = self.places
        return clamped

    def clamp_probabilities(self, probabilities: Array) -> Array:
        """Give known rows probability 1 of their class; serves label embeddings as well."""
        return self._written(probabilities, 0.0, 1.0)

    def clamp_log_probabilities(self, log_probabilities: Array) -> Array:
        """Give known rows log-probability 0 of their class."""
        return self._written(log_probabilities, LOG_ZERO, 0.0)

    def clamp_scores(self, scores: Array) -> Array:
        """Leave known rows the score of their class alone; the other scores become −∞."""
        return self._written(scores, -np.inf, scores[self.rows, self.places]) if len(self) else scores

    def _written(self, values: Array, others: float, certain: object) -> Array:
        """Return values in which known rows have ``certain`` for their class, else ``others``."""
        if not len(self):
            return values
        clamped = values.copy()
        clamped[self.rows] = others
        clamped[self.rows, self.places] = certain
        return clamped


NOTHING_KNOWN = Known(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
