"""Labels as codes, against ``np.unique`` on the labels themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import semantics
from unseen.semantics import object_codes, read_labels, text_codes

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=40)


def assert_same(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_array_equal(own, other)


@settings(max_examples=50, deadline=None)
@given(TEXTS)
def test_strings_of_any_kind(texts):
    """A NumPy string has no trailing NUL, an object may have one: both give the same classes."""
    labels = np.array(texts)
    expected = np.unique(labels, return_inverse=True)
    assert_same(text_codes(labels), expected)
    assert_same(object_codes(np.array(texts, dtype=object)), expected)
    encoded = np.char.encode(labels, "utf-8")
    assert_same(text_codes(encoded), np.unique(encoded, return_inverse=True))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40))
def test_integers_as_objects(values):
    expected = np.unique(np.array(values), return_inverse=True)
    assert_same(object_codes(np.array(values, dtype=object)), expected)


def test_strings_with_one_hash(monkeypatch):
    """A collision is found, because every string is compared with the class that it is given."""
    monkeypatch.setattr(semantics, "_hashes", lambda labels: np.zeros(len(labels), dtype=np.uint64))
    labels = np.array(["b", "a", "b", "c"])
    assert_same(text_codes(labels), np.unique(labels, return_inverse=True))


def test_strings_that_do_not_lie_side_by_side():
    labels = np.array(["b", "x", "a", "x", "b", "x"])[::2]
    assert_same(text_codes(labels), np.unique(labels, return_inverse=True))


def test_missing_labels_of_every_kind():
    pandas = pytest.importorskip("pandas")
    labels = np.array(["b", None, np.nan, float("nan"), pandas.NA, pandas.NaT, "a"], dtype=object)
    classes, codes = read_labels(labels)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, -1, -1, -1, -1, -1, 0]


@pytest.mark.parametrize("labels", [[None, None], [np.nan, None], []])
def test_no_label_at_all(labels):
    classes, codes = read_labels(np.array(labels, dtype=object))
    assert classes.dtype.kind == "i"
    assert classes.tolist() == []
    assert codes.tolist() == [-1] * len(labels)


@pytest.mark.parametrize(
    ("labels", "kinds"),
    [
        (["a", 1], "int, str"),
        ([1, 1.0], "float, int"),
        ([1.0, np.nan, "a"], "float, str"),
        ([["a"], ["b"], None], "list"),
        ([(1,), "a"], "str, tuple"),
    ],
)
def test_labels_of_several_types(labels, kinds):
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    with pytest.raises(ValueError, match=f"strings or integers, all of one type.*Got {kinds}"):
        read_labels(held)
