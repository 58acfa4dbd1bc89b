"""Labels as codes: the sorted classes, and the place of each label among them.

Sorting a million strings takes seconds. Here only the classes are sorted: strings of one width are
told apart by a hash of their characters, and objects by a dictionary.
"""

from __future__ import annotations

from itertools import repeat

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from unseen.typing import Array, Codes

NO_LABEL = -1
"""The code of a row without a label."""


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
        counted = given != NO_LABEL
        named[named], given = counted, given[counted]
    codes = np.full(len(labels), NO_LABEL, dtype=np.intp)
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
        return np.empty(0, dtype=np.int64), np.full(len(values), NO_LABEL, dtype=np.intp)
    classes, place = np.unique(np.array(distinct), return_inverse=True)
    code_of = dict(zip(distinct, place.tolist(), strict=True))
    return classes, np.fromiter(map(code_of.get, values, repeat(NO_LABEL)), np.intp, len(values))


def is_missing(label: object) -> bool:
    """Tell whether a label says that there is none."""
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
