"""The judge's sketch of the features: block by block, and the same as all at once."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.numerics import judge
from unseen.numerics.folds import Rows
from unseen.numerics.space import FEW
from unseen.numerics.whitening import FEWEST_FEATURES, power_normalise


@pytest.mark.parametrize("columns", [FEWEST_FEATURES - 1, FEWEST_FEATURES, 100])
def test_the_sketch_is_that_of_all_rows_at_once(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "COLUMNS", 80)
    random = np.random.default_rng(0)
    X = random.normal(size=(FEW + 5, columns)).astype(np.float32)
    pool = random.normal(size=(FEW + 9, columns)).astype(np.float32)
    few = np.sort(random.permutation(len(pool))[:-4])
    rows, Z = judge.sketched(Rows(X.copy(), np.zeros(len(X), dtype=np.intp)), pool, few)
    wanted = [X, pool[few]]
    if columns >= FEWEST_FEATURES:
        wanted = [power_normalise(part) for part in wanted]
    if columns > 80:
        basis = judge.first_directions(wanted[0])
        wanted = [part @ basis for part in wanted]
    np.testing.assert_allclose(rows.X, wanted[0], atol=1e-6)
    np.testing.assert_allclose(Z, wanted[1], atol=1e-6)


def test_the_first_directions_hold_what_rows_have_most_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "COLUMNS", 20)
    random = np.random.default_rng(0)
    X = 9 * random.normal(size=(200, 15)) @ random.normal(size=(15, 60)) + random.normal(size=(200, 60))
    basis = judge.first_directions(X)
    np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=1e-9)
    best = np.linalg.svd(X, compute_uv=False)[:20]
    assert np.square(X @ basis).sum() >= 0.999 * np.square(best).sum()


@pytest.mark.parametrize("distinct", [1, 30])
def test_directions_that_rows_do_not_have_are_made_up(distinct: int) -> None:
    """Rows that repeat have fewer directions than are asked for."""
    random = np.random.default_rng(0)
    X = np.tile(random.normal(size=(distinct, 300)), (600 // distinct, 1)).astype(np.float32)
    basis = judge.first_directions(X)
    np.testing.assert_allclose(basis.T @ basis, np.eye(judge.COLUMNS), atol=1e-5)
    np.testing.assert_allclose(X @ basis @ basis.T, X, atol=1e-3)


def test_judging_leaves_the_rows_as_they_were() -> None:
    random = np.random.default_rng(1)
    X, codes = random.random((90, FEWEST_FEATURES)), np.repeat(np.arange(15), 6)
    pool, seen, vectors = random.random((20, X.shape[1])), random.random((15, 4)), random.random((3, 4))
    before = X.copy(), pool.copy()
    assert judge.judge(Rows(X, codes), pool, seen, vectors) is not None
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(pool, before[1])
