"""Temperature and transport against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from unseen.numerics.evaluation import fit_temperature, per_class_accuracy
from unseen.numerics.folds import Rows, class_folds
from unseen.numerics.transport import balance
from unseen.scale.local import LocalChunks


def test_temperature_recovers_the_scale_of_the_scores() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(20_000, 5)) * 2
    codes = np.array([random.choice(5, p=np.exp(row)) for row in log_softmax(logits, axis=1)])
    for scale in (0.01, 1.0, 300.0):
        assert fit_temperature(logits * scale, codes, 5) == pytest.approx(scale, rel=0.1)


def test_temperature_of_separable_and_of_constant_scores() -> None:
    assert 0 < fit_temperature(np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 0]), 3) < 1
    assert fit_temperature(np.ones((4, 3)), np.array([0, 1, 2, 0]), 3) == 1.0


def test_every_class_counts_alike() -> None:
    accuracy = per_class_accuracy(
        np.array([0, 0, 0, 0, 1]), np.array([True, True, True, True, False]), 3
    )
    np.testing.assert_array_equal(accuracy[:2], [1, 0])
    assert np.isnan(accuracy[2])


def test_balance_meets_the_prior_and_keeps_odds() -> None:
    random = np.random.default_rng(0)
    log_p = log_softmax(random.normal(size=(200, 4)) + np.array([2, 0, 0, -1]), axis=1)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    moved = balance(log_p, prior, 1.0, max_iter=2000)
    np.testing.assert_allclose(np.exp(logsumexp(moved, axis=0)) / 200, prior, atol=1e-4)
    odds = moved - log_p - (moved - log_p)[:, :1]  # one bias a class, the same for every row
    assert np.ptp(odds, axis=0).max() < 1e-9
    np.testing.assert_array_equal(balance(log_p, prior, 0.0), log_p)
    half = np.exp(logsumexp(balance(log_p, prior, 0.5), axis=0)) / 200
    start = np.exp(logsumexp(log_p, axis=0)) / 200
    assert (np.abs(half - prior) < np.abs(start - prior)).all()


def test_folds_hold_out_every_class_once() -> None:
    folds = class_folds(17, 5, seed=3)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(17))
    assert {len(f) for f in folds} == {3, 4}


def test_thinned_rows_are_spread_over_each_class() -> None:
    codes = np.array([0] * 100 + [1] * 3)
    thin = Rows(np.arange(103.0)[:, None], codes).thinned(10)
    np.testing.assert_array_equal(np.bincount(thin.codes), [10, 3])
    assert thin.X.min() == 0
    assert thin.X[thin.codes == 0].max() >= 90


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("most", [1, 30, 1000])
def test_a_sample_of_chunks_is_that_in_memory(most: int, repeated: bool) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(5 if repeated else 9000, 4))[np.arange(9000) % (5 if repeated else 9000)]
    codes, sizes = random.integers(4, size=9000), (4000, 4000, 1000)
    for classes in (None, np.array([1, 2])):
        want = Rows(X, codes).thinned(most, classes=classes)
        got = Rows(LocalChunks.of(X, sizes), LocalChunks.of(codes, sizes)).thinned(
            most, classes=classes
        )
        np.testing.assert_array_equal(got.X, want.X)
        np.testing.assert_array_equal(np.unique(got.codes), np.arange(4) if classes is None else [1, 2])
