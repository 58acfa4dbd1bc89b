"""The class table."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from unseen import ClassTable
from unseen.inputs import read_labels


def test_mapping_frame_and_table_are_one_thing() -> None:
    mapping = {"a": [1.0, 2.0], "b": [3.0, 4.0]}
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=["a", "b"], columns=["wings", "legs"])
    table = ClassTable.of(mapping)
    assert dict(table).keys() == mapping.keys()
    np.testing.assert_array_equal(table.vectors, ClassTable.of(frame).vectors)
    assert ClassTable.of(frame).attributes == ("wings", "legs")
    assert ClassTable.of(table) is table
    assert copy.deepcopy(table) == table
    assert table != ClassTable.of(frame)  # it names no attributes


def test_growing_and_restricting() -> None:
    table = ClassTable.of({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    larger = table.with_classes({"c": [5.0, 6.0]})
    assert list(larger) == ["a", "b", "c"]
    assert list(larger.restricted_to(["c", "a"])) == ["c", "a"]
    with pytest.raises(ValueError, match="'a' more than once"):
        table.with_classes({"a": [0.0, 0.0]})


def test_integer_classes_and_integer_vectors() -> None:
    table = ClassTable.of({3: [1, 0], 1: [0, 1]})
    assert table.vectors.dtype == np.float64
    np.testing.assert_array_equal(table.positions([1, 3]), [1, 0])


def test_float32_vectors_stay() -> None:
    assert ClassTable(["a", "b"], np.eye(2, dtype=np.float32)).vectors.dtype == np.float32


def test_text_among_the_numbers() -> None:
    with pytest.raises(ValueError, match="not a number"):
        ClassTable(["a", "b"], [["1", "x"], ["2", "3"]])


def test_classes_of_mixed_types() -> None:
    with pytest.raises(ValueError, match="all strings or all integers"):
        ClassTable.of({"a": [1], 2: [2]})


def test_labels() -> None:
    classes, codes = read_labels(np.array([5, -1, 3, 5]))
    np.testing.assert_array_equal(classes, [3, 5])
    np.testing.assert_array_equal(codes, [1, -1, 0, 1])
    classes, codes = read_labels(np.array([5, -1, 3]), minus_one=False)
    np.testing.assert_array_equal(classes, [-1, 3, 5])
    with pytest.raises(ValueError, match="Unknown label type"):
        read_labels(np.array([0.5, 1.5]))
