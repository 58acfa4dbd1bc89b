"""The review of a pool by rehearsals on seen classes, in a sketch of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toys import make_toy
from unseen.rows.kernels import scaled
from unseen.rows.labelled import Rows, by_content
from unseen.scale.local import LocalChunks
from unseen.solvers import row_space
from unseen.statistics import review as reviewing
from unseen.statistics import seen_model as seen_models
from unseen.statistics.adaptation import EVEN_TIE, FIRM_TIE, Plan, adapt
from unseen.statistics.review import (
    FEWEST_TO_REHEARSE,
    LEAST_DEVIATION,
    SIZE_RATIO,
    STEEPNESS,
    Review,
    _pools,
    evenness,
    rehearse,
)
from unseen.statistics.seen_model import SeenModel, seen_model
from unseen.statistics.visual_space import FEWEST_FEATURES, seen_statistics


def review(full: Any, half: Any, tail: Any, gain: float = 0.1) -> Review:
    rehearsed = np.array([full, half, tail]).T
    return Review(np.full(len(full), 0.5), np.full(rehearsed.shape, gain), rehearsed, 1.0)


USUAL = review([0.95, 0.92, 0.97], [0.60, 0.55, 0.62], [0.50, 0.55, 0.45])
LEARNED = np.array([0.7, 0.2, 0.1, 0.0])


def belief(base: Review, value: float) -> float:
    return base.of_pool(value, LEARNED).even


@given(st.lists(st.tuples(*[st.floats(0.1, 1.0)] * 3), min_size=1, max_size=6))
@settings(max_examples=60)
def test_belief_in_an_even_pool_rises_with_its_evenness_and_never_jumps(rows: Any) -> None:
    base = review(*np.array(rows).T)
    step = 1e-3
    values = [belief(base, value) for value in np.arange(0.0, 1 + step, step)]
    assert all(0 <= value <= 1 for value in values)
    rises = np.diff(values)
    assert rises.min() >= -1e-12
    # The slope of a logistic is a quarter at most; that of a square over [0, 1] is 1/deviation².
    assert rises.max() <= step * STEEPNESS / 4 * 2 / LEAST_DEVIATION**2


def test_pools_like_even_rehearsals_are_even_and_others_are_not() -> None:
    assert belief(USUAL, 0.95) > 0.99
    assert belief(USUAL, 1.0) > 0.99, "evener than rehearsed is no evidence against"
    assert belief(USUAL, 0.6) < 0.01
    assert belief(USUAL, 0.2) < 0.01
    alike = review([0.8, 0.7], [0.8, 0.7], [0.75, 0.72])
    assert belief(alike, 0.75) < 0.5, "rehearsals that cannot tell leave the prior belief"


def test_either_kind_of_uneven_pool_is_enough_to_doubt() -> None:
    base = review([0.95, 0.95], [0.9, 0.9], [0.3, 0.3])
    assert belief(base, 0.9) < belief(review([0.95, 0.95], [0.3, 0.3], [0.3, 0.3]), 0.9)


def test_shares_lie_between_learned_and_equal_ones() -> None:
    even, uneven = USUAL.of_pool(0.96, LEARNED), USUAL.of_pool(0.5, LEARNED)
    np.testing.assert_allclose(even.shares, 0.25, atol=1e-3)
    np.testing.assert_allclose(uneven.shares, LEARNED, atol=1e-3)
    for found in (even, uneven):
        assert found.shares.sum() == pytest.approx(1)
        assert (found.shares > 0).all()
    assert even.evenness == 0.96
    assert np.isnan(USUAL.evenness)


def test_the_plan_follows_the_review() -> None:
    plan = Plan(rounds=3)
    assert USUAL.of_pool(0.4, LEARNED).plan(plan) is plan
    even = USUAL.of_pool(0.96, LEARNED)
    found = even.plan(plan)
    assert found.rounds == 3
    assert found.shares is not None
    np.testing.assert_array_equal(found.shares, even.shares)
    assert found.tie == pytest.approx(FIRM_TIE + even.even * (EVEN_TIE - FIRM_TIE))


def between(low: float, high: float) -> Review:
    """The usual review, of a pool of which it is unsure."""
    for value in np.linspace(0.5, 1.0, 20001):
        found = USUAL.of_pool(float(value), LEARNED)
        if low < found.even < high:
            return found
    raise AssertionError(f"no belief between {low} and {high}")


def test_alarms() -> None:
    assert USUAL.alarms == {}, "no pool was seen"
    assert USUAL.of_pool(0.96, LEARNED).alarms == {}
    uneven = USUAL.of_pool(0.5, LEARNED).alarms
    assert set(uneven) == {"uneven"}
    assert "evenness 0.50; in rehearsals 0.95 with every class present, 0.59 with" in uneven["uneven"]
    assert "Class shares follow the pool." in uneven["uneven"]
    unsure = between(0.6, 0.85)
    assert set(unsure.alarms) == {"undecided"}
    assert f"even with probability {unsure.even:.2f}" in unsure.alarms["undecided"]
    assert "Give them by hand" in unsure.alarms["undecided"]
    assert set(between(0.15, 0.4).alarms) == {"uneven", "undecided"}
    losing = review([0.95], [0.5], [0.5], gain=-0.034).of_pool(0.95, LEARNED).alarms
    assert set(losing) == {"rehearsal"}
    assert "lost 3.4 points" in losing["rehearsal"]
    assert "inductive method" in losing["rehearsal"]
    assert review([0.95], [0.5], [0.5], gain=-0.005).of_pool(0.95, LEARNED).alarms == {}


# ---------------------------------------------------------------------------- rehearsals


def seen_rows(order: Any = None, seed: int = 0) -> tuple[SeenModel, Rows]:
    toy = make_toy(seed, seen=18, unseen=2, p=12, q=6, rows=20)
    X, names = toy.X[toy.train], toy.y[toy.train]
    codes = np.unique(names, return_inverse=True)[1]
    vectors = np.array(list(toy.semantics.values()))[:18]
    if order is not None:  # class order[i] becomes class i; rows are turned as well
        codes, vectors = np.argsort(order)[codes], vectors[order]
        turn = np.random.default_rng(5).permutation(len(X))
        X, codes = X[turn], codes[turn]
    rows = Rows(X, codes).take(by_content(X))
    return seen_model(seen_statistics(rows, 18, "none"), vectors, None, float), rows


def test_rehearsals_do_not_depend_on_the_order_of_rows_and_classes() -> None:
    model, rows = seen_rows()
    one = rehearse(model, rows, 5, 60, 6)
    model, rows = seen_rows(np.random.default_rng(2).permutation(18))
    other = rehearse(model, rows, 5, 60, 6)
    for name in ("start", "gains", "rehearsed"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-6)
    assert one.gains.shape == one.rehearsed.shape == (6, 3)
    assert one.start.shape == (6,)


def test_rehearsals_see_classes_that_are_missing_and_rare() -> None:
    model, rows = seen_rows()
    full, half, tail = rehearse(model, rows, 6, 120, 6).rehearsed.mean(axis=0)
    assert full > 0.9
    assert half < 0.75
    assert tail < full


def test_rehearsed_pools() -> None:
    """All classes, half of them, and sizes from 50 to 1: the first rows of each."""
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(4), [60, 55, 70, 50]))
    found = _pools(codes, 4)
    sizes = [np.bincount(codes[rows], minlength=4).tolist() for rows in found]
    assert sizes == [[60, 55, 70, 50], [60, 55, 0, 0], [50, 14, 4, 1]]
    assert sizes[2][0] == SIZE_RATIO * sizes[2][-1]
    for place, size in enumerate(sizes[2]):
        first = np.flatnonzero(codes == place)[:size]
        np.testing.assert_array_equal(np.sort(found[2][codes[found[2]] == place]), first)
    assert evenness(np.array(sizes[2]) / sum(sizes[2])) < 0.6


# ---------------------------------------------------------------------------- the sketch


def test_the_first_directions_hold_what_rows_have_most_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_space, "SKETCH_COLUMNS", 20)
    random = np.random.default_rng(0)
    X = 9 * random.normal(size=(200, 15)) @ random.normal(size=(15, 60)) + random.normal(size=(200, 60))
    basis = row_space.first_directions(X)
    np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=1e-9)
    best = np.linalg.svd(X, compute_uv=False)[:20]
    assert np.square(X @ basis).sum() >= 0.999 * np.square(best).sum()


@pytest.mark.parametrize("distinct", [1, 30])
def test_directions_that_rows_do_not_have_are_made_up(distinct: int) -> None:
    """Rows that repeat have fewer directions than are asked for."""
    random = np.random.default_rng(0)
    X = np.tile(random.normal(size=(distinct, 300)), (600 // distinct, 1)).astype(np.float32)
    basis = row_space.first_directions(X)
    np.testing.assert_allclose(basis.T @ basis, np.eye(row_space.SKETCH_COLUMNS), atol=1e-5)
    np.testing.assert_allclose(X @ basis @ basis.T, X, atol=1e-3)


def sketch_problem(p: int = FEWEST_FEATURES) -> tuple[Rows, Any, Any, Any]:
    toy = make_toy(seen=15, unseen=4, p=p, q=6, rows=12)
    vectors = np.array(list(toy.semantics.values()))
    codes = np.unique(toy.y[toy.train], return_inverse=True)[1]
    return Rows(toy.X[toy.train], codes), toy.X[toy.unseen], vectors[:15], vectors[15:]


def test_a_review_leaves_the_rows_as_they_were() -> None:
    rows, pool, seen, vectors = sketch_problem()
    before = rows.X.copy(), pool.copy()
    assert reviewing.review_pool(rows, pool, seen, vectors) is not None
    np.testing.assert_array_equal(rows.X, before[0])
    np.testing.assert_array_equal(pool, before[1])


@pytest.mark.parametrize("p", [20, FEWEST_FEATURES, 300])
def test_a_review_is_the_same_on_chunks_and_in_any_order(p: int) -> None:
    rows, pool, seen, vectors = sketch_problem(p)
    want = reviewing.review_pool(rows, pool, seen, vectors, calibrates=True)
    chunks = Rows(LocalChunks.of(rows.X, (100, 80)), LocalChunks.of(rows.codes, (100, 80)))
    random = np.random.default_rng(0)
    turn, order = random.permutation(len(pool)), random.permutation(15)
    turned = Rows(rows.X[::-1], np.argsort(order)[rows.codes[::-1]])
    for got in (
        reviewing.review_pool(chunks, LocalChunks.of(pool, (30, 18)), seen, vectors, calibrates=True),
        reviewing.review_pool(turned, pool[turn], seen[order], vectors, calibrates=True),
    ):
        assert want is not None
        assert got is not None
        assert got.even == pytest.approx(want.even, abs=1e-5)
        assert got.evenness == pytest.approx(want.evenness, abs=1e-5)
        np.testing.assert_allclose(got.shares, want.shares, atol=1e-5)
        np.testing.assert_allclose(got.rehearsed, want.rehearsed, atol=1e-5)
        assert got.temperature == pytest.approx(want.temperature, rel=1e-3)
        assert got.doubt == pytest.approx(want.doubt, abs=1e-3)
        np.testing.assert_allclose(got.masses, want.masses, atol=1e-3)


def test_calibration_sees_nothing_of_the_held_out_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither their vectors nor their rows are learned from, and shares are those of the pool."""
    rows, pool, seen, vectors = sketch_problem()
    learned, plans = [], []

    def spied_model(statistics: Any, own: Any, *given: Any) -> Any:
        learned.append((len(own), statistics.counts.sum()))
        return seen_model(statistics, own, *given)

    def spied_rounds(pool: Any, prior: Any, start: Any, plan: Any) -> Any:
        plans.append(plan)
        return adapt(pool, prior, start, plan)

    monkeypatch.setattr(seen_models, "seen_model", spied_model)
    monkeypatch.setattr(reviewing, "adapt", spied_rounds)
    review = reviewing.review_pool(rows, pool, seen, vectors, 2, calibrates=True)
    assert review is not None
    assert review.masses is not None
    assert review.even > 0.5
    assert [classes for classes, _ in learned] == [15, 15 - 4, 15 - 3]  # at most a third, a fifth
    assert [count for _, count in learned] == [12 * 15, 12 * 11, 12 * 12]
    assert plans[-1].shares == pytest.approx(np.full(3, 1 / 3), abs=0.1)
    assert plans[-1].tie > FIRM_TIE


def test_a_review_that_need_not_calibrate_does_not() -> None:
    rows, pool, seen, vectors = sketch_problem()
    review = reviewing.review_pool(rows, pool, seen, vectors)
    assert review is not None
    assert review.masses is None


def test_a_sketch_of_many_rows_is_that_of_the_rows_it_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, pool, seen, vectors = sketch_problem()
    monkeypatch.setattr(reviewing, "SKETCH_ROWS", 30)
    one = reviewing.review_pool(rows, pool, seen, vectors)
    thin = Rows(pool, np.zeros(len(pool), dtype=np.intp)).thinned(30).X
    other = reviewing.review_pool(rows, thin, seen, vectors)
    assert one is not None
    assert other is not None
    assert one.evenness == pytest.approx(other.evenness, abs=1e-9)
    assert len(scaled(thin, "root")) == 30


def test_few_classes_are_not_reviewed() -> None:
    rows, pool, seen, vectors = sketch_problem()
    few = rows.of_classes(np.arange(FEWEST_TO_REHEARSE - 1))
    assert reviewing.review_pool(few, pool, seen[: FEWEST_TO_REHEARSE - 1], vectors) is None
    assert reviewing.review_pool(rows, pool, seen, vectors[:1]) is None
    assert reviewing.review_pool(rows, pool[:0], seen, vectors) is None
