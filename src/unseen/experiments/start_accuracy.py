"""The accuracy of a transductive method before it looked at its pool: its own start."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from unseen import metrics
from unseen.typing import Array


def start_predictions(model: object, X: Array) -> Array | None:
    """Return the labels that a fitted method gave before its first round; None if it keeps no start.

    Methods keep the compatibility or the prototypes of their start.
    """
    for meta in (model, getattr(model, "estimator_", None)):
        kept = {"inductive_": "compatibility_", "start_": "points_"}
        for start, end in kept.items():
            if getattr(meta, start, None) is not None and getattr(meta, end, None) is not None:
                before: Any = copy(meta)
                setattr(before, end, getattr(meta, start))
                return np.asarray(before.predict(X))
    return None


def start_accuracy(model: object, X: Array, y: Array) -> dict[str, float]:
    """Return {"start": per-class accuracy of the start}, or nothing."""
    labels = start_predictions(model, X)
    return {} if labels is None else {"start": metrics.per_class_accuracy(y, labels)}
