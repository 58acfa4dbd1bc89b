"""The accuracy of a transductive method before it looked at its pool: its own start."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from unseen import metrics
from unseen.typing import Array


def start_predictions(model: Any, X: Array, training: tuple[Any, Array]) -> Array | None:
    """Return the labels that a fitted method gives without its pool; None if it cannot tell.

    Methods keep the compatibility or the prototypes of their start. A method that does not names in
    ``without_pool`` the parameters that leave the pool out, and is fitted again with them.
    """
    for meta in (model, getattr(model, "estimator_", None)):
        learned = {"inductive_": "compatibility_", "start_": "points_"}
        for start, end in learned.items():
            if getattr(meta, start, None) is not None and getattr(meta, end, None) is not None:
                before: Any = copy(meta)
                setattr(before, end, getattr(meta, start))
                return np.asarray(before.predict(X))
    if getattr(model, "without_pool", None):
        alone = clone(model).set_params(**model.without_pool)
        alone._calibrates = False
        return np.asarray(alone.fit(*training).predict(X))
    return None


def start_accuracy(model: Any, X: Array, y: Array, training: tuple[Any, Array]) -> dict[str, float]:
    """Return {"start": per-class accuracy of the start}, or nothing; ``training`` is what fit got."""
    labels = start_predictions(model, X, training)
    return {} if labels is None else {"start": metrics.per_class_accuracy(y, labels)}
