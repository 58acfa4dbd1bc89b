"""The paper's worked example, naive loops and finite differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from unseen.rows.kernels import pseudo_label_loss
from unseen.solvers.losses import (
    adaptive_structural_cost,
    ranking_hinge,
    structural_objective,
    structured_hinge,
    weighted_ranking,
)


def test_figure_2_to_machine_precision() -> None:
    g = np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]])
    cost, _ = adaptive_structural_cost(g, np.array([0, 0, 0]))
    np.testing.assert_allclose(cost, [0.14, 0.38, 1.16], rtol=4 * np.finfo(float).eps)


def test_costs_against_a_naive_loop() -> None:
    random = np.random.default_rng(0)
    S, codes = random.normal(size=(50, 6)), random.integers(6, size=50)
    adaptive, _ = adaptive_structural_cost(S, codes)
    hinge, _ = structured_hinge(S, codes, margin=0.5)
    pseudo = pseudo_label_loss(S, codes)
    for n in range(50):
        y = np.eye(6)[codes[n]]
        assert adaptive[n] == pytest.approx(((S[n] - y) ** 2).sum() + S[n].max() - S[n] @ y)
        worst = max(0.5 * (k != codes[n]) + S[n, k] - S[n] @ y for k in range(6))
        assert hinge[n] == pytest.approx(worst)
        assert pseudo[n] == pytest.approx(((S[n] - y) ** 2).sum())


@pytest.mark.parametrize("loss", [adaptive_structural_cost, partial(structured_hinge, margin=0.7)])
def test_gradients_by_finite_differences(loss: Any) -> None:
    random = np.random.default_rng(1)
    S, codes = random.normal(size=(8, 5)), random.integers(5, size=8)
    _, gradient = loss(S, codes)
    for n in range(8):
        for k in range(5):
            step = np.zeros_like(S)
            step[n, k] = 1e-6
            slope = (loss(S + step, codes)[0].sum() - loss(S - step, codes)[0].sum()) / 2e-6
            assert gradient[n, k] == pytest.approx(slope, abs=1e-6)


def naive_ranking(scores, codes, kind):
    costs = []
    for s, y in zip(scores, codes, strict=True):
        lost = [max(0.0, 1 + s[k] - s[y]) for k in range(len(s)) if k != y]
        rank = sum(v > 0 for v in lost)
        weight = sum(1 / i for i in range(1, rank + 1)) / max(rank, 1) if kind == "warp" else 1.0
        costs.append(weight * sum(lost))
    return np.array(costs)


@pytest.mark.parametrize(("loss", "kind"), [(ranking_hinge, "sum"), (weighted_ranking, "warp")])
def test_ranking_losses_by_a_naive_loop_and_by_differences(loss, kind):
    random = np.random.default_rng(0)
    scores, codes = random.normal(size=(20, 6)), random.integers(6, size=20)
    costs, gradient = loss(scores, codes)
    np.testing.assert_allclose(costs, naive_ranking(scores, codes, kind))
    step = 1e-6 * random.normal(size=scores.shape)  # too small to change a rank
    moved, _ = loss(scores + step, codes)
    np.testing.assert_allclose(moved - costs, (gradient * step).sum(axis=1), atol=1e-11)


def test_margins_of_pairs():
    scores, codes = np.array([[0.0, 0.5, 0.2]]), np.array([0])
    table = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.0], [2.0, 1.0, 0.0]])
    cost, gradient = structured_hinge(scores, codes, table)
    assert cost[0] == pytest.approx(2.2)
    np.testing.assert_array_equal(gradient, [[-1, 0, 1]])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_the_written_one(weighted: bool) -> None:
    random = np.random.default_rng(2)
    X, codes = random.normal(size=(30, 5)), random.integers(4, size=30)
    A, V, C, mu = random.normal(size=(3, 4)), random.normal(size=(5, 3)), 0.7, 0.3
    weights = random.uniform(0.5, 2, size=30) if weighted else None
    want = C / 2 * (((V @ A) ** 2).sum() + mu * (V**2).sum())
    for n in range(30):
        scores, own = X[n] @ V @ A, np.eye(4)[codes[n]]
        cost = ((scores - own) ** 2).sum() + scores.max() - scores @ own + mu * ((X[n] @ V) ** 2).sum()
        want += cost if weights is None else weights[n] * cost
    assert structural_objective(X, codes, A, V, C, mu, weights) == pytest.approx(want)


def test_a_row_that_violates_no_margin_costs_nothing() -> None:
    scores, codes = np.array([[5.0, 1.0, 0.0], [0.0, 0.5, -9.0]]), np.array([0, 0])
    for loss in (ranking_hinge, weighted_ranking):
        cost, gradient = loss(scores, codes)
        np.testing.assert_allclose(cost, [0, 1.5])
        np.testing.assert_allclose(gradient, [[0, 0, 0], [-1, 1, 0]])


def test_the_margin_is_one_unless_told() -> None:
    scores, codes = np.array([[0.0, 0.5, 0.2]]), np.array([0])
    assert structured_hinge(scores, codes)[0][0] == pytest.approx(1.5)
    assert ranking_hinge(scores, codes)[0][0] == pytest.approx(2.7)
    assert weighted_ranking(scores, codes)[0][0] == pytest.approx(0.75 * 2.7)
