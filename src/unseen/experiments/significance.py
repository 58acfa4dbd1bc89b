"""Is one method better than another? A paired bootstrap over classes.

Zero-shot accuracy is a mean over classes, and classes are what a new problem would draw anew: so
classes are resampled, with both methods' accuracies on a class kept together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unseen.experiments.result_store import Row
from unseen.experiments.specification import derive_seed

DRAWS = 5000
LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """The difference first − second of two mean per-class accuracies."""

    difference: float
    low: float
    high: float
    p_value: float
    """Two-sided: how often resampled classes turn the sign of the difference."""
    classes: int

    @property
    def significant(self) -> bool:
        """Whether p < 0.05."""
        return self.p_value < LEVEL


def by_class(rows: Sequence[Row]) -> dict[str, float]:
    """Return each class's accuracy, averaged over trials."""
    names = rows[0].metrics["by_class"]
    return {c: float(np.mean([r.metrics["by_class"][c] for r in rows])) for c in names}


def compare(first: Mapping[str, float], second: Mapping[str, float], draws: int = DRAWS) -> Comparison:
    """Compare two methods by their accuracies on the same classes.

    Examples
    --------
    >>> a = {"cat": 0.9, "dog": 0.8, "fox": 0.7, "elk": 0.9, "owl": 0.8}
    >>> compare(a, {c: v - 0.2 for c, v in a.items()}).significant
    True
    >>> compare(a, a).p_value
    1.0
    """
    if set(first) != set(second):
        raise ValueError("The two methods were not measured on the same classes: not comparable.")
    differences = np.array([first[c] - second[c] for c in sorted(first)])
    random = np.random.default_rng(derive_seed("paired bootstrap", len(differences), draws))
    draw = random.integers(len(differences), size=(draws, len(differences)))
    means = differences[draw].mean(axis=1)
    mean = float(differences.mean())
    against = float(np.mean(means <= 1e-12)) if mean > 0 else float(np.mean(means >= -1e-12))
    low, high = np.quantile(means, [0.025, 0.975])
    return Comparison(mean, float(low), float(high), min(1.0, 2 * against), len(differences))
