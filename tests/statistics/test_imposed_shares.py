"""Class shares that are met exactly, also where classes are far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from unseen.statistics.adaptation import exact_biases
from unseen.statistics.transport import LARGEST_LOG_FACTOR


def scores(spread: float, rows: int = 2000, classes: int = 5) -> Any:
    random = np.random.default_rng(0)
    own = random.integers(classes, size=rows)
    return spread * (random.normal(size=(rows, classes)) + 2 * np.eye(classes)[own])


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 20.0])
def test_totals_are_the_shares(spread: float) -> None:
    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    S = scores(spread)
    bias = exact_biases(S, shares)
    np.testing.assert_allclose(softmax(S + bias, axis=1).mean(axis=0), shares, atol=1e-5)


def test_the_answer_depends_on_neither_start_nor_order() -> None:
    S, shares = scores(10.0), np.full(5, 0.2)
    want = exact_biases(S, shares)
    np.testing.assert_allclose(exact_biases(S[::-1], shares), want, atol=1e-6)
    start = np.array([20.0, -20.0, 5.0, 0.0, 3.0])
    np.testing.assert_allclose(exact_biases(S, shares, start=start), want, atol=1e-5)


def test_shares_that_cannot_be_met_are_approached() -> None:
    S = np.full((10, 2), 0.0)
    S[:9, 1] = -np.inf  # nine rows have a known class
    bias = exact_biases(S, np.array([0.5, 0.5]))
    assert np.isfinite(bias).all()
    assert np.abs(bias).max() <= LARGEST_LOG_FACTOR
    assert softmax(S + bias, axis=1)[9, 1] > 0.999
