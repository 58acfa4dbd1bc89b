"""Accuracies: per class, per image, among the best k, on seen and unseen classes together."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix

from unseen.metrics.label_reading import compared, scored
from unseen.rows.labelled import Rows
from unseen.typing import Array, Codes, Label


class SeenUnseen(NamedTuple):
    """The two accuracies of the generalised setting and their harmonic mean."""

    seen: float
    unseen: float
    harmonic: float


class Confusion(NamedTuple):
    """How often rows of one class were given another: ``counts[true, predicted]``."""

    classes: Array
    counts: npt.NDArray[np.intp]


def per_class_accuracy(y_true: object, y_pred: object) -> float:
    """Return the mean over classes of the share of right rows (per-class top-1).

    This is what ``score`` of every estimator returns.

    Examples
    --------
    >>> per_class_accuracy(["cat", "cat", "cat", "dog"], ["cat", "cat", "dog", "dog"])
    0.8333333333333333
    """
    return float(_by_class(*compared(y_true, y_pred)).mean())


def accuracy_by_class(y_true: object, y_pred: object) -> dict[Label, float]:
    """Return the share of right rows of each class that ``y_true`` holds, classes sorted.

    Examples
    --------
    >>> accuracy_by_class(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    {'cat': 0.5, 'dog': 1.0}
    """
    classes, codes, predicted = compared(y_true, y_pred)
    shares = _by_class(classes, codes, predicted)
    return dict(zip(classes.tolist(), shares.tolist(), strict=True))


def per_image_accuracy(y_true: object, y_pred: object) -> float:
    """Return the share of right rows: large classes count for more.

    Examples
    --------
    >>> per_image_accuracy(["cat", "cat", "cat", "dog"], ["cat", "cat", "dog", "dog"])
    0.75
    """
    classes, codes, predicted = compared(y_true, y_pred)
    return float((classes[codes] == predicted).mean())


def top_k_accuracy(y_true: object, scores: object, classes: object, k: int = 5) -> float:
    """Return the per-class share of rows whose class is among the ``k`` best scores.

    A class that ties with the true one does not push it out.

    Parameters
    ----------
    scores : array of shape (N, L)
        As from ``decision_function``: also its one column when there are two candidates.
    classes : array of L labels
        The columns of ``scores``: the estimator's ``classes_``.
    k : int

    Examples
    --------
    >>> scores = [[0.5, 0.3, 0.2], [0.6, 0.1, 0.3]]
    >>> top_k_accuracy(["b", "b"], scores, ["a", "b", "c"], k=2)
    0.5
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"The 'k' of top_k_accuracy must be an integer >= 1. Got {k!r} instead.")
    present, codes, scores, columns = scored(y_true, scores, classes)
    hits = _top_k_hits(scores, columns, int(k))
    return float(Rows(hits, codes).shares_right(len(present)).mean())


def seen_unseen_harmonic(y_true: object, y_pred: object, seen_classes: Collection[Label]) -> SeenUnseen:
    """Return per-class accuracy on seen and on unseen classes, and their harmonic mean.

    It belongs to the generalised setting: predict with ``candidates="all"``. ``seen_classes`` are the
    classes that training saw, the estimator's ``seen_classes_``.

    Examples
    --------
    >>> y_true, y_pred = ["cat", "cat", "fox", "fox"], ["cat", "cat", "fox", "cat"]
    >>> seen_unseen_harmonic(y_true, y_pred, seen_classes=["cat"])
    SeenUnseen(seen=1.0, unseen=0.5, harmonic=0.6666666666666666)
    """
    classes, codes, predicted = compared(y_true, y_pred)
    shares = _by_class(classes, codes, predicted)
    known = _are_seen(classes, seen_classes)
    seen, unseen = float(shares[known].mean()), float(shares[~known].mean())
    total = seen + unseen
    return SeenUnseen(seen, unseen, 2 * seen * unseen / total if total else 0.0)


def ausuc(y_true: object, scores: object, classes: object, seen_classes: Collection[Label]) -> float:
    """Return the area under the seen–unseen curve, exactly.

    Calibrated stacking takes γ off the scores of seen classes. As γ grows from −∞ to ∞ the accuracy on
    seen classes falls to 0 and that on unseen classes rises; the area under this curve needs no γ. A
    row changes sides once, where γ is its best seen score minus its best unseen score, so sorting
    these N numbers gives the curve with no grid.

    W.-L. Chao, S. Changpinyo, B. Gong and F. Sha, "An empirical study and analysis of generalized
    zero-shot learning for object recognition in the wild", ECCV 2016.

    Parameters
    ----------
    scores : array of shape (N, L)
        Over all classes: ``decision_function`` with ``candidates="all"``.
    classes : array of L labels
        The columns of ``scores``.
    seen_classes : labels

    Examples
    --------
    >>> scores = [[3.0, 1.0], [2.0, 1.0]]
    >>> ausuc(["cat", "fox"], scores, ["cat", "fox"], seen_classes=["cat"])
    1.0
    """
    present, codes, scores, columns = scored(y_true, scores, classes)
    known = _are_seen(present, seen_classes)
    of_training = np.isin(np.asarray(classes), np.asarray(list(seen_classes)))
    best_seen = np.where(of_training, scores, -np.inf).argmax(axis=1)
    best_unseen = np.where(of_training, -np.inf, scores).argmax(axis=1)
    rows = np.arange(len(scores))
    switch = scores[rows, best_seen] - scores[rows, best_unseen]
    of_seen = known[codes]
    right = np.where(of_seen, best_seen, best_unseen) == columns
    share = right / np.bincount(codes)[codes]  # what the row adds to its class's accuracy
    _, place = np.unique(switch, return_inverse=True)
    lost = np.bincount(place, share * of_seen) / known.sum()
    won = np.bincount(place, share * ~of_seen) / (~known).sum()
    # Seen accuracy before and after each step of γ; rows that switch together make a slope.
    after = lost.sum() - np.cumsum(lost)
    return float(won @ (after + lost / 2))


def confusion(y_true: object, y_pred: object, classes: object = None) -> Confusion:
    """Count how often rows of each class were given each class.

    ``classes`` orders the rows and columns; by default they are all labels that occur, sorted.

    Examples
    --------
    >>> confusion(["cat", "cat", "dog"], ["cat", "dog", "dog"]).counts
    array([[1, 1],
           [0, 1]])
    """
    present, codes, predicted = compared(y_true, y_pred)
    true = present[codes]
    occurring = np.unique(np.concatenate([true, predicted]))
    names = occurring if classes is None else np.asarray(classes)
    left_out = np.setdiff1d(occurring, names)
    if len(left_out):
        raise ValueError(
            f"confusion was given classes that leave out {left_out[0]!s}, which occurs. Name every "
            "class that occurs, or give no classes."
        )
    return Confusion(names, confusion_matrix(true, predicted, labels=names))


def _by_class(classes: Array, codes: Codes, predicted: Array) -> Array:
    return Rows(classes[codes] == predicted, codes).shares_right(len(classes))


def _are_seen(classes: Array, seen_classes: Collection[Label]) -> npt.NDArray[np.bool_]:
    known = np.isin(classes, np.asarray(list(seen_classes)))
    if known.all() or not known.any():
        raise ValueError(
            f"y_true holds no {'unseen' if known.all() else 'seen'} class; seen and unseen classes "
            "are both needed. Check that seen_classes names the classes of training, spelled as there."
        )
    return known


def _top_k_hits(scores: Array, codes: Codes, k: int) -> npt.NDArray[np.bool_]:
    """Tell for each row whether fewer than ``k`` classes score strictly above the true one."""
    true_scores = np.take_along_axis(scores, codes[:, None], axis=1)
    hits: npt.NDArray[np.bool_] = (scores > true_scores).sum(axis=1) < k
    return hits
