"""Folds and samples are drawn by content: no order and no name counts, nor how rows are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen.rows.chunks import BLOCK_ROWS
from unseen.rows.labelled import KEY_COLUMNS, Rows, class_folds, content_keys
from unseen.scale.local import LocalChunks

RNG = np.random.default_rng(0)


def labelled(n: int = 300, p: int = 5, classes: int = 6) -> Rows:
    rng = np.random.default_rng(1)
    return Rows(rng.standard_normal((n, p)), rng.integers(classes, size=n), rng.random(n))


def as_set(rows: Rows) -> set[Any]:
    weights = rows.weights if rows.weights is not None else np.ones(len(rows.codes))
    return {
        (x.tobytes(), int(c), float(w)) for x, c, w in zip(rows.X, rows.codes, weights, strict=True)
    }


@pytest.mark.parametrize("shape", [(50, 1), (BLOCK_ROWS + 3, 2), (40, KEY_COLUMNS + 77)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_key_follows_its_row(shape: tuple[int, int], dtype: Any) -> None:
    X = RNG.standard_normal(shape).astype(dtype)
    keys, order = content_keys(X), RNG.permutation(len(X))
    np.testing.assert_array_equal(content_keys(X[order]), keys[order])
    np.testing.assert_array_equal(content_keys(np.asfortranarray(X)), keys)
    np.testing.assert_array_equal(content_keys(X.astype(np.float64)), keys)
    assert len(np.unique(keys)) == len(X)
    assert (content_keys(X, 1) != keys).all()


def test_keys_know_equal_rows_and_columns_apart() -> None:
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0 + 2**-52]])
    keys = content_keys(X)
    assert keys[0] == keys[1], "one zero, not two"
    assert len(set(keys[[0, 2, 3]].tolist())) == 3


def test_keys_are_spread_evenly() -> None:
    """Rows that differ by little: the order of their keys is a random one."""
    X = np.arange(4000.0)[:, None] * [1e-3, 1.0]
    place = np.argsort(np.argsort(content_keys(X)))
    assert abs(np.corrcoef(place, np.arange(4000))[0, 1]) < 0.05
    assert np.histogram(content_keys(X).astype(float) / 2**64, 10, (0, 1))[0].min() > 320


@pytest.mark.parametrize("most", [1, 10, 49])
def test_a_sample_is_the_same_in_any_order_and_under_any_name(most: int) -> None:
    rows, order = labelled(), RNG.permutation(300)
    thin = rows.thinned(most)
    counts = np.bincount(rows.codes)
    np.testing.assert_array_equal(np.bincount(thin.codes), np.minimum(counts, most))
    assert as_set(thin) <= as_set(rows)
    assert as_set(rows.take(order).thinned(most)) == as_set(thin)
    names = RNG.permutation(6)
    renamed = rows._replace(codes=names[rows.codes]).thinned(most)
    assert as_set(renamed._replace(codes=np.argsort(names)[renamed.codes])) == as_set(thin)
    assert as_set(rows._replace(weights=None).thinned(most)) == {
        (x, c, 1.0) for x, c, _ in as_set(thin)
    }


def test_a_larger_sample_holds_the_smaller_one() -> None:
    rows = labelled()
    assert as_set(rows.thinned(5)) < as_set(rows.thinned(6)) < as_set(rows.thinned(100))
    assert rows.thinned(100) is rows


@pytest.mark.parametrize("size", [7, 64, 300])
@pytest.mark.parametrize("weighted", [True, False])
def test_chunks_give_the_sample_of_the_array(size: int, weighted: bool) -> None:
    rows = labelled() if weighted else labelled()._replace(weights=None)
    sizes = (size,) * (300 // size) + ((300 % size,) if 300 % size else ())
    chunks = Rows(*(None if part is None else LocalChunks.of(part, sizes) for part in rows))
    want, got = rows.thinned(10), chunks.thinned(10)
    np.testing.assert_array_equal(got.X, want.X)
    np.testing.assert_array_equal(got.codes, want.codes)
    if weighted:
        np.testing.assert_array_equal(got.weights, want.weights)
    sums = [sum(parts) for parts in zip(*chunks.drawn(10).gathered(_sums, (2.0,)), strict=True)]
    np.testing.assert_allclose(sums[0], 2 * want.X.sum(axis=0))
    assert sums[1] == len(want.codes)
    np.testing.assert_allclose(rows.drawn(10).gathered(_sums, (2.0,))[0][0], sums[0])


def _sums(X: Any, codes: Any, weights: Any, factor: float) -> tuple[Any, int]:
    return factor * X.sum(axis=0), len(codes)


def test_nothing_to_thin() -> None:
    empty = Rows(np.empty((0, 3)), np.empty(0, dtype=np.intp))
    assert len(empty.thinned(5).X) == 0


def test_every_class_counts_alike() -> None:
    right, codes = np.array([True, True, True, True, False]), np.array([0, 0, 0, 0, 1])
    shares = Rows(right, codes).shares_right(3)
    np.testing.assert_array_equal(shares[:2], [1, 0])
    assert np.isnan(shares[2])


def test_folds_hold_out_every_class_once_in_any_order() -> None:
    vectors, order = RNG.standard_normal((17, 4)), RNG.permutation(17)
    folds = class_folds(vectors, 5, seed=3)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(17))
    assert {len(fold) for fold in folds} == {3, 4}
    turned = class_folds(vectors[order], 5, seed=3)
    for fold, other in zip(folds, turned, strict=True):
        np.testing.assert_array_equal(fold, np.sort(order[other]))
    assert any(
        len(a) != len(b) or (a != b).any() for a, b in zip(folds, class_folds(vectors, 5), strict=True)
    ), "another seed, other folds"
    assert len(class_folds(vectors[:3], 5)) == 3
