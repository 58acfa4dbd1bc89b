"""What a probability is worth: calibration, Brier score, prediction sets, and unsure rows.

``probabilities`` are those of ``predict_proba``, (N, L), and ``classes`` the columns, the estimator's
``classes_``. Every row counts alike here, and a row whose true class is no column counts as wrong.
"""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_consistent_length

from unseen.semantics import place_among, read_labels
from unseen.typing import UNLABELLED, Array, Codes, Mask

ERROR = 0.1
"""The probability of error from which an answer is unsure, if the user does not set it."""


class Reliability(NamedTuple):
    """A reliability diagram: one entry a bin of confidence, empty bins left out."""

    confidence: Array
    """Mean confidence."""
    accuracy: Array
    """Share of right answers."""
    rows: Array
    """How many rows."""

    @property
    def error(self) -> float:
        """The expected calibration error: the mean over rows of ``|confidence − accuracy|``."""
        return float(np.abs(self.confidence - self.accuracy) @ self.rows / self.rows.sum())


def reliability(y_true: object, probabilities: object, classes: object, bins: int = 10) -> Reliability:
    """Compare confidence with accuracy, in ``bins`` equal bins of confidence.

    Confidence is the largest probability of a row. Where the probabilities are true, both agree in
    every bin.

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]]
    >>> reliability(["cat", "cat", "dog", "cat"], P, ["cat", "dog"], bins=2).accuracy
    array([0.75])
    """
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ValueError(f"The 'bins' of reliability must be an integer >= 1. Got {bins!r} instead.")
    P, columns = _read(y_true, probabilities, classes)
    return binned_reliability(P.max(axis=1), P.argmax(axis=1) == columns, bins)


def binned_reliability(confidence: Array, right: Mask, bins: int) -> Reliability:
    """Compare the confidence of answers with whether they are right, in equal bins."""
    place = np.minimum((confidence * bins).astype(np.intp), bins - 1)
    rows = np.bincount(place, minlength=bins)
    filled = rows > 0
    said, were = (np.bincount(place, v, bins)[filled] / rows[filled] for v in (confidence, right))
    return Reliability(said, were, rows[filled])


def expected_calibration_error(
    y_true: object, probabilities: object, classes: object, bins: int = 10
) -> float:
    """Return how far confidence is from accuracy, on average over rows in bins of confidence.

    C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> P = [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]
    >>> round(expected_calibration_error(["cat", "cat", "dog", "cat"], P, ["cat", "dog"]), 3)
    0.15
    """
    return reliability(y_true, probabilities, classes, bins).error


def brier_score(y_true: object, probabilities: object, classes: object) -> float:
    """Return the mean squared distance of the probabilities from the truth, from 0 to 2.

    Examples
    --------
    >>> round(brier_score(["cat"], [[0.8, 0.2]], ["cat", "dog"]), 3)
    0.08
    """
    P, columns = _read(y_true, probabilities, classes)
    of_truth = np.where(columns >= 0, P[np.arange(len(P)), columns], 0.0)
    return float((np.einsum("ij,ij->i", P, P) - 2 * of_truth + 1).mean())


def set_coverage(y_true: object, sets: object, classes: object) -> float:
    """Return the share of rows whose prediction set holds the true class.

    ``sets`` is the mask (N, L) that ``predict_set`` returns.

    Examples
    --------
    >>> set_coverage(["cat", "dog"], [[True, True], [True, False]], ["cat", "dog"])
    0.5
    """
    held, columns = _read(y_true, sets, classes)
    return float(((columns >= 0) & (held[np.arange(len(held)), columns] > 0)).mean())


def stranger_auroc(is_stranger: object, stranger_proba: object) -> float:
    """Return how often a stranger has a higher probability of being one than a row of a candidate.

    Examples
    --------
    >>> stranger_auroc([True, False, False], [0.9, 0.2, 0.3])
    1.0
    """
    return float(roc_auc_score(np.asarray(is_stranger, dtype=bool), np.asarray(stranger_proba)))


def unsure(probabilities: object, error: object = ERROR) -> Mask:
    """Mark the rows whose answer is wrong with a probability above ``error``.

    Of the answers that are left, at most this share is wrong where the probabilities are calibrated.
    By default an answer is unsure when it is expected to be wrong more than once in ten times.

    Parameters
    ----------
    probabilities : array of shape (N, L) or (N,)
        Of all candidates, or of the answers alone.
    error : float in [0, 1]

    Examples
    --------
    >>> unsure([[0.95, 0.05], [0.6, 0.4]])
    array([False,  True])
    """
    if not isinstance(error, Real) or not 0 <= float(error) <= 1:
        raise ValueError(f"The 'error' of unsure must be a number in [0, 1]. Got {error!r} instead.")
    P = np.asarray(probabilities, dtype=float)
    confidence = P if P.ndim == 1 else P.max(axis=1)
    return np.asarray(1 - confidence > error + 1e-9)


def _read(y_true: object, values: object, classes: object) -> tuple[Array, Codes]:
    """Return the values of labelled rows, and the column of their true class, -1 if there is none."""
    P, names = np.asarray(values, dtype=float), np.asarray(classes)
    check_consistent_length(y_true, P)
    if P.ndim != 2 or P.shape[1] != len(names):
        raise ValueError(
            f"probabilities must have one column for each of the {len(names)} classes. "
            f"Got shape {P.shape} instead."
        )
    if not ((P >= 0) & (P <= 1 + 1e-6)).all():
        raise ValueError(
            "probabilities must lie between 0 and 1. Give what predict_proba returns, not scores."
        )
    present, codes = read_labels(y_true)
    if not len(present):
        raise ValueError("y_true holds no label, so there is nothing to measure. Give true labels.")
    labelled = codes != UNLABELLED
    return P[labelled], place_among(present, names)[codes[labelled]]
