"""The class table."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from unseen import ClassTable
from unseen.semantics import place_among, read_labels


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


@pytest.fixture
def table() -> ClassTable:
    return ClassTable(["cat", "dog", "fox"], [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], ["tail", "bark"])


def test_it_is_a_mapping_of_its_classes(table: ClassTable) -> None:
    assert (len(table), list(table), "dog" in table) == (3, ["cat", "dog", "fox"], True)
    np.testing.assert_array_equal(table["fox"], [2.0, 2.0])
    assert repr(table) == "ClassTable(3 classes, 2 columns)"
    assert table.attributes == ("tail", "bark")


@pytest.mark.parametrize(
    ("classes", "vectors", "attributes"),
    [
        (["cat", "dog", "elk"], [[1.0, 0], [0, 1], [2, 2]], ["tail", "bark"]),
        (["cat", "dog", "fox"], [[1.0, 0], [0, 1], [2, 3]], ["tail", "bark"]),
        (["cat", "dog", "fox"], [[1.0, 0], [0, 1], [2, 2]], ["tail", "howl"]),
        (["cat", "dog", "fox"], [[1.0, 0], [0, 1], [2, 2]], None),
    ],
)
def test_equal_tables_have_the_same_classes_vectors_and_attributes(
    table: ClassTable, classes: list[str], vectors: list[list[float]], attributes: list[str] | None
) -> None:
    assert table == ClassTable(list(table), table.vectors.copy(), ["tail", "bark"])
    assert table != ClassTable(classes, vectors, attributes)
    assert table != {"cat": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("semantics", "message"),
    [
        ((["a", "b"], [[1.0, 2], [3, 4]], ["one"]), r"has 2 columns but 1 attribute names"),
        ((["a", "b", "c", "b"], np.eye(4)), r"names the class 'b' more than once"),
        (([], np.zeros((0, 2))), r"at least one class in one dimension. Got shape \(0,\)"),
        ((np.array([["a"], ["b"]]), np.eye(2)), r"in one dimension. Got shape \(2, 1\)"),
        (([4, -1], np.eye(2)), r"names the class -1, which marks an unlabelled row"),
        (([True, False], np.eye(2)), r"all strings or all integers. Got bool"),
        ((["a", "b"], np.eye(3)), r"one vector for each of 2 classes. Got an array of shape \(3, 3\)"),
        ((["a", "b"], [1.0, 2.0]), r"Got an array of shape \(2,\)"),
        ((["a", "b"], np.zeros((2, 0))), r"Got an array of shape \(2, 0\)"),
        ((["a", "b"], [[1.0, 2.0], [3.0, np.nan]]), r"NaN or infinity: class b, column 1"),
    ],
)
def test_a_table_that_is_refused(semantics: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClassTable(*semantics)


def test_vectors_of_different_widths_are_named() -> None:
    with pytest.raises(ValueError, match=r"'a' has shape \(1,\), 'c' has \(2,\)"):
        ClassTable.of({"a": [1.0], "b": [2.0], "c": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"a mapping or a DataFrame, .* Got list instead"):
        ClassTable.of([[1.0]])


def test_classes_that_have_no_vector_are_named_up_to_five(table: ClassTable) -> None:
    with pytest.raises(ValueError, match=r"no vector for 1 class\(es\): elk\. Add"):
        table.positions(np.array(["cat", "elk"]))
    with pytest.raises(ValueError, match=r"5 class\(es\): a, b, c, d, e\. Add"):
        table.positions("edcba")
    with pytest.raises(ValueError, match=r"6 class\(es\): a, b, c, d, e, …\. Add"):
        table.positions("fedcba")


def test_candidates(table: ClassTable) -> None:
    seen = np.array(["cat", "fox"])
    for wanted, classes in {
        "unseen": ["dog"],
        "seen": ["cat", "fox"],
        "all": ["cat", "dog", "fox"],
        ("fox", "dog"): ["fox", "dog"],
    }.items():
        names, vectors = table.candidates(wanted, seen, "ESZSL")
        assert names.tolist() == classes
        np.testing.assert_array_equal(vectors, [table[name] for name in classes])


@pytest.mark.parametrize(
    ("wanted", "seen", "message"),
    [
        ("others", ["cat"], r"of ESZSL must be 'unseen'.*Got 'others'"),
        (3, ["cat"], r"must be 'unseen'.*Got 3"),
        (["cat", "cat"], ["cat"], r"names a class twice"),
        ("unseen", ["cat", "dog", "fox"], r"no candidates: .*fit saw 3 of the 3 classes"),
    ],
)
def test_candidates_that_are_refused(
    table: ClassTable, wanted: object, seen: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        table.candidates(wanted, np.array(seen), "ESZSL")


def test_of_several_vectors_the_mean_direction_is_taken() -> None:
    table = ClassTable.of({"a": [[3.0, 0.0], [0.0, 4.0]], "b": [[0.0, 2.0], [0.0, 0.0]]})
    np.testing.assert_allclose(table.vectors, [[0.5**0.5, 0.5**0.5], [0.0, 1.0]])
    three = ClassTable.of({"a": [[3.0, 0.0], [0.0, 4.0], [0.0, 9.0]], "b": [[1.0, 0.0]]})
    np.testing.assert_allclose(three["a"], [0.2**0.5, 0.8**0.5])
    zero = ClassTable.of({"a": [[0.0, 0.0]], "b": [[0.0, 1.0]]})
    np.testing.assert_array_equal(zero["a"], [0.0, 0.0])
    short = ClassTable.of({"a": [[0.3, 0.0], [0.0, 4.0]], "b": [[0.0, 0.2]]})
    np.testing.assert_allclose(short.vectors, [[0.5**0.5, 0.5**0.5], [0.0, 1.0]])


def test_one_hot_keeps_labels_of_any_kind() -> None:
    table = ClassTable.one_hot(np.array([-1, 7]))
    np.testing.assert_array_equal(table.vectors, np.eye(2))
    np.testing.assert_array_equal(table.positions([7, -1]), [1, 0])


def test_places_of_labels_among_classes() -> None:
    places = place_among(np.array(["b", "z", "a"]), np.array(["a", "b"]))
    assert places.tolist() == [1, -1, 0]
