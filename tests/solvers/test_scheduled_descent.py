"""The rounds of Algorithm 1: step sizes, start, when they end, and the loss of two domains."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.exceptions import DivergenceError
from unseen.solvers.gradient_descent import descend
from unseen.solvers.losses import adaptive_structural_cost
from unseen.solvers.scheduled_descent import Schedule, scheduled_descent, two_domain_cost


@pytest.mark.parametrize(("units", "scale"), [("paper", 1.0), ("curvature", 0.25), (0.5, 0.5)])
def test_a_round_has_fifty_steps_of_each_rate(units, scale):
    steps = Schedule(1, step_scale=units).steps(curvature=4.0)
    np.testing.assert_allclose(steps, scale * np.repeat([1.0, 0.1, 0.01], 50))


@pytest.mark.parametrize(("units", "scale"), [("paper", 1.0), ("curvature", 1 / 6), (0.5, 0.5)])
def test_the_start_is_normal_with_its_scale(units, scale):
    V = Schedule(1, start_scale=units).start((9, 5), 4.0, np.random.default_rng(0))
    np.testing.assert_allclose(V, scale * np.random.default_rng(0).normal(size=(9, 5)))


def problem():
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(80, 5)), random.integers(4, size=80)
    return X, codes, random.normal(size=(3, 4)), adaptive_structural_cost, random.normal(size=(5, 3))


def test_rounds_follow_each_other_with_one_generator():
    *given, V = problem()
    schedule = Schedule(2)
    weights = np.arange(80.0)
    found, done = scheduled_descent(
        *given, V, schedule, 50.0,
        random=np.random.default_rng(1), weights=weights, decay=0.1, ridge=0.2,
    )  # fmt: skip
    random = np.random.default_rng(1)
    for _ in range(2):
        V = descend(
            *given, V, schedule.steps(50.0),
            batch=50, random=random, weights=weights, decay=0.1, ridge=0.2, averaged=False,
        )  # fmt: skip
    np.testing.assert_array_equal(found, V)
    assert done == 2


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(None, (5, 0)), (2.0, (3, 3)), (1.0, (4, 4)), (-1.0, (5, 5))]
)
def test_it_ends_after_the_first_round_below_epsilon(epsilon, expected):
    asked = []

    def objective(V):
        asked.append(V)
        return 4.0 - len(asked)  # 3, 2, 1, 0, -1

    schedule = Schedule(5, epsilon=epsilon)
    _, done = scheduled_descent(
        *problem(), schedule, 50.0, random=np.random.default_rng(1), objective=objective
    )
    assert (done, len(asked)) == expected


def test_an_epsilon_without_an_objective_is_not_asked():
    _, done = scheduled_descent(
        *problem(), Schedule(2, epsilon=1e9), 50.0, random=np.random.default_rng(1)
    )
    assert done == 2


def test_a_descent_that_diverges_says_where_and_what_to_do():
    message = r"round 1 of 3: its first step size is 1e\+06, .* allows about 0\.02\. Give step_scale"
    with pytest.raises(DivergenceError, match=message):
        scheduled_descent(
            *problem(), Schedule(3, step_scale=1e6), 50.0, random=np.random.default_rng(1)
        )


def test_two_domains_cost_what_each_of_them_costs():
    random = np.random.default_rng(0)
    scores, codes = random.normal(size=(6, 5)), np.array([0, 1, 2, 3, 4, 3])
    cost, gradient = two_domain_cost(3)(scores, codes)
    alone, pulled = adaptive_structural_cost(scores[:3, :3], codes[:3])
    np.testing.assert_allclose(cost[:3], alone)
    np.testing.assert_allclose(gradient[:3, :3], pulled)
    error = scores[3:, 3:] - np.eye(2)[codes[3:] - 3]
    np.testing.assert_allclose(cost[3:], (error**2).sum(axis=1))
    np.testing.assert_allclose(gradient[3:, 3:], 2 * error)
    assert not gradient[:3, 3:].any()
    assert not gradient[3:, :3].any()


def test_nothing_decays_unless_told():
    *given, V = problem()

    def run(**more):
        return scheduled_descent(*given, V, Schedule(1), 50.0, random=np.random.default_rng(1), **more)

    np.testing.assert_array_equal(run()[0], run(decay=0.0, ridge=0.0)[0])
