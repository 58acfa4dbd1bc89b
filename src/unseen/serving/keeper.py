"""The model that is served, and its file: read once, enlarged by whole new files only."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unseen.exceptions import DataError, NonFiniteScores
from unseen.labelling.classes import Given, Recipe
from unseen.labelling.photo_models import add_classes, load_model, model_origin, recipe_of
from unseen.persistence import changing
from unseen.semantics import ClassTable
from unseen.serving.batching import Answered
from unseen.typing import Array, Classifier, Label

LONGEST_NAME = 200
"""Characters of a class name."""


LARGEST_RATIO = 10
"""A new class vector may be so many times as long as the longest of the model: a class with a vector
that is far longer than all others would win nearly every answer."""


class ClassRefused(DataError):
    """A class that cannot be added as a client describes it."""


class ClassConflict(ClassRefused):
    """A class that is to be added but is there, or is to be removed but must stay."""


class UnknownClass(ClassRefused):
    """A class that is to be removed, but the model does not know it."""


@dataclass(frozen=True)
class NewClass:
    """A class as a client describes it: by one of vector, attributes and description."""

    name: str | int
    vector: list[float] | None = None
    attributes: dict[str, float] | None = None
    description: str | None = None


class Keeper:
    """Keeps a model in memory and in its file, the same in both.

    The model in memory is never changed: a class is added to a fresh copy from the file, the copy is
    written beside the file and on the disk before it takes the file's place, and only then answers come
    from it. So a process that is killed at any moment leaves the old file or the new one, and a class
    whose addition was confirmed is in the file. Other processes wait meanwhile: what they have added is
    read before, and what they add is added to this.

    Parameters
    ----------
    path : path
        A model file.
    most_classes : int
    words : str
        The encoder of descriptions, if it is not a built-in one: a model file cannot choose it.
    """

    def __init__(
        self, path: str | os.PathLike[str], most_classes: int = 100_000, words: str = ""
    ) -> None:
        self.path = Path(path)
        self._most = most_classes
        self._words = words
        self._writing = threading.Lock()
        model, self.origin = load_model(self.path)
        self._now: tuple[Classifier, list[Label]] = model, model.classes_.tolist()

    @property
    def model(self) -> Any:
        """The model that answers; it is replaced, never changed."""
        return self._now[0]

    @property
    def classes(self) -> list[Label]:
        """The classes among which it answers."""
        return self._now[1]

    @property
    def features(self) -> int:
        """How many numbers a row has."""
        return int(self.model.n_features_in_)

    def score(self, X: Array) -> Answered:
        """Return the probabilities of all candidates for the rows of X; and strangers, if it looks."""
        model, classes = self._now
        with np.errstate(all="ignore"):  # what overflows is NaN here, and the caller is told
            try:
                fine, probabilities = np.arange(len(X)), np.asarray(model.predict_proba(X))
            except NonFiniteScores as error:  # rows of other requests in the batch are answered
                fine = np.setdiff1d(np.arange(len(X)), error.rows)
                probabilities = np.full((len(X), len(classes)), np.nan)
                if len(fine):
                    probabilities[fine] = model.predict_proba(X[fine])
            strangers = None
            if getattr(model, "strangers_", None) is not None:
                strangers = np.zeros((len(X), 2))
                strangers[fine] = _strangers(model, X[fine])
        return Answered(probabilities, classes, model, strangers)

    def table(self) -> ClassTable | None:
        """Return the class vectors, or None if the model has none (one-hot, or a pipeline)."""
        ask = getattr(self.model, "_parameters", None)
        semantics = ask()[0] if ask is not None else None
        return None if semantics is None else ClassTable.of(semantics)

    def seen(self) -> set[Label]:
        """Return the classes that had labelled rows."""
        last = self.model[-1] if hasattr(self.model, "steps") else self.model
        return set(last.seen_classes_.tolist())

    def add(self, new: NewClass) -> None:
        """Make the model know one more class, in its file and in memory; one at a time.

        What is wrong with the class is a ClassRefused; any other error is one of the file.
        """
        with self._changing() as model, _refusing():
            self._enlarge(model, new)

    def remove(self, name: str) -> None:
        """Remove a class that has no labelled rows, in the file and in memory."""
        with self._changing() as model, _refusing():
            table = _table(model)
            label = next((known for known in table if str(known) == name), None)
            if label is None:
                raise UnknownClass("The model knows no such class.")
            if label in set(model.seen_classes_.tolist()):
                raise ClassConflict("The class had labelled rows when the model was fitted: it stays.")
            if model.classes_.tolist() == [label]:
                raise ClassConflict("It is the only class that the model can answer: it stays.")
            candidates = model.get_params()["candidates"]
            if candidates is not None and not isinstance(candidates, str):
                rest = [c for c in np.asarray(candidates).tolist() if c != label]
                model.set_params(candidates=rest)
            model.set_params(semantics=table.restricted_to([c for c in table if c != label]))

    @contextmanager
    def _changing(self) -> Iterator[Any]:
        """Give a fresh copy of the model; write it, and answer from it, if the block ends well."""
        with self._writing:
            with changing(self.path) as model:
                yield model
                with _refusing():
                    classes = model.classes_.tolist()
                    model.predict_proba(np.zeros((1, self.features)))  # before the file changes
            self._now = model, classes

    def _enlarge(self, model: Classifier, new: NewClass) -> None:
        shown = Path(self.path.name)  # a client need not know where the file is
        _check(new, model, self._most)
        if new.vector is not None:
            columns = [str(i) for i in range(len(new.vector))]
            recipe, given = Recipe(attributes=tuple(columns)), _given(new, columns, new.vector)
        elif new.attributes is not None:
            recipe = recipe_of(model, model_origin(model, shown), shown, self._words)
            given = _given(new, list(new.attributes), list(new.attributes.values()))
        else:
            recipe = recipe_of(model, model_origin(model, shown), shown, self._words)
            descriptions = {str(new.name): new.description} if new.description else {}
            given = Given("the class", [new.name], descriptions=descriptions)  # type: ignore[list-item]
        before = _table(model).vectors
        add_classes(model, recipe, given, shown)
        _check_length(_table(model).vectors[-1], before)


def _strangers(model: Any, X: Array) -> Array:
    """Return the probability of being a stranger, and whether the model says so."""
    if not len(X):
        return np.zeros((0, 2))
    called = ~np.isin(model.predict(X), model.classes_)
    return np.column_stack([model.stranger_proba(X), called])


@contextmanager
def _refusing() -> Iterator[None]:
    """Make what is wrong with a class a ClassRefused."""
    try:
        yield
    except ClassRefused:
        raise
    except ValueError as error:  # DataError is one
        raise ClassRefused(str(error)) from None


def _table(model: Classifier) -> ClassTable:
    ask = getattr(model, "_parameters", None)
    if ask is None or ask()[0] is None:
        raise ClassRefused("This model has no class vectors, so its classes cannot be changed.")
    return ClassTable.of(ask()[0])


def _check_length(vector: Array, known: Array) -> None:
    """Refuse a vector that is far longer than those of the model."""
    with np.errstate(over="ignore"):
        length, longest = np.linalg.norm(vector), np.linalg.norm(known, axis=1).max()
    if longest > 0 and not length <= LARGEST_RATIO * longest:
        raise ClassRefused(
            f"The vector of the class has the length {length:.3g}, and those of the model at most "
            f"{longest:.3g}: it would win nearly every answer. Check its units."
        )


def _given(new: NewClass, columns: list[str], numbers: list[float]) -> Given:
    values = np.array([numbers], dtype=float)
    if not np.isfinite(values).all():
        raise DataError(f"The class {new.name!r} is described by NaN or infinity. Give finite numbers.")
    descriptions = {str(new.name): new.description} if new.description else {}
    return Given("the class", [new.name], columns, values, descriptions)  # type: ignore[list-item]


def _check(new: NewClass, model: Classifier, most: int) -> None:
    name, table = new.name, _table(model)
    whole = table.classes.dtype.kind in "iu"
    if whole != isinstance(name, int):
        kind = "an integer" if whole else "a text"
        raise DataError(f"The classes of this model are named by {kind}. Got {name!r}.")
    if isinstance(name, str):
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise DataError(f"A class name has 1 to {LONGEST_NAME} printable characters.")
    elif not -(2**63) <= name < 2**63 or name == -1:
        raise DataError(f"The class {name} cannot be: give an integer of 64 bits other than -1.")
    if name in table:
        raise ClassConflict(f"The model knows the class {name!r} already.")
    if len(table) >= most:
        raise DataError(f"The model has {len(table):,} classes, which is the limit of this service.")
    width = table.vectors.shape[1]
    if new.vector is not None and len(new.vector) != width:
        raise DataError(f"The vector has {len(new.vector)} numbers, but class vectors have {width}.")
