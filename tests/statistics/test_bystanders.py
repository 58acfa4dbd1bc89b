"""Labels of a pool beside seen classes that are no candidates."""

from __future__ import annotations

import numpy as np
import pytest
from bystander_pools import after_rounds_alone

from toys import Toy, make_toy
from unseen.statistics.adaptation import Plan, Transduction, learned_biases
from unseen.statistics.bystanders import (
    BYSTANDER_SHARE,
    ROUNDS_ALONE,
    UNNAMED_SMOOTHING,
    Bystanders,
    smoothing_beside,
    widened,
)


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seed=3, seen=18, unseen=6)


def with_strangers(toy: Toy, plan: Plan) -> tuple[Transduction, Bystanders, int]:
    """Behind the rows of the candidates the pool has rows of seen classes."""
    held, kept = toy.train[::7], np.setdiff1d(toy.train, toy.train[::7])
    return after_rounds_alone(toy, kept, np.concatenate([toy.unseen, held]), 6, plan)


def test_bystanders_are_the_seen_classes_that_are_no_candidates() -> None:
    np.testing.assert_array_equal(Bystanders.of(5, np.array([-1, 3, -1, 0])).classes, [1, 2, 4])


def test_those_beside_candidates_have_a_small_share_before_any_row_is_counted() -> None:
    shares = np.exp(learned_biases(np.zeros(16), smoothing_beside(4, 10, 2))) / 16
    np.testing.assert_allclose(shares.sum(), 1)
    np.testing.assert_allclose(shares[:4], shares[0])
    np.testing.assert_allclose(shares[4:14].sum() / shares[:4].sum(), BYSTANDER_SHARE / (3.0 * 4 / 6))
    np.testing.assert_allclose(shares[14:] / shares[0], UNNAMED_SMOOTHING / 3.0)
    mass = np.r_[np.full(4, 25.0), np.zeros(10)]
    smoothing = smoothing_beside(4, 10)
    before, learned = (np.exp(learned_biases(m, smoothing)) / 14 for m in (np.zeros(14), mass))
    assert learned[4:].sum() < before[4:].sum()


@pytest.mark.parametrize("shares", [None, np.full(6, 1 / 6)], ids=["learned", "imposed halfway"])
def test_rows_of_bystanders_are_left_to_them(toy: Toy, shares: np.ndarray | None) -> None:
    plan = Plan(shares=shares, halfway=shares is not None)
    at, bystanders, rounds = with_strangers(toy, plan)
    assert rounds == ROUNDS_ALONE
    *_, end = bystanders.join(at, plan)
    mass = np.asarray(end.assignment.labels)[:, :6].sum(axis=1)
    assert mass[: len(toy.unseen)].mean() > 0.95
    assert mass[len(toy.unseen) :].mean() < 0.1


def test_more_classes_have_no_row_at_first(toy: Toy) -> None:
    at, *_ = with_strangers(toy, Plan())
    more = widened(at.state.assignment, 3)
    np.testing.assert_array_equal(more.labels[:, :6], at.state.assignment.labels)
    assert not more.labels[:, 6:].any()
    assert len(more.biases) == 9
