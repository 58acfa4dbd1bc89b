"""What the studio shows of a fit: the pool after each round, the result, and two methods compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from unseen import labelling
from unseen.features.words import readable
from unseen.labelling import Fitted, PoolData
from unseen.statistics.adaptation import TRUSTED
from unseen.typing import Array

NONE_OF_THESE = labelling.UNKNOWN
"""The label of an item that belongs to no candidate."""


def said(label: str) -> str:
    """Return a label as the page says it."""
    return "none of these" if label == NONE_OF_THESE else readable(label)


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
        labels, is_trusted = probabilities.argmax(axis=1), probabilities.max(axis=1) >= TRUSTED
        if previous is None:
            return cls(number, probabilities, is_trusted)
        was_trusted = (previous.confidence >= TRUSTED) & (previous.labels == labels)
        return cls(number, probabilities, is_trusted & ~was_trusted)


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fit, its rounds, and its labels as a snapshot."""

    fitted: Fitted
    history: list[Snapshot]
    """The rounds, if the method has any."""
    result: Snapshot
    """The calibrated answer; corrected rows have the label that was given to them."""

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.fitted.task.method

    @property
    def classes(self) -> list[str]:
        """The classes of the columns."""
        return self.fitted.classes

    def with_labels(self, corrections: Mapping[int, str]) -> Outcome:
        """Return the same with labels that a person gave since; the model is the one before them."""
        fitted = self.fitted.corrected(corrections)
        return replace(
            self, fitted=fitted, result=replace(self.result, probabilities=fitted.probabilities)
        )


def learn(
    data: PoolData,
    method: str,
    corrections: Mapping[int, str] | None = None,
    on_round: Callable[[Snapshot], None] | None = None,
    strangers: bool = False,
) -> Outcome:
    """Fit a method; call ``on_round`` with every round as it ends.

    Parameters
    ----------
    data : PoolData
    method : str
    corrections : mapping, optional
        Row of the pool → the class that a person gave it.
    on_round : callable, optional
        Called in this thread.
    strangers : bool
        Whether to look for items that belong to no candidate.
    """
    history: list[Snapshot] = []

    def observe(number: int, probabilities: Array) -> None:
        history.append(Snapshot.after(history[-1] if history else None, number, probabilities))
        if on_round is not None:
            on_round(history[-1])

    looked_for = "auto" if strangers else None
    task = labelling.Task(data, method, corrections=dict(corrections or {}), strangers=looked_for)
    fitted = labelling.fit(task, observe)
    last = history[-1] if history else None
    return Outcome(fitted, history, Snapshot.after(last, len(history), fitted.probabilities))


@dataclass(frozen=True)
class Comparison:
    """Two methods on the same pool."""

    agreement: float
    """The share of rows with the same label."""
    rows: list[int]
    """Rows with different labels, those first about which both are confident."""


def compare(one: Outcome, other: Outcome) -> Comparison:
    """Return where two outcomes differ."""
    differ = one.fitted.predicted != other.fitted.predicted
    confidence = np.minimum(one.result.confidence, other.result.confidence)
    rows = np.flatnonzero(differ)
    return Comparison(float(1 - differ.mean()), rows[np.argsort(-confidence[rows])].tolist())
