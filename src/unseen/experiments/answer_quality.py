"""What the answers of a cell are worth: calibration, prediction sets, the bins of confidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen import metrics
from unseen.typing import Array, JsonObject

COVERAGE = 0.9
"""Of the prediction sets that are measured."""


def answer_quality(model: Any, truth: Array, probabilities: Array) -> JsonObject:
    """Return ECE, Brier score and the bins of confidence, and what sets at ``COVERAGE`` hold."""
    classes = np.asarray(model.classes_)
    bins = metrics.reliability(truth, probabilities, classes)
    sets = model._likeliest(np.asarray(probabilities), COVERAGE)
    return {
        "calibration_error": bins.error,
        "brier": metrics.brier_score(truth, probabilities, classes),
        "confidence": float(np.asarray(probabilities).max(axis=1).mean()),
        "reliability": [values.tolist() for values in bins],
        "set_coverage": metrics.set_coverage(truth, sets, classes),
        "set_size": float(sets.sum(axis=1).mean()),
        "candidates": len(classes),
    }
