"""What estimators are given: parameters, and rows and labels of any type, read once.

Labels become the sorted classes and a code for each row. Sorting a million strings takes seconds, so
only the classes are sorted: strings of one width are compared by a hash of their characters, and
objects by a dictionary.
"""

from __future__ import annotations

from itertools import repeat
from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d, validate_data

from unseen import array_likes, refusals
from unseen.rows.chunk_checks import checked_chunks, checked_weights, coded_chunks
from unseen.rows.labelled import UNLABELLED, Rows
from unseen.rows.passes import aligned, chunked, in_chunks, kept, mapped, summed
from unseen.typing import Array, Codes

FLOATS = [np.float64, np.float32]


class InputChecks:
    """How an estimator reads its parameters, and refuses values out of range."""

    _whole: ClassVar[tuple[str, ...]] = ()
    """Parameters that are integers >= 0."""
    _not_negative: ClassVar[tuple[str, ...]] = ()
    """Parameters that are numbers >= 0."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True  # sparse rows are converted to dense ones, up to a limit
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters whose type or range is not the one that the class declares."""
        for name in self._whole:
            value = getattr(self, name)
            if type(value) is bool or not isinstance(value, Integral) or int(value) < 0:
                self._refuse(name, "an integer >= 0")
        for name in self._not_negative:
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                self._refuse(name, "a number >= 0")

    def _number(self, name: str) -> float | None:
        """Return a parameter that was given by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 <= float(value) < np.inf:
            return float(value)
        self._refuse(name, "'auto' or a number >= 0")

    def _share(self, name: str) -> float | None:
        """Return a parameter that is None or a share, a number in (0, 1]."""
        value = getattr(self, name)
        if value is None or (isinstance(value, Real) and 0 < float(value) <= 1):
            return None if value is None else float(value)
        self._refuse(name, "None or a number in (0, 1]")

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        """Say what a parameter must be."""
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be {wanted}. "
            f"Got {getattr(self, name)!r} instead."
        )


def read_training(
    estimator: Any, X: Any, y: object, sample_weight: object, minus_one: bool, takes_chunks: bool
) -> tuple[Rows, Array]:
    """Return the rows, coded (-1: unlabelled), and the classes: those with a row that has a weight.

    ``minus_one``: -1 marks an unlabelled row. ``takes_chunks``: rows need not be in memory.
    """
    owner = type(estimator).__name__
    if y is None and not estimator.needs_labelled_rows:
        y = np.full(len(X), None, dtype=object)
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None. Give labels; or, if there are "
            "none, and rows and class vectors are embeddings in one space, fit SharedSpacePrototypes."
        )
    chunks = chunked(X)
    if chunks is not None and not takes_chunks:
        if not isinstance(X, np.ndarray):
            refusals.refuse_chunks(owner)
        chunks = None  # a memory map is an array to those that need all rows at once
    if chunks is not None:
        X = checked_chunks(chunks, None, owner)
        estimator.n_features_in_ = X.shape[1]
    else:
        frame = X
        if type(X) is not np.ndarray or X.ndim == 1:
            array_likes.warn_of_other_order(X, y, stacklevel=5)
            X = array_likes.readable_features(X, owner, note=True)
        X = validate_data(estimator, X, dtype=FLOATS, ensure_all_finite=False)
        if not all_finite(X):
            check_array(X, dtype=None, estimator=estimator, input_name="X")  # says what is wrong
    classes, codes = read_labels(aligned(X, y, "y"), minus_one)
    if chunks is None and type(frame) is not np.ndarray:
        array_likes.warn_of_label_columns(frame, X, classes, codes)
    if sample_weight is None:
        return Rows(X, codes), classes
    if chunks is not None:
        weights = aligned(X, sample_weight, "sample_weight")
        weights = kept(mapped(checked_weights, weights, given=(X.dtype,)))
    else:
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
    (heavy,) = summed(_heavy, codes, weights, given=(len(classes),))
    used = np.flatnonzero(heavy)
    recode = np.full(len(classes) + 1, UNLABELLED)
    recode[used] = np.arange(len(used))
    rows = Rows(X, codes, weights).recoded(recode)
    return rows._replace(codes=kept(rows.codes)), classes[used]


def _heavy(codes: Codes, weights: Array, classes: int) -> tuple[Array]:
    """Return how many labelled rows of each class have a weight."""
    return (np.bincount(codes[(weights > 0) & (codes != UNLABELLED)], minlength=classes),)


def read_rows(estimator: Any, X: Any, finite: bool = True) -> Any:
    """Check the rows that a fitted estimator is asked about; chunks are checked as they are read."""
    chunks = chunked(X)
    if chunks is not None:
        return checked_chunks(chunks, estimator.n_features_in_, type(estimator).__name__)
    if type(X) is not np.ndarray or X.ndim == 1:
        X = array_likes.readable_features(X, type(estimator).__name__)
    return validate_data(estimator, X, dtype=FLOATS, reset=False, ensure_all_finite=finite)


def all_finite(X: Array) -> bool:
    """Tell whether no value is NaN or infinite: the sum of a row would be, too.

    A product with ones runs on all cores. The sum of large finite numbers may be infinite, too.
    """
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X @ np.ones(X.shape[1], dtype=X.dtype)).all())


def read_labels(y: object, minus_one: bool = True) -> tuple[Array, Any]:
    """Return the sorted classes of ``y``, and the code of each row (-1 where it has no label).

    A row is unlabelled when its label is -1 (integer labels) or None or NaN (any other). Without
    ``minus_one``, -1 is a class as any other. Labels in chunks have codes in chunks.

    >>> read_labels(np.array(["b", None, "a"], dtype=object))
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    if in_chunks(y):
        return coded_chunks(y, coded_labels, minus_one)
    if type(y) is not np.ndarray or y.ndim != 1:
        y = array_likes.readable_labels(y)
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
