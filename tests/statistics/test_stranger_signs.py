"""When a tail of signs is called strangers, and what share of the pool they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unseen.statistics.stranger_signs import MOST_ODDS, Signs, standard_signs, usual_signs
from unseen.statistics.strangers import (
    FALSE_AMONG_CALLED,
    LEAST_SHARE,
    TAIL_SHARES,
    SignScale,
)
from unseen.statistics.visual_space import Space
from unseen.typing import Array


@pytest.fixture
def scale() -> SignScale:
    """Without strangers, signs are evenly spread over [0, 1]."""
    return SignScale(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.0, 1 - TAIL_SHARES)


def even(rows: int) -> Array:
    return (np.arange(rows) + 0.5) / rows


def test_signs_as_in_rehearsals_call_no_row(scale: SignScale) -> None:
    assert scale.threshold(even(1000)) == np.inf
    assert scale.learned_share(even(1000)) == LEAST_SHARE


def test_called_rows_are_strangers_but_for_the_share_allowed(scale: SignScale) -> None:
    strange = np.full(200, 0.985)  # a fifth of the pool, below the first threshold
    sign = np.concatenate([even(800), strange])
    called = sign > scale.threshold(sign)
    assert called[800:].all()
    assert called[:800].sum() / called.sum() <= FALSE_AMONG_CALLED
    assert scale.learned_share(sign) == pytest.approx(0.2, abs=0.01)


def test_a_few_more_large_signs_than_usual_are_not_enough(scale: SignScale) -> None:
    sign = np.concatenate([even(990), np.full(10, 0.985)])
    assert scale.threshold(sign) == np.inf


def test_signs_are_the_nearer_seen_class_the_distance_and_the_odds_of_classes_without_a_name() -> None:
    X = np.array([[0.0, 0.0], [4.0, 0.0]])
    plain = Space("none", np.zeros(2), None)
    candidates, seen = np.array([[0.0, 1.0], [0.0, 9.0]]), np.array([[4.0, 2.0]])
    unnamed = np.array([[0.5, 0.0]])
    signs = Signs(plain, candidates, seen, unnamed, np.array([0.0, 0.0, 0.25]), False)
    np.testing.assert_allclose(signs(X)[:, :2], [[0.5 - 10.0, 0.5], [8.5 - 2.0, 8.5]])
    np.testing.assert_allclose(signs(X)[0, 2], 0.25 - 0.125 + 0.5, atol=1e-6)
    np.testing.assert_allclose(replace(signs, bystanders=seen[:0])(X)[:, 0], 0.0)
    assert replace(signs, unnamed=np.array([[99.0, 0.0]]))(X)[0, 2] == -MOST_ODDS


def test_distances_are_in_units_of_the_pool_and_odds_are_not() -> None:
    signs = np.array([[1.0, 10.0, -4.0], [2.0, 30.0, 0.0], [3.0, 50.0, 4.0]])
    standard = standard_signs(signs, usual_signs(signs))
    np.testing.assert_allclose(standard, [[-1, -1, -4], [0, 0, 0], [1, 1, 4]])
