"""One way to label a pool, for the command line and the studio alike."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen import methods
from unseen.exceptions import AdaptationWarning, DataError
from unseen.labelling.labels import Labels, answers_of
from unseen.labelling.pool_data import PoolData
from unseen.metrics import per_class_accuracy
from unseen.transductive.rounds import Observer
from unseen.typing import Array, Classifier, JsonObject

SINGLE_THREAD_NUMBERS = 5000 * 1280
"""Numbers in X below which one thread fits: on small matrices more threads only wait for each other."""

PLAIN_ALARMS = {
    "uneven": "Some classes seem to have many {items} and others few or none. The labels take that "
    "into account. Leave out classes that cannot occur.",
    "rehearsal": "In a rehearsal on the labelled classes, learning from the {items} to label made the "
    "answers slightly worse. Compare with a method that does not learn from them, as ASTE.",
}
"""Alarm of the review of a pool → what a person who labels should know of it."""

BELOW_ANSWER = 0.999
"""The largest probability of another class, as a share of that of the answer."""


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that decides the labels of a pool: the same task gives the same labels."""

    data: PoolData
    method: str = methods.DEFAULT
    seed: int = 0
    """For what a method draws at random."""
    corrections: Mapping[int, str] = field(default_factory=dict)
    """Row of the pool → the class that a person gave it."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and its answers for the pool."""

    task: Task
    model: Any
    classes: list[str]
    probabilities: Array
    """(M, L) one row for each item of the pool; corrected rows are certain of their class."""
    rounds: Array | None
    """The round that first trusted each row of the pool, -1 for never; None without rounds."""
    seconds: float
    notes: list[str] = field(default_factory=list)
    start: Array | None = None
    """The first answer for each row of the pool, of a method that corrects one; otherwise None."""

    @property
    def predicted(self) -> Array:
        """The class of each row of the pool."""
        return np.asarray(np.array(self.classes)[self.probabilities.argmax(axis=1)])

    def corrected(self, corrections: Mapping[int, str]) -> Fitted:
        """Return the same model with labels that a person gave since it was fitted."""
        probabilities = _certain(self.probabilities, corrections, self.classes)
        task = replace(self.task, corrections=dict(corrections))
        return replace(self, task=task, probabilities=probabilities)

    def labels(self) -> Labels:
        """Return the labels of the pool, least confident first; in a trial, with the accuracy."""
        data = self.task.data
        return answers_of(
            self.probabilities,
            self.classes,
            data.items,
            data.root,
            data.truth,
            data.texts,
            [] if self.start is None else [str(label) for label in self.start],
            data.broken if data.texts is None else (),
        )

    def accuracy(self) -> float | None:
        """Return the per-class accuracy on rows that nobody corrected, where the truth is known."""
        truth = self.task.data.truth
        if not truth:
            return None
        untouched = np.array([bool(label) for label in truth])
        untouched[list(self.task.corrections)] = False
        return float(per_class_accuracy(np.array(truth)[untouched], self.predicted[untouched]))


def fit(task: Task, observer: Observer | None = None) -> Fitted:
    """Fit the method of a task and label its pool.

    No label of the pool is looked at but those that a person gave. A transductive method gets the
    rows of the pool without labels; if it can learn from known rows, corrected ones are certain of
    their class. An inductive method does not get the pool, unless labels of it were corrected: then it
    learns once more, from the labelled rows and from the pool with its own answers, corrected.

    Parameters
    ----------
    task : Task
    observer : callable, optional
        Called with the number and the probabilities of every round of a transductive method.
    """
    data, method = task.data, methods.find(task.method)
    if not len(data.X) and method.estimator.needs_labelled_rows:
        able = [name for name, m in methods.catalogue().items() if not m.estimator.needs_labelled_rows]
        raise DataError(
            f"{task.method} needs labelled rows, and there are none. Give some, or use a method that "
            f"needs none: {', '.join(able)}.",
            options=("seen", "method"),
        )
    model: Any = method.build(data.table, candidates=data.candidates, random_state=task.seed)
    if data.scale is not None and "scale" in model.get_params():
        model.set_params(scale=data.scale)
    X, y = _training_rows(data, method.transductive)
    options: JsonObject = {}
    if method.transductive:
        known = dict(task.corrections) if model.takes_known and task.corrections else None
        options = {"observer": observer, "known": known}
    threads = 1 if X.size < SINGLE_THREAD_NUMBERS else None
    start = time.perf_counter()
    with threadpool_limits(threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptationWarning)
        model.fit(X, y, **options)
        if task.corrections and not method.transductive:
            model.fit(np.concatenate([X, data.pool]), np.concatenate([y, _answers(model, task)]))
        probabilities = _pool_probabilities(model, data) if len(data.pool) else None
    seconds = time.perf_counter() - start
    classes = [str(c) for c in model.classes_.tolist()]
    if probabilities is None:
        probabilities = np.empty((0, len(classes)))
    trusted = getattr(model, "labelled_round_", None)
    first = getattr(model, "start_", None)
    return Fitted(
        task,
        model,
        classes,
        _certain(probabilities, task.corrections, classes),
        None if trusted is None else np.asarray(trusted)[len(data.X) :],
        seconds,
        _pool_notes(caught, model, task),
        None if first is None else np.asarray(first)[len(data.X) :],
    )


def _training_rows(data: PoolData, transductive: bool) -> tuple[Array, Array]:
    """Return the rows and labels that the method learns from."""
    if not transductive:
        return data.X, data.y
    labels = np.full(len(data.X) + len(data.pool), None, dtype=object)
    labels[: len(data.X)] = data.y
    return np.concatenate([data.X, data.pool]), labels


def _answers(model: Classifier, task: Task) -> Array:
    """Return the answers of a model for the pool, with the labels that a person gave."""
    answers = np.asarray(model.predict(task.data.pool)).astype(object)
    for row, label in task.corrections.items():
        answers[row] = label
    return answers


def _pool_probabilities(model: Any, data: PoolData) -> Array:
    """Return the probabilities of the pool.

    A method with a ``confidence_`` answers for its pool in another way than for new rows, whose
    neighbours it does not know. The answer then has that confidence, and the other classes share the
    rest as for new rows, but none of them more than the answer.
    """
    probabilities = np.asarray(model.predict_proba(data.pool))
    confidence = getattr(model, "confidence_", None)
    if confidence is None or probabilities.shape[1] < 2:
        return probabilities
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    answers = [place[label] for label in np.asarray(model.transduction_)[len(data.X) :].tolist()]
    rows = np.arange(len(probabilities))
    others = np.array(probabilities, dtype=float)
    others[rows, answers] = 0
    others += np.finfo(float).tiny
    left = (1 - np.asarray(confidence, dtype=float))[:, None]
    others *= left / others.sum(axis=1, keepdims=True)
    most, even = others.max(axis=1, keepdims=True), left / (others.shape[1] - 1)
    excess = np.maximum(most - BELOW_ANSWER * np.asarray(confidence)[:, None], 0)
    flat = np.minimum(excess / np.maximum(most - even, np.finfo(float).tiny), 1)
    others += flat * (even - others)
    others[rows, answers] = confidence
    return others


def _certain(probabilities: Array, corrections: Mapping[int, str], classes: list[str]) -> Array:
    """Return probabilities in which corrected rows are certain of the label that was given."""
    certain = np.array(probabilities)
    for row, label in corrections.items():
        certain[row] = 0
        certain[row, classes.index(label)] = 1
    return certain


def _pool_notes(caught: list[warnings.WarningMessage], model: Classifier, task: Task) -> list[str]:
    """Return what a method says of its pool, in plain words; other warnings are given as they were.

    What the review of the pool says in numbers stays in the model's ``review_``.
    """
    review = getattr(model, "review_", None)
    alarms = {} if review is None else review.alarms
    notes = []
    for item in caught:
        if not issubclass(item.category, AdaptationWarning):
            warnings.warn_explicit(item.message, item.category, item.filename, item.lineno)
        elif not any(str(item.message).endswith(text) for text in alarms.values()):
            notes.append(str(item.message))
    items = "photographs" if task.data.texts is None else "texts"
    return [PLAIN_ALARMS[name].format(items=items) for name in alarms if name in PLAIN_ALARMS] + notes
