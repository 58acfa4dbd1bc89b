"""The class table: class → semantic vector.

Every estimator takes ``semantics``: a mapping from a class to its vector, or to several of which the
mean direction is taken, a
:class:`pandas.DataFrame` whose index holds the classes, or a :class:`ClassTable`. All three
become a :class:`ClassTable` here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.typing import Array, Codes


class ClassTable(Mapping[Hashable, Array]):
    """Classes and their semantic vectors, in one order.

    Parameters
    ----------
    classes : sequence of K labels
        Strings or integers, each once.
    vectors : array of shape (K, q)
        Row k describes ``classes[k]``.
    attributes : sequence of q strings, optional
        What the columns mean.

    Examples
    --------
    >>> table = ClassTable(["cat", "dog"], [[1.0, 0.0], [0.0, 1.0]])
    >>> table["dog"]
    array([0., 1.])
    >>> len(table.with_classes({"fox": [0.5, 0.5]}))
    3
    """

    FILE_KEY = "class-table"

    def __init__(
        self,
        classes: Sequence[Hashable] | Array,
        vectors: npt.ArrayLike,
        attributes: Sequence[str] | None = None,
    ) -> None:
        self.classes = _as_labels(classes)
        self.vectors = _as_vectors(vectors, self.classes)
        self.attributes = None if attributes is None else tuple(str(a) for a in attributes)
        if self.attributes is not None and len(self.attributes) != self.vectors.shape[1]:
            raise ValueError(
                f"semantics has {self.vectors.shape[1]} columns but {len(self.attributes)} "
                "attribute names. Give one name for each column."
            )
        self._position = {label: i for i, label in enumerate(self.classes.tolist())}
        if len(self._position) < len(self.classes):
            names, counts = np.unique(self.classes, return_counts=True)
            raise ValueError(
                f"semantics names the class {names[counts > 1][0].item()!r} more than once. "
                "Keep one vector for each class."
            )

    @classmethod
    def one_hot(cls, classes: Array) -> ClassTable:
        """Return a table in which every class is its own attribute."""
        table = cls(np.arange(len(classes)), np.eye(len(classes)))
        table.classes = classes
        table._position = {label: i for i, label in enumerate(classes.tolist())}
        return table

    @classmethod
    def of(cls, semantics: object) -> ClassTable:
        """Read a mapping, a DataFrame or a table; raise a ValueError that says what is wrong."""
        if isinstance(semantics, ClassTable):
            return semantics
        if hasattr(semantics, "index") and hasattr(semantics, "to_numpy"):  # a DataFrame
            columns = [str(c) for c in getattr(semantics, "columns", [])]
            return cls(semantics.index.to_numpy(), semantics.to_numpy(), columns or None)
        if isinstance(semantics, Mapping):
            semantics = {k: _one_vector(v) for k, v in semantics.items()}
            widths = {k: np.shape(v) for k, v in semantics.items()}
            if len(set(widths.values())) > 1:
                first, *rest = widths
                odd = next(k for k in rest if widths[k] != widths[first])
                raise ValueError(
                    f"The vectors in semantics differ in width: {first!r} has shape "
                    f"{widths[first]}, {odd!r} has {widths[odd]}. Give every class a vector of "
                    "the same length."
                )
            return cls(list(semantics), [np.asarray(v) for v in semantics.values()])
        raise ValueError(
            "The 'semantics' parameter must be a mapping or a DataFrame, class -> vector, or None. "
            f"Got {type(semantics).__name__} instead."
        )

    def __getitem__(self, label: Hashable) -> Array:
        vector: Array = self.vectors[self._position[label]]
        return vector

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.classes.tolist())

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        return f"ClassTable({len(self)} classes, {self.vectors.shape[1]} columns)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassTable):
            return NotImplemented
        return (
            np.array_equal(self.classes, other.classes)
            and np.array_equal(self.vectors, other.vectors)
            and self.attributes == other.attributes
        )

    __hash__ = None  # type: ignore[assignment]  # it compares by value and holds arrays

    def positions(self, labels: Iterable[Hashable]) -> npt.NDArray[np.intp]:
        """Return the row of each label; an unknown label raises a ValueError that names it."""
        labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        missing = sorted({str(label) for label in set(labels) if label not in self._position})
        if missing:
            raise ValueError(
                f"semantics has no vector for {len(missing)} class(es): {', '.join(missing[:5])}"
                f"{', …' if len(missing) > 5 else ''}. Add their vectors, or leave their rows out."
            )
        return np.fromiter(map(self._position.__getitem__, labels), np.intp, len(labels))

    def candidates(self, wanted: object, seen: Array, owner: str) -> tuple[Array, Array]:
        """Return candidate classes and their vectors.

        Parameters
        ----------
        wanted : {"unseen", "seen", "all"} or sequence of classes
        seen : array
            The classes that ``fit`` saw.
        owner : str
            The estimator, for messages.
        """
        named = isinstance(wanted, str) and wanted in ("unseen", "seen", "all")
        if not named and (isinstance(wanted, str) or not isinstance(wanted, Iterable)):
            raise ValueError(
                f"The 'candidates' parameter of {owner} must be 'unseen', "
                f"'seen', 'all' or a list of classes. Got {wanted!r} instead."
            )
        if isinstance(wanted, str):
            known = np.isin(self.classes, seen)
            rows = np.flatnonzero({"unseen": ~known, "seen": known, "all": known | True}[wanted])
        else:
            rows = self.positions(np.asarray(wanted).tolist())
            if len(set(rows.tolist())) < len(rows):
                raise ValueError("The 'candidates' parameter names a class twice. Name each once.")
        if len(rows) == 0:
            raise ValueError(
                f"There are no candidates: candidates={wanted!r}, and fit saw "
                f"{len(seen)} of the {len(self)} classes of semantics. Add the "
                "unseen classes to semantics, or set candidates='seen' or 'all'."
            )
        return self.classes[rows], self.vectors[rows]

    def with_classes(self, more: object) -> ClassTable:
        """Return a larger table: these classes and those of ``more``."""
        other = ClassTable.of(more)
        return ClassTable(
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.vectors, other.vectors]),
            self.attributes,
        )

    def restricted_to(self, labels: Iterable[Hashable]) -> ClassTable:
        """Return the table of these classes only, in the order given."""
        rows = self.positions(labels)
        return ClassTable(self.classes[rows], self.vectors[rows], self.attributes)


def place_among(labels: Array, classes: Array) -> Codes:
    """Return the place of each label among classes, -1 for one that is not there."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.fromiter(map(place.get, labels.tolist(), repeat(-1)), np.intp, len(labels))


def _one_vector(value: Any) -> Any:
    """Return the vector of a class; of several, their mean at unit length."""
    if np.ndim(value) != 2 or not len(value):
        return value
    vectors = np.asarray(value, dtype=float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    mean = (vectors / np.where(lengths > 0, lengths, 1)).mean(axis=0)
    return mean / (np.linalg.norm(mean) or 1.0)


def _as_labels(classes: Sequence[Hashable] | Array) -> Array:
    labels = classes if isinstance(classes, np.ndarray) else np.array(list(classes), dtype=object)
    if labels.dtype.kind not in "iuUS":
        values = labels.ravel().tolist()
        whole = [isinstance(v, int | np.integer) and not isinstance(v, bool) for v in values]
        if all(isinstance(v, str) for v in values):
            labels = np.array(values, dtype=str)
        elif all(whole):
            labels = np.array(values, dtype=np.int64)
        else:
            kinds = sorted({type(v).__name__ for v in values})
            raise ValueError(
                "The classes of semantics must be all strings or all integers. "
                f"Got {' and '.join(kinds)}."
            )
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(
            f"semantics must name at least one class in one dimension. Got shape {labels.shape}."
        )
    if labels.dtype.kind == "i" and (labels == -1).any():
        raise ValueError(
            "semantics names the class -1, which marks an unlabelled row. Give that class another "
            "label."
        )
    return labels


def _as_vectors(vectors: npt.ArrayLike, classes: Array) -> Array:
    try:
        values = np.asarray(vectors)
        if values.dtype.kind not in "fiub":
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"semantics holds something that is not a number: {error}.") from None
    if values.dtype.kind != "f":
        values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0] != len(classes) or values.shape[1] == 0:
        raise ValueError(
            f"semantics must give one vector for each of {len(classes)} classes. "
            f"Got an array of shape {values.shape}."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"semantics holds NaN or infinity: class {classes[row]!s}, column {column}. "
            "Fill or drop the missing values."
        )
    return values
