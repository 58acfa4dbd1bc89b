"""Labels of a pool beside seen classes that are no candidates."""

from __future__ import annotations

import numpy as np
import pytest

from toys import Toy, make_toy
from unseen.rows.labelled import Rows
from unseen.statistics.adaptation import learned_biases
from unseen.statistics.bystanders import (
    BYSTANDER_SHARE,
    bystander_plan,
    bystanders_of,
    labels_beside_bystanders,
)
from unseen.statistics.seen_model import seen_model
from unseen.statistics.visual_space import Pool, seen_statistics


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seed=3, seen=18, unseen=6)


def test_bystanders_are_the_seen_classes_that_are_no_candidates() -> None:
    np.testing.assert_array_equal(bystanders_of(5, np.array([-1, 3, -1, 0])), [1, 2, 4])


def test_bystanders_have_a_small_share_before_any_row_is_counted() -> None:
    plan = bystander_plan(4, 10)
    shares = np.exp(learned_biases(np.zeros(14), plan.smoothing)) / 14
    np.testing.assert_allclose(shares.sum(), 1)
    np.testing.assert_allclose(shares[:4], shares[0])
    np.testing.assert_allclose(shares[4:].sum() / shares[:4].sum(), BYSTANDER_SHARE / 3.0)
    mass = np.r_[np.full(4, 25.0), np.zeros(10)]
    learned = np.exp(learned_biases(mass, plan.smoothing)) / 14
    assert learned[4:].sum() < shares[4:].sum()


def test_rows_of_bystanders_are_left_to_them(toy: Toy) -> None:
    classes = np.unique(toy.y[toy.train])
    held, kept = toy.train[::7], np.setdiff1d(toy.train, toy.train[::7])
    rows = Rows(toy.X[kept], np.searchsorted(classes, toy.y[kept]))
    vectors = np.array([toy.semantics[c] for c in classes.tolist()], dtype=float)
    model = seen_model(seen_statistics(rows, len(classes), "none"), vectors, None, rows.X.dtype)
    unseen = np.array([toy.semantics[c] for c in np.unique(toy.y[toy.unseen]).tolist()], dtype=float)
    pool = Pool(toy.X[np.concatenate([toy.unseen, held])], model.space)
    prior, labels = labels_beside_bystanders(model, pool, unseen, np.full(len(unseen), -1))
    assert len(prior.prototypes) == labels.shape[1] == len(unseen)
    mass = labels.sum(axis=1)
    assert mass[: len(toy.unseen)].mean() > 0.95
    assert mass[len(toy.unseen) :].mean() < 0.1
