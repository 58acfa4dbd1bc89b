"""Rounds on a pool, against oracles, and what a pool of another domain changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gaussian_pool import labels, problem, started
from scipy import optimize
from scipy.special import softmax

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits
from unseen.rows.known import Known
from unseen.rows.labelled import Rows
from unseen.statistics import adaptation
from unseen.statistics.adaptation import (
    SHIFT_DISCOUNT,
    SMOOTHING,
    Assignment,
    Plan,
    State,
    adapt,
    assign,
    exact_biases,
    learned_biases,
    measured,
    with_pool,
)
from unseen.statistics.review import evenness
from unseen.statistics.seen_model import TEMPERATURE, Prior
from unseen.statistics.semantic_process import ErrorLaw
from unseen.statistics.transport import balance
from unseen.statistics.visual_space import Pool, Space, prototype_scores, seen_statistics


def rounds(pool: Pool, prior: Prior, **settings: Any) -> list[State]:
    plan = Plan(**settings)
    return list(adapt(pool, prior, started(pool, prior, plan.shares), plan))


def run(pool: Pool, prior: Prior, **settings: Any) -> State:
    return rounds(pool, prior, **settings)[-1]


def test_assignment_finds_the_minimum_over_the_simplex() -> None:
    pool, prior = problem(2)
    S = np.asarray(pool.scores(prior.prototypes))[:3]
    biases = learned_biases(np.array([9.0, 3.0, 1.0, 0.0]))
    found = assign(S, None, biases)

    def of(flat: Any) -> float:
        Q = softmax(flat.reshape(S.shape), axis=1)
        return float((Q * (np.log(Q) - S - biases)).sum())

    oracle = optimize.minimize(of, np.zeros(S.size), method="BFGS").fun
    smoothed = SMOOTHING * len(S) / 4 * biases.sum()
    assert found.energy == pytest.approx(oracle - smoothed, abs=1e-5)


def test_assignment_meets_the_shares_and_its_energy_is_that_of_its_labels() -> None:
    pool, prior = problem(3)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    S = np.asarray(pool.scores(prior.prototypes))
    found = assign(S, shares, np.zeros(4))
    Q = labels(found)
    np.testing.assert_allclose(Q.mean(axis=0), shares, atol=1e-5)
    log_p = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(Q, np.exp(balance(log_p, shares)), atol=1e-4)
    assert found.energy == pytest.approx(float((Q * (np.log(Q) - S)).sum()), rel=1e-5)
    again = assign(S, shares, found.biases + 7)
    np.testing.assert_allclose(labels(again), Q, atol=1e-5)


def test_fewer_shares_than_classes_are_met_in_the_rows_that_the_others_leave() -> None:
    """The classes behind keep their biases, and about the rows that these give them."""
    pool, prior = problem(3)
    S = np.asarray(pool.scores(prior.prototypes))
    start, shares = np.array([0.3, -0.2, 0.1, 0.5]), np.array([0.7, 0.3])
    bias = exact_biases(S, shares, start)
    np.testing.assert_array_equal(bias[2:], start[2:])
    left = softmax(S + start, axis=1)[:, :2].sum()
    np.testing.assert_allclose(softmax(S + bias, axis=1)[:, :2].sum(axis=0), left * shares, atol=1e-4)
    halfway = assign(S, shares, np.zeros(4), 0.3, start)
    np.testing.assert_allclose(halfway.biases, (bias + start) / 2)


def test_shares_imposed_halfway_are_between_those_of_the_pool_and_the_imposed_ones() -> None:
    pool, prior = problem(3)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    S = np.asarray(pool.scores(prior.prototypes))
    learned = learned_biases(labels(assign(S, None, np.zeros(4))).sum(axis=0))
    exact = assign(S, shares, np.zeros(4))
    found = assign(S, shares, np.zeros(4), learned=learned)
    np.testing.assert_allclose(found.biases, (exact.biases + learned) / 2, atol=1e-9)
    misses = [
        np.abs(labels(one).mean(axis=0) - shares).sum()
        for one in (exact, found, assign(S, None, learned))
    ]
    assert misses[0] < 1e-5 < misses[1] < misses[2]
    Q = labels(found)
    least = float((Q * (np.log(Q) - S - found.biases)).sum())
    linear = len(S) * (shares @ exact.biases - SMOOTHING / 4 * learned.sum()) / 2
    assert found.energy == pytest.approx(least + linear, rel=1e-5)


def test_rounds_impose_shares_exactly_or_halfway() -> None:
    pool, prior = problem(3)
    exact, half = (
        rounds(pool, prior, shares=np.full(4, 0.25), halfway=halfway, rounds=2)
        for halfway in (False, True)
    )
    uneven = [np.abs(one[-1].shares - 0.25).sum() for one in (exact, half)]
    assert uneven[0] < 1e-4 < uneven[1]


@pytest.mark.parametrize("shares", ["none", "equal", "learned"])
@pytest.mark.parametrize("known", [0, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_the_naive_one(seed: int, known: int, shares: str) -> None:
    """F/τ of the last round, but for what no label and no mean changes, in the metric of that round."""
    pool, prior = problem(seed, known)
    plan = Plan(np.full(4, 0.25) if shares == "equal" else None, learn_shares=shares == "learned")
    *_, found = adapt(pool, prior, started(pool, prior, plan.shares), plan)
    V, Z, Q = found.metric.basis, pool.space(pool.X), labels(found.assignment)
    omega = V @ np.diag(found.metric.inside) @ V.T
    omega += found.metric.outside * (np.eye(len(V)) - V @ V.T)
    root = found.metric.root(np.eye(len(V)))
    np.testing.assert_allclose(root @ root, omega, atol=1e-9)
    means = np.sqrt(TEMPERATURE) * found.points @ np.linalg.inv(root)
    total = 0.0
    for z, q in zip(Z, Q, strict=True):
        for k, mu in enumerate(means):
            gap = ((z - mu) @ omega @ (z - mu) - z @ omega @ z) / 2
            bias = 0.0 if shares == "equal" else found.assignment.biases[k]
            total += q[k] * (gap / TEMPERATURE + np.log(max(q[k], 1e-300)) - bias)
    if shares != "equal":
        total -= SMOOTHING * len(Z) / 4 * found.assignment.biases.sum()
    tie = plan.tie * max(1.0, found.step.error_scale / SHIFT_DISCOUNT)
    total += prior.energy(means, tie) / TEMPERATURE
    assert found.step.objective == pytest.approx(total, rel=1e-5)
    own = measured(pool.space, found.metric)(pool.X)
    there = softmax(prototype_scores(own, found.points) + found.assignment.biases, axis=1)
    np.testing.assert_allclose(there, Q, atol=1e-8)
    np.testing.assert_allclose(found.shares, Q.mean(axis=0), atol=1e-9)


def test_learned_shares_minimise_the_objective_and_find_an_absent_class() -> None:
    rng = np.random.default_rng(0)
    means = 4 * np.eye(3)
    X = means[rng.integers(2, size=300)] + rng.standard_normal((300, 3))
    law = ErrorLaw(np.zeros((3, 0)), np.zeros(0), 1.0)
    fixed = Prior(means, np.full(3, np.inf), np.zeros((0, 0)), law)
    found = run(Pool(X, Space("none", np.zeros(3), None)), fixed)
    assert found.shares[2] < 0.05
    assert evenness(found.shares) == pytest.approx(2 / 3, abs=0.05)
    assert evenness(np.full(3, 1 / 3)) == pytest.approx(1)
    n = labels(found.assignment).sum(axis=0)

    def energy(pi: Any) -> float:
        return -float(((n + SMOOTHING * len(X) / 3) * np.log(3 * pi)).sum())

    best = np.exp(learned_biases(n)) / 3
    assert best.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(3), size=50):
        assert energy(best) <= energy(other)


def test_known_rows_are_clamped_in_every_round() -> None:
    pool, prior = problem(4)
    known = Known(np.array([0, 7, 9]), np.array([3, 1, 1]))
    clamped = replace(pool, known=known)
    assert np.isneginf(clamped.scores(prior.prototypes)[[0, 7, 9]]).sum() == 9
    states = rounds(clamped, prior)
    assert len(states) > 1
    for state in states:
        Q = labels(state.assignment)
        np.testing.assert_array_equal(Q[known.rows], np.eye(4)[known.places])
        assert np.isfinite(state.step.objective)
    assert pool.known is None
    assert not np.allclose(states[-1].points, run(pool, prior).points)


def test_known_rows_leave_imposed_shares_to_the_others() -> None:
    pool, prior = problem(4)
    clamped = replace(pool, known=Known(np.array([0, 7]), np.array([3, 3])))
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    found = run(clamped, prior, shares=shares)
    np.testing.assert_allclose(found.shares, shares, atol=1e-4)


def test_single_and_double_precision_agree() -> None:
    a, b = (run(*problem(5, dtype=dtype)) for dtype in (np.float64, np.float32))
    assert np.asarray(b.assignment.scores).dtype == np.float32
    np.testing.assert_allclose(a.points, b.points, atol=1e-3)


def test_candidates_and_rows_may_come_in_any_order() -> None:
    pool, prior = problem(6)
    order, rows = np.array([2, 0, 3, 1]), np.random.default_rng(0).permutation(len(pool))
    C = prior.covariance[np.ix_(order, order)]
    turned = replace(prior, prototypes=prior.prototypes[order], covariance=C)
    one, other = run(pool, prior), run(replace(pool, X=pool.X[rows]), turned)
    np.testing.assert_allclose(one.points[order], other.points, atol=1e-7)
    np.testing.assert_allclose(
        labels(one.assignment)[rows][:, order], labels(other.assignment), atol=1e-7
    )


def test_rounds_end_when_labels_rest_or_at_the_last_one() -> None:
    pool, prior = problem(8)
    long, short = ([s.step for s in rounds(pool, prior, rounds=n)] for n in (50, 2))
    assert len(long) < 51
    assert long[-1].moved < 2e-3
    assert [step.objective for step in short] == [step.objective for step in long[:3]]
    assert all(0 <= step.moved <= 1 and 0 <= step.changed <= 1 for step in long)


def test_the_scatter_of_the_pool_is_that_about_its_classes() -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 4
    statistics = seen_statistics(Rows(rng.standard_normal((60, 5)), codes), 4, "none")
    X, S, biases = rng.standard_normal((30, 5)), rng.standard_normal((30, 3)), np.array([0.5, 0, -1])
    pool = Pool(X, statistics.whitened(0.2, float))
    Q = softmax(S + biases, axis=1)
    found = with_pool(statistics, pool, Assignment(S, biases, Q, 0.0))
    want = np.zeros((5, 5))
    for k in range(3):
        mean = Q[:, k] @ X / Q[:, k].sum()
        want += ((X - mean) * Q[:, [k]]).T @ (X - mean)
    np.testing.assert_allclose(found.scatter, statistics.scatter + want, atol=1e-9)
    assert found.freedom == statistics.freedom + 30
    np.testing.assert_array_equal(found.means, statistics.means)


def test_only_a_pool_of_another_domain_is_whitened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_letters_to_digits()
    shown: list[int] = []

    def fitted() -> Any:
        model = SelfPacedPrototypes(data.semantics)
        return model.fit(*data.transductive(), observer=lambda number, _: shown.append(number))

    again = fitted()
    assert shown == list(range(len(again.history_) + 1)), "rounds are numbered on"
    monkeypatch.setattr(adaptation, "SHIFTED", np.inf)
    once = fitted()
    assert len(again.history_) > len(once.history_)
    shared = [line.objective for line in again.history_[: len(once.history_)]]
    assert shared == [line.objective for line in once.history_]
    assert not np.allclose(again._space.full_matrix, once._space.full_matrix)
    true = data.y[data.test_unseen]
    right = [(m.transduction_[len(data.train) :] == true).mean() for m in (again, once)]
    assert right[0] >= right[1]


def test_more_smoothing_brings_learned_shares_nearer_to_equal_ones() -> None:
    mass = np.array([9.0, 3.0, 1.0, 0.0])
    plans = [Plan(smoothing=value).biases(None, mass) for value in (0.3, 3.0)]  # type: ignore[arg-type]
    np.testing.assert_array_equal(plans[0], learned_biases(mass))
    assert np.ptp(plans[1]) < np.ptp(plans[0])
    np.testing.assert_array_equal(Plan(learn_shares=False).biases(None, mass), np.zeros(4))  # type: ignore[arg-type]
