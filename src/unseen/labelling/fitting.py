"""One way to label a pool, for the command line and the studio alike."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen import NoneOfThese, methods
from unseen.exceptions import AdaptationWarning, DataError
from unseen.labelling.labels import Labels, answers_of
from unseen.labelling.pool_data import PoolData
from unseen.labelling.pool_probabilities import certain, prediction_sets, row_answers
from unseen.labelling.task import Task, check_strangers
from unseen.metrics import per_class_accuracy
from unseen.transductive.rounds import Observer
from unseen.typing import Array, Classifier, Codes, JsonObject

SINGLE_THREAD_NUMBERS = 5000 * 1280
"""Numbers in X below which one thread fits: on small matrices more threads only wait for each other."""

PLAIN_ALARMS = {
    "uneven": "Some classes seem to have many {items} and others few or none. The labels take that "
    "into account. Leave out classes that cannot occur.",
    "rehearsal": "In a rehearsal on the labelled classes, learning from the {items} to label made the "
    "answers slightly worse. Compare with a method that does not learn from them, as ASTE.",
}
"""Alarm of the review of a pool → what a person who labels should know of it."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, and its answers for the pool."""

    task: Task
    model: Any
    classes: list[str]
    """Of the columns of ``probabilities``: the candidates and ``task.unknown``, if rows may have it."""
    probabilities: Array
    """One row for each item of the pool; corrected rows are certain of their class."""
    rounds: Array | None
    """The round that first trusted each row of the pool, -1 for never; None without rounds."""
    seconds: float
    notes: list[str] = field(default_factory=list)
    start: Array | None = None
    """The first answer for each row of the pool, of a method that corrects one; otherwise None."""
    strangers: Array | None = None
    """The probability of each row of the pool to belong to no candidate; None if nobody asked."""

    @property
    def truth(self) -> list[str]:
        """The classes of the pool in a trial; with strangers, a class that is no candidate is one."""
        truth, among = self.task.data.truth, {*self.classes, ""}
        if self.strangers is None:
            return truth
        return [label if label in among else self.task.unknown for label in truth]

    @property
    def predicted(self) -> Array:
        """The class of each row of the pool."""
        return np.asarray(np.array(self.classes)[self.probabilities.argmax(axis=1)])

    def corrected(self, corrections: Mapping[int, str]) -> Fitted:
        """Return the same model with labels that a person gave since it was fitted."""
        classes, probabilities = self.classes, self.probabilities
        if self.task.unknown in corrections.values() and self.task.unknown not in classes:
            classes = [*classes, self.task.unknown]
            probabilities = np.hstack([probabilities, np.zeros((len(probabilities), 1))])
        probabilities = certain(probabilities, corrections, classes)
        task = replace(self.task, corrections=dict(corrections))
        strangers = self.strangers
        if strangers is not None:
            strangers = strangers.copy()
            strangers[list(corrections)] = [label == task.unknown for label in corrections.values()]
        return replace(
            self, task=task, classes=classes, probabilities=probabilities, strangers=strangers
        )

    def labels(self, coverage: float | None = None) -> Labels:
        """Return the labels of the pool, least confident first; in a trial, with the accuracy.

        With ``coverage``, each has a prediction set, which should hold the right class that often.
        """
        data, sets = self.task.data, None
        if coverage is not None:
            sets = prediction_sets(self.model, self.probabilities, self.strangers, coverage)
        return answers_of(
            self.probabilities,
            self.classes,
            data.items,
            data.root,
            self.truth,
            data.texts,
            [] if self.start is None else [str(label) for label in self.start],
            data.broken if data.texts is None else (),
            self.strangers,
            sets,
            coverage,
        )

    def accuracy(self) -> float | None:
        """Return the per-class accuracy on rows that nobody corrected, where the truth is known."""
        truth = self.truth
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

    Rows of which a person said that they belong to no candidate are left out of the pool. Where
    strangers are looked for, every method gets the pool, an inductive one for that alone.

    Parameters
    ----------
    task : Task
    observer : callable, optional
        Called with the number and the probabilities of every round of a transductive method; the
        columns are those of :attr:`Fitted.probabilities`.
    """
    learned, model = task.without_left_out(), _built(task)
    threads = 1 if task.data.X.size + task.data.pool.size < SINGLE_THREAD_NUMBERS else None
    start = time.perf_counter()
    with threadpool_limits(threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptationWarning)
        _learn(model, learned, task.observed(observer))
        answers = row_answers(model, learned.data.pool, _pool_answers(model, learned.data))
    seconds = time.perf_counter() - start
    classes = answers.classes
    first, rounds = (
        None if values is None else np.asarray(values)[len(task.data.X) :]
        for values in (getattr(model, "start_", None), getattr(model, "labelled_round_", None))
    )
    strangers = answers.strangers
    fitted = Fitted(
        replace(task, corrections={}),
        model,
        classes,
        task.spread(answers.probabilities, np.eye(len(classes))[-1]),
        None if rounds is None else task.spread(rounds, -1),
        seconds,
        _pool_notes(caught, model, task),
        None if first is None else task.spread(first, task.unknown),
        None if strangers is None else task.spread(strangers, 1.0),
    )
    return fitted.corrected(task.corrections)


def _built(task: Task) -> Any:
    """Return the estimator of a task, unfitted."""
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
    if task.strangers is None:
        return model
    check_strangers(task.method, task.strangers, len(np.unique(data.y)))
    given: JsonObject = {"strangers": task.strangers, "unknown": task.unknown}
    if "strangers" in model.get_params():
        return model.set_params(**given)
    return NoneOfThese(model, **given)


def _learn(model: Any, task: Task, observer: Observer | None) -> None:
    """Fit a model on the rows of a task."""
    data, transductive = task.data, methods.find(task.method).transductive
    if task.strangers is not None and not transductive:
        model.fit(*_training_rows(data, True, task.corrections))
        return
    X, y = _training_rows(data, transductive)
    if transductive:
        known = dict(task.corrections) if _takes_known(model) and task.corrections else None
        model.fit(X, y, observer=observer, known=known)
        return
    model.fit(X, y)
    if task.corrections:
        model.fit(np.concatenate([X, data.pool]), np.concatenate([y, _answers(model, task)]))


def _takes_known(model: Any) -> bool:
    return bool(getattr(getattr(model, "estimator", model), "takes_known", False))


def _training_rows(
    data: PoolData, with_pool: bool, corrections: Mapping[int, str] | None = None
) -> tuple[Array, Array]:
    """Return the rows and labels that the method learns from; corrected rows of the pool have one."""
    if not with_pool:
        return data.X, data.y
    labels = np.full(len(data.X) + len(data.pool), None, dtype=object)
    labels[: len(data.X)] = data.y
    for row, label in (corrections or {}).items():
        labels[len(data.X) + row] = label
    return np.concatenate([data.X, data.pool]), labels


def _pool_answers(model: Any, data: PoolData) -> Codes | None:
    """Return the column of each answer of the pool, of a model that has a ``confidence_`` of it."""
    if len(getattr(model, "confidence_", ())) != len(data.pool) or not len(data.pool):
        return None
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    best = np.asarray(model.predict_proba(data.pool)).argmax(
        axis=1
    )  # of rows that are called strangers
    labels = np.asarray(model.transduction_)[len(data.X) :].tolist()
    return np.array([place.get(label, k) for label, k in zip(labels, best, strict=True)], dtype=np.intp)


def _answers(model: Classifier, task: Task) -> Array:
    """Return the answers of a model for the pool, with the labels that a person gave."""
    answers = np.asarray(model.predict(task.data.pool)).astype(object)
    for row, label in task.corrections.items():
        answers[row] = label
    return answers


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
