"""When a tail of signs is called strangers, and what share of the pool they are."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.statistics.strangers import (
    FALSE_AMONG_CALLED,
    LEAST_SHARE,
    TAIL_SHARES,
    SignScale,
    _signs,
)
from unseen.typing import Array


@pytest.fixture
def scale() -> SignScale:
    """Without strangers, signs are evenly spread over [0, 1]."""
    return SignScale(np.zeros(2), np.ones(2), np.array([1.0, 0.0]), 0.0, 1 - TAIL_SHARES)


def even(rows: int) -> Array:
    return (np.arange(rows) + 0.5) / rows


def test_signs_as_in_rehearsals_call_only_the_first_tail(scale: SignScale) -> None:
    assert scale.threshold(even(1000)) == 1 - TAIL_SHARES[0]
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
    assert scale.threshold(sign) == 1 - TAIL_SHARES[0]


def test_signs_are_the_nearer_seen_class_and_the_distance_to_all_candidates() -> None:
    Z = np.array([[0.0, 0.0], [4.0, 0.0]])
    points, others = np.array([[0.0, 1.0], [0.0, 9.0]]), np.array([[4.0, 2.0]])
    np.testing.assert_allclose(_signs(Z, points, others), [[0.5 - 10.0, 0.5], [8.5 - 2.0, 8.5]])
    np.testing.assert_allclose(_signs(Z, points, others[:0])[:, 0], 0.0)
