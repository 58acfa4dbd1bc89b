"""Protocols for items and class texts in one space: which rows make the pool, with no label at all.

``"unlabelled full"`` has all rows of all classes; ``"unlabelled 5/64"`` 64 rows of 5 of the classes,
all of them candidates (``"unlabelled all/64"``: of all); ``"unlabelled 50:1"`` classes of very
different size; ``"unlabelled stream"`` batches in which classes are mixed, and ``"unlabelled stream by
class"`` batches in which one class comes after another. Accuracy is that of the pool, beside cosine's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unseen.exceptions import DataError
from unseen.metrics import per_class_accuracy
from unseen.metrics.probabilities import binned_reliability
from unseen.typing import Array, Codes

UNLABELLED = "unlabelled"
"""All of the settings below."""
EFFECTIVE_CLASSES: tuple[int | None, ...] = (2, 5, 10, 25, None)
"""Classes present in a small pool; None: all of them."""
BATCH_ROWS = (64, 256, 1000)
STREAM_ROWS = 256
LARGEST_TO_SMALLEST = 50.0
CALIBRATION_BINS = 15
FULL, UNEVEN = f"{UNLABELLED} full", f"{UNLABELLED} 50:1"
MIXED_STREAM, STREAM_BY_CLASS = f"{UNLABELLED} stream", f"{UNLABELLED} stream by class"
STREAMS = (MIXED_STREAM, STREAM_BY_CLASS)


def small_pool(k: int | None, rows: int) -> str:
    """Name the setting in which k of the classes, or all of them, are present in a small pool.

    >>> small_pool(5, 64), small_pool(None, 256)
    ('unlabelled 5/64', 'unlabelled all/256')
    """
    return f"{UNLABELLED} {k or 'all'}/{rows}"


SMALL_POOLS = {small_pool(k, rows): (k, rows) for k in EFFECTIVE_CLASSES for rows in BATCH_ROWS}
POOL_SETTINGS = (FULL, *SMALL_POOLS, UNEVEN, *STREAMS)


class PoolAnswers(NamedTuple):
    """What a method said of the rows of a pool."""

    truth: Array
    found: Array
    start: Array
    """Argmax cosine."""
    confidence: Array

    @property
    def accuracies(self) -> tuple[float, float]:
        """Per-class accuracy of the answers, and of the start."""
        return per_class_accuracy(self.truth, self.found), per_class_accuracy(self.truth, self.start)

    @property
    def gain(self) -> float:
        """Points of per-class accuracy above cosine."""
        end, start = self.accuracies
        return 100 * (end - start)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error."""
        return binned_reliability(self.confidence, self.found == self.truth, CALIBRATION_BINS).error


def pool_batches(
    setting: str, y: Array, classes: Array, random: np.random.Generator
) -> tuple[Codes, ...]:
    """Return the rows of a pool, batch by batch; only streams have several batches.

    Parameters
    ----------
    setting : str
        One of ``POOL_SETTINGS``.
    y : array of N labels
    classes : array
        The candidates, in an order that does not depend on the data set's file.
    random : Generator

    Examples
    --------
    >>> y = np.repeat(["cat", "dog", "fox"], 40)
    >>> (rows,) = pool_batches("unlabelled 2/64", y, np.unique(y), np.random.default_rng(0))
    >>> len(rows), len(np.unique(y[rows]))
    (64, 2)
    """
    if setting in SMALL_POOLS:
        k, size = SMALL_POOLS[setting]
        if k is not None and k >= len(classes):
            raise DataError(f"{setting!r} needs more than {k} classes. There are {len(classes)}.")
        present = classes if k is None else random.choice(classes, k, replace=False)
        return (random.permutation(np.flatnonzero(np.isin(y, present)))[:size],)
    if setting == UNEVEN:
        return (uneven_rows(y, np.arange(len(y)), random),)
    if setting not in STREAMS:
        return (np.arange(len(y)),)
    order = random.permutation(len(y))
    if setting == STREAM_BY_CLASS:
        rank = {label: place for place, label in enumerate(random.permutation(classes).tolist())}
        order = order[np.argsort([rank[label] for label in y[order].tolist()], kind="stable")]
    return tuple(order[first : first + STREAM_ROWS] for first in range(0, len(order), STREAM_ROWS))


def uneven_rows(y: Array, rows: Codes, random: np.random.Generator) -> Codes:
    """Keep rows so that the largest class has fifty times as many as the smallest."""
    rows = random.permutation(rows)
    classes = random.permutation(np.unique(y[rows]))
    by_class = [rows[y[rows] == label] for label in classes]
    most = min(map(len, by_class))
    sizes = most * LARGEST_TO_SMALLEST ** -np.linspace(0, 1, len(classes))
    uneven = [some[: max(1, round(size))] for some, size in zip(by_class, sizes, strict=True)]
    return random.permutation(np.concatenate(uneven))


def answer_pool(model: Any, X: Array, y: Array, batches: tuple[Codes, ...]) -> PoolAnswers:
    """Fit a method to a pool without labels; it goes on from batch to batch if it can."""
    learn = model.fit
    if len(batches) > 1:
        learn = getattr(model, "partial_fit", model.fit)
    labels, start, confidence = [], [], []
    for rows in batches:
        learn(X[rows])
        labels.append(model.transduction_)
        start.append(model.start_)
        confidences = getattr(model, "confidence_", None)
        if confidences is None:
            confidences = model.predict_proba(X[rows]).max(axis=1)
        confidence.append(confidences)
    truth = y[np.concatenate(batches)]
    return PoolAnswers(truth, *(np.concatenate(part) for part in (labels, start, confidence)))
