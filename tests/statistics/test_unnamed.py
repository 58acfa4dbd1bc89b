"""Clusters of a pool that bear no candidate's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bystander_pools import after_rounds_alone

from toys import Toy, make_toy
from unseen.statistics.adaptation import Plan, State, Transduction, measured
from unseen.statistics.bystanders import Bystanders
from unseen.statistics.unnamed import (
    UNNAMED_SHARE,
    beside_unnamed,
    blended,
    far_points,
    named_by_votes,
    of_candidates,
)


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seed=5, seen=18, unseen=8)


def beside_bystanders(
    toy: Toy, named: int, order: Any = slice(None)
) -> tuple[Transduction, Bystanders, Any]:
    """Rows of unseen classes that are no candidates are in the pool; the truth."""
    at, bystanders, _ = after_rounds_alone(toy, toy.train, toy.unseen[order], named, Plan())
    *_, state = bystanders.join(at, Plan())
    truth = np.unique(toy.y[toy.unseen], return_inverse=True)[1][order]
    return at._replace(state=state), bystanders, truth


def test_what_no_candidate_is_called_goes_to_classes_without_a_name(toy: Toy) -> None:
    at, bystanders, truth = beside_bystanders(toy, named=6)
    found = beside_unnamed(at, bystanders, Plan())
    labels = np.asarray(found.assignment.labels)
    assert labels.shape[1] == 6 + 18 + round(6 * UNNAMED_SHARE)
    strange = truth >= 6
    unnamed = labels[:, 24:].sum(axis=1)
    assert unnamed[strange].mean() > unnamed[~strange].mean() + 0.3

    def right(ended: Transduction) -> float:
        state = of_candidates(ended).state
        assert state.points.shape == (6, toy.X.shape[1])
        assert state.totals[0].shape == state.assignment.biases.shape == (6,)
        best = (state.assignment.scores + state.assignment.biases).argmax(axis=1)
        return float((best == truth)[~strange].mean())

    assert right(blended(at, found, bystanders, Plan())) >= right(at)


def test_the_order_of_rows_does_not_matter(toy: Toy) -> None:
    order = np.random.default_rng(0).permutation(len(toy.unseen))
    labels = []
    for rows in (slice(None), order):
        at, bystanders, _ = beside_bystanders(toy, named=6, order=rows)
        labels.append(np.asarray(beside_unnamed(at, bystanders, Plan()).assignment.labels))
    np.testing.assert_allclose(labels[0][order], labels[1], atol=1e-6)


def test_far_points_are_dense_places_without_a_candidate(toy: Toy) -> None:
    """A class that is no candidate is found by its rows."""
    at, _, truth = beside_bystanders(toy, named=6)
    (point,) = far_points(at, 1)
    Z = measured(at.model.space, at.state.metric)(np.asarray(at.pool.X))
    nearest = np.argsort(np.linalg.norm(Z - point, axis=1))[:5]
    assert (truth[nearest] >= 6).all()


def swapped(state: State, one: int, other: int) -> State:
    """The state in which two classes hold each other's rows."""
    order = np.arange(len(state.points))
    order[[one, other]] = other, one
    S = state.assignment
    moved = S._replace(scores=S.scores[:, order], biases=S.biases[order], labels=S.labels[:, order])
    return state._replace(points=state.points[order], assignment=moved)


def test_names_go_where_the_start_found_them(toy: Toy) -> None:
    at, *_ = beside_bystanders(toy, named=8)
    np.testing.assert_array_equal(named_by_votes(at, at.state, 18), np.arange(8 + 18))
    order = named_by_votes(at, swapped(at.state, 2, 5), 18)
    assert order[:8].tolist() == [0, 1, 5, 3, 4, 2, 6, 7]


def test_of_two_clusters_that_are_sure_of_a_name_it_goes_where_it_fits_better() -> None:
    """Rows of class 14, which is no candidate, are called class 12 by the start."""
    toy = make_toy()
    at, bystanders, truth = beside_bystanders(toy, named=2, order=slice(0, 90))
    found = beside_unnamed(at, bystanders, Plan())
    places = [np.asarray(found.assignment.labels)[truth == c].argmax(axis=1) for c in range(3)]
    assert [np.unique(own).tolist() for own in places] == [[0], [1], [14]]
    wrong = swapped(found, 0, 14)
    assert named_by_votes(at, wrong, 12).tolist() == [14, *range(1, 14), 0]


def test_where_bystanders_hold_all_rows_names_stay(toy: Toy) -> None:
    at, *_ = beside_bystanders(toy, named=8)
    biases = np.where(np.arange(26) < 8, -1e9, 0.0)
    held = at.state._replace(assignment=at.state.assignment._replace(biases=biases))
    np.testing.assert_array_equal(named_by_votes(at, held, 18), np.arange(26))


def test_a_small_pool_has_clusters_too(toy: Toy) -> None:
    at, bystanders, _ = beside_bystanders(toy, named=6, order=slice(0, None, 40))
    labels = beside_unnamed(at, bystanders, Plan()).assignment.labels
    assert np.isfinite(np.asarray(labels)).all()
