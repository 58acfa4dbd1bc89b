"""Classes: their table, class → semantic vector, and the codes of their labels.

Every estimator takes ``semantics``: a mapping from a class to its vector, or to several of which the
mean direction is taken, a :class:`pandas.DataFrame` whose index holds the classes, or a
:class:`ClassTable`. All three become a :class:`ClassTable` here, and nowhere else.

Labels become the sorted classes and a code for each row. Sorting a million strings takes seconds, so
only the classes are sorted: strings of one width are compared by a hash of their characters, and
objects by a dictionary.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.array_likes import class_labels, class_vectors, one_vector, readable_labels
from unseen.rows.chunks import Chunks
from unseen.typing import UNLABELLED, Array, Codes


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
        self.classes = class_labels(classes)
        self.vectors = class_vectors(vectors, self.classes)
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
            semantics = {k: one_vector(v) for k, v in semantics.items()}
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


def read_labels(y: object, minus_one: bool = True) -> tuple[Array, Any]:
    """Return the sorted classes of ``y``, and the code of each row (-1 where it has no label).

    A row is unlabelled when its label is -1 (integer labels) or None or NaN (any other). Without
    ``minus_one``, -1 is a class as any other. Labels in chunks have codes in chunks.

    >>> read_labels(np.array(["b", None, "a"], dtype=object))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    # Here, since they are slow to import, and a table of classes needs neither.
    from sklearn.utils.validation import column_or_1d

    from unseen.rows.chunk_checks import coded_chunks

    if isinstance(y, Chunks):
        return coded_chunks(y, coded_labels, minus_one)
    if type(y) is not np.ndarray or y.ndim != 1:
        y = readable_labels(y)
    return coded_labels(column_or_1d(y, warn=True), minus_one)


def coded_labels(labels: Array, minus_one: bool = True) -> tuple[Array, Codes]:
    """Return the classes of labels of any type, and the code of each; -1 where a row has no label.

    Without ``minus_one``, the integer -1 is a class as any other.
    """
    if labels.dtype.kind in "US":
        return text_codes(labels)
    if labels.dtype.kind not in "iufb":
        return object_codes(labels)
    named = ~np.isnan(labels) if labels.dtype.kind == "f" else np.ones(len(labels), dtype=bool)
    given = labels[named]
    if given.dtype.kind == "f":  # integers that a missing value turned into floats
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(given)
        given = given.astype(np.int64)
    if minus_one and given.dtype.kind in "iu":
        counted = given != UNLABELLED
        named[named], given = counted, given[counted]
    codes = np.full(len(labels), UNLABELLED, dtype=np.intp)
    classes, codes[named] = np.unique(given, return_inverse=True)
    return classes, codes


def text_codes(labels: Array) -> tuple[Array, Codes]:
    """Return the classes of a NumPy array of strings or bytes, and the code of each label.

    >>> text_codes(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    _, first, group = np.unique(_hashes(labels), return_index=True, return_inverse=True)
    examples = labels[first]
    if not np.array_equal(examples[group], labels):  # two strings with one hash
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    classes, place = np.unique(examples, return_inverse=True)
    return classes, place[group]


def object_codes(labels: Array) -> tuple[Array, Codes]:
    """Return the classes of an array of objects, and the code of each label; -1 where it is missing.

    All labels that are not missing (None, NaN, ``pandas.NA``) must be strings, or all integers.

    >>> object_codes(np.array(["b", None, "a"], dtype=object))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    values = labels.tolist()
    kinds = set(map(type, values))
    floats = {kind for kind in kinds if issubclass(kind, float)}
    if floats and all(is_missing(v) for v in values if type(v) in floats):  # 1.0 is no class, NaN none
        kinds -= floats
    kinds = {kind for kind in kinds if kind.__name__ not in _MISSING_TYPES}
    texts, integers = (all(issubclass(k, t) for k in kinds) for t in (str, (int, np.integer)))
    if not (texts or integers):
        raise ValueError(
            "Unknown label type: y must hold strings or integers, all of one type, and None for "
            f"an unlabelled row. Got {', '.join(sorted(k.__name__ for k in kinds))}. Write all "
            "labels in one type, that of the classes of semantics."
        )
    distinct = [label for label in dict.fromkeys(values) if not is_missing(label)]
    if not distinct:
        return np.empty(0, dtype=np.int64), np.full(len(values), UNLABELLED, dtype=np.intp)
    classes, place = np.unique(np.array(distinct), return_inverse=True)
    code_of = dict(zip(distinct, place.tolist(), strict=True))
    return classes, np.fromiter(map(code_of.get, values, repeat(UNLABELLED)), np.intp, len(values))


def is_missing(label: object) -> bool:
    """Tell whether a label is missing: None, NaN or ``pandas.NA``."""
    missing = label is None or type(label).__name__ in _MISSING_TYPES
    return missing or (isinstance(label, float) and bool(np.isnan(label)))


_MISSING_TYPES = ("NoneType", "NAType", "NaTType")  # the last two are those of pandas


def _hashes(labels: Array) -> npt.NDArray[np.uint64]:
    """Return a hash of each string: the sum of its characters with random odd factors."""
    letter = np.uint32 if labels.dtype.kind == "U" else np.uint8
    width = labels.dtype.itemsize // np.dtype(letter).itemsize
    letters = np.ascontiguousarray(labels).view(letter).reshape(len(labels), width)
    factors = np.random.default_rng(0).integers(2**63, size=width, dtype=np.uint64) * 2 + 1
    hashes = np.zeros(len(labels), dtype=np.uint64)
    for column, factor in zip(letters.T, factors, strict=True):  # modulo 2**64, without a wide copy
        hashes += column * factor
    return hashes
