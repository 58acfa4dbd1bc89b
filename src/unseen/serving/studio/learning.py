"""One method on one material: rounds as they come, labels, corrections, and what is downloaded."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen import methods
from unseen.exceptions import AdaptationWarning
from unseen.labelling.labels import Labels, answers_of
from unseen.labelling.models import ORIGIN
from unseen.labelling.report import write_report
from unseen.metrics import per_class_accuracy
from unseen.persistence import save
from unseen.serving.studio.material import Material
from unseen.statistics.adaptation import TRUSTED
from unseen.transductive.rounds import Observer
from unseen.typing import Array


def offered() -> list[str]:
    """Return the names of the methods: the default, those that learn from the pool, then the rest."""
    known = methods.catalogue()
    return sorted(known, key=lambda n: (n != methods.DEFAULT, not known[n].transductive, known[n].fast))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The pool after a round."""

    number: int
    probabilities: Array
    joined: Array
    """(M,) whether a row is trusted with its class now, and was not with this class before."""

    @property
    def labels(self) -> Array:
        """The place of each row's class."""
        return np.asarray(self.probabilities.argmax(axis=1))

    @property
    def confidence(self) -> Array:
        """The probability of each row's class."""
        return np.asarray(self.probabilities.max(axis=1))

    @property
    def trusted(self) -> int:
        """How many rows are likelier in their class than in all others."""
        return int((self.confidence >= TRUSTED).sum())

    @property
    def covered(self) -> int:
        """How many classes have a trusted row."""
        return len(np.unique(self.labels[self.confidence >= TRUSTED]))

    @classmethod
    def after(cls, previous: Snapshot | None, number: int, probabilities: Array) -> Snapshot:
        """Return the snapshot that follows another."""
        labels, sure = probabilities.argmax(axis=1), probabilities.max(axis=1) >= TRUSTED
        if previous is None:
            return cls(number, probabilities, sure)
        was = (previous.confidence >= TRUSTED) & (previous.labels == labels)
        return cls(number, probabilities, sure & ~was)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fitted model and its labels; corrected rows have the label that was given to them."""

    method: str
    model: Any
    classes: list[str]
    history: list[Snapshot]
    """The rounds, if the method has any."""
    result: Snapshot
    """The calibrated answer."""
    rounds: Array | None
    """The round that first trusted each row of the pool; -1 for never."""
    corrections: dict[int, str]
    seconds: float
    notes: list[str] = field(default_factory=list)

    def with_labels(self, corrections: Mapping[int, str]) -> Outcome:
        """Return the same with labels that a person gave since; the model is the one before them."""
        probabilities = _put(self.result.probabilities, corrections, self.classes)
        result = replace(self.result, probabilities=probabilities)
        return replace(self, result=result, corrections=dict(corrections))

    def labels(self, material: Material) -> Labels:
        """Return the labels, least sure first."""
        fixed = _Fixed(self.result.probabilities, np.array(self.classes))
        return answers_of(
            fixed, material.pool, material.paths, material.root, self.rounds, material.truth
        )

    def accuracy(self, material: Material) -> float | None:
        """Return the per-class accuracy on rows that nobody corrected, where the truth is known."""
        if not material.truth:
            return None
        rest = np.ones(len(material.truth), dtype=bool)
        rest[list(self.corrections)] = False
        found = np.array(self.classes)[self.result.labels]
        return float(per_class_accuracy(np.array(material.truth)[rest], found[rest]))


@dataclass(frozen=True)
class _Fixed:
    """Answers that are known already, in the form of a model."""

    probabilities: Array
    classes_: Array

    def predict_proba(self, _: Array) -> Array:
        return self.probabilities


def learn(
    material: Material,
    name: str,
    corrections: Mapping[int, str] | None = None,
    before: Outcome | None = None,
    on_round: Callable[[Snapshot, list[str]], None] | None = None,
) -> Outcome:
    """Fit a method; call ``on_round`` with every round as it ends.

    Parameters
    ----------
    material : Material
    name : str
        Of the method.
    corrections : mapping, optional
        Row of the pool → the class that a person gave it. A transductive method keeps these rows in
        the pool, certain of their class, if it can learn from known rows. An inductive one learns from
        the pool as it was labelled before, these rows put right.
    before : Outcome, optional
        What the corrections were made to.
    on_round : callable, optional
        Called in this thread with the snapshot and the classes of its columns.
    """
    known = dict(corrections or {})
    chosen, classes = methods.find(name), list(material.candidates)
    history: list[Snapshot] = []

    def note(number: int, probabilities: Array) -> None:
        history.append(Snapshot.after(history[-1] if history else None, number, probabilities))
        if on_round is not None:
            on_round(history[-1], classes)

    model = chosen.build(material.table, candidates=classes, random_state=0)
    X, y = _rows(material, chosen.transductive, known, before)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(limits=1):
        warnings.simplefilter("always", AdaptationWarning)
        model.fit(X, y, **(_watched(model, known, note) if chosen.transductive else {}))
        probabilities = _put(model.predict_proba(material.pool), known, classes)
    trusted = getattr(model, "labelled_round_", None)
    last = history[-1] if history else None
    return Outcome(
        name,
        model,
        classes,
        history,
        Snapshot.after(last, len(history), probabilities),
        None if trusted is None else np.asarray(trusted)[len(material.X) :],
        known,
        time.perf_counter() - start,
        [str(w.message) for w in caught if issubclass(w.category, AdaptationWarning)],
    )


def _put(probabilities: Array, known: Mapping[int, str], classes: list[str]) -> Array:
    """Return probabilities in which rows with a label that a person gave are sure of it."""
    found = np.array(probabilities)
    for row, label in known.items():
        found[row] = 0
        found[row, classes.index(label)] = 1
    return found


def _watched(model: Any, known: Mapping[int, str], observer: Observer) -> dict[str, Any]:
    """Return the arguments of a transductive ``fit``; a method that cannot use known rows gets none."""
    return {"observer": observer, "known": known if model.takes_known else None}


def _rows(
    material: Material, transductive: bool, known: Mapping[int, str], before: Outcome | None
) -> tuple[Array, Array]:
    """Return the rows to learn from; no label of the pool is in them but those that a person gave."""
    if transductive:
        labels = np.full(len(material.X) + len(material.pool), None, dtype=object)
        labels[: len(material.X)] = material.y
        return np.concatenate([material.X, material.pool]), labels
    if not known or before is None:
        return material.X, material.y
    present = np.array(before.classes, dtype=object)[before.result.labels]
    for row, label in known.items():
        present[row] = label
    return np.concatenate([material.X, material.pool]), np.concatenate([material.y, present])


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same pool."""

    agreement: float
    """The share of rows with the same label."""
    rows: list[int]
    """Rows with different labels, those first about which both are sure."""


def compare(one: Outcome, other: Outcome) -> Comparison:
    """Return where two outcomes differ."""
    names = np.array(one.classes)[one.result.labels], np.array(other.classes)[other.result.labels]
    differ = names[0] != names[1]
    sure = np.minimum(one.result.confidence, other.result.confidence)
    rows = np.flatnonzero(differ)
    return Comparison(float(1 - differ.mean()), rows[np.argsort(-sure[rows])].tolist())


def write_labels(outcome: Outcome, material: Material, folder: Path) -> Path:
    """Write the labels as CSV."""
    path = folder / f"labels-{outcome.method}.csv"
    outcome.labels(material).write(path)
    return path


def write_model(outcome: Outcome, material: Material, folder: Path) -> Path:
    """Write the model file; it says where its features came from, if they are of photographs."""
    path = folder / f"model-{outcome.method}.safetensors"
    if material.origin:
        setattr(outcome.model, ORIGIN, dict(material.origin))
    save(outcome.model, path)
    return path


def write_page(outcome: Outcome, material: Material, folder: Path) -> Path:
    """Write the report."""
    path = folder / f"report-{outcome.method}.html"
    facts = {"data": material.name, "features": material.features, "method": outcome.method}
    if outcome.corrections:
        facts["corrected by hand"] = f"{len(outcome.corrections)}"
    notes = [*material.notes, *outcome.notes]
    write_report(path, outcome.labels(material), facts, notes, material.skipped)
    return path
