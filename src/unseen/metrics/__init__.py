"""The field's metrics, on labels: what a zero-shot prediction and its probability are worth.

Every accuracy here is *per class* unless its name says otherwise: the share of right rows is taken
within each class and then averaged, so that a large class counts no more than a small one. ``y_true``
and ``y_pred`` are arrays of N labels; rows whose true label is missing (-1 for integers, None or NaN
for any other) are left out.
"""

from unseen.metrics.accuracy import (
    Confusion,
    SeenUnseen,
    accuracy_by_class,
    ausuc,
    confusion,
    per_class_accuracy,
    per_image_accuracy,
    seen_unseen_harmonic,
    top_k_accuracy,
)
from unseen.metrics.probabilities import (
    ERROR,
    Reliability,
    brier_score,
    expected_calibration_error,
    reliability,
    set_coverage,
    stranger_auroc,
    unsure,
)

__all__ = [
    "ERROR",
    "Confusion",
    "Reliability",
    "SeenUnseen",
    "accuracy_by_class",
    "ausuc",
    "brier_score",
    "confusion",
    "expected_calibration_error",
    "per_class_accuracy",
    "per_image_accuracy",
    "reliability",
    "seen_unseen_harmonic",
    "set_coverage",
    "stranger_auroc",
    "top_k_accuracy",
    "unsure",
]
