"""Strangers by distance alone, where too few classes have labels for rehearsals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from unseen.typing import Array, Mask

SLOPE = 1.1
"""Of the log-odds of being a stranger, for each median deviation of the distances. The best on pools of
seen classes of clinc150, banking77 and goemotions27 in which 6 % or 20 % of the rows are of other seen
classes; the best of a single pool is from 0.5 to 2.1."""


@dataclass(frozen=True)
class DistantRows:
    """The rows that are farthest from every candidate; how many is given, not learned."""

    FILE_KEY = "distant-rows"
    judges_rows: ClassVar[bool] = False
    """Whether it looks at rows, which no fit changes, or at their distances to the classes of one."""

    threshold: float
    """The distance from which a row is called a stranger."""
    even: float
    """The distance at which a row is as likely a stranger as not."""
    unit: float
    """The median deviation of the distances in the pool."""
    share: float
    """Of strangers in the pool."""

    @classmethod
    def of(cls, distances: Array, share: float) -> DistantRows:
        """Call this share of the pool strangers."""
        unit = max(float(np.median(np.abs(distances - np.median(distances)))), 1e-12)
        z = (distances - np.median(distances)) / unit

        def excess(place: float) -> float:
            return float(expit(SLOPE * (z - place)).mean()) - share

        reach = 50 / SLOPE
        even = brentq(excess, float(z.min()) - reach, float(z.max()) + reach)
        threshold = float(np.quantile(distances, 1 - share))
        return cls(threshold, float(np.median(distances)) + even * unit, unit, share)

    def probabilities(self, distances: Array) -> Array:
        """Return the probability of being a stranger; in the pool its mean is the share."""
        return np.asarray(expit(SLOPE * (distances - self.even) / self.unit))

    def called(self, distances: Array) -> Mask:
        """Tell which rows are called strangers."""
        return np.asarray(distances > self.threshold)
