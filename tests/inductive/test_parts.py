"""Shared parts of the inductive systems: engine, hinge, calibration, rectified similarities."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unseen.inductive.sse import rectified, relu_gradients, relu_similarities
from unseen.solvers.gradient_descent import _draws, descend
from unseen.solvers.hinge import fit_squared_hinge, match_signs, squared_hinge
from unseen.solvers.losses import ranking_hinge, structured_hinge, weighted_ranking
from unseen.statistics.attributes import platt


def naive(scores, codes, kind):
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
    np.testing.assert_allclose(costs, naive(scores, codes, kind))
    step = 1e-6 * random.normal(size=scores.shape)  # too small to change a rank
    moved, _ = loss(scores + step, codes)
    np.testing.assert_allclose(moved - costs, (gradient * step).sum(axis=1), atol=1e-11)


def test_margins_of_pairs():
    scores, codes = np.array([[0.0, 0.5, 0.2]]), np.array([0])
    table = np.array([[0.0, 0.1, 2.0], [0.1, 0.0, 1.0], [2.0, 1.0, 0.0]])
    cost, gradient = structured_hinge(scores, codes, table)
    assert cost[0] == pytest.approx(2.2)
    np.testing.assert_array_equal(gradient, [[-1, 0, 1]])


def test_one_piece_of_the_latent_engine_is_the_plain_engine():
    random = np.random.default_rng(0)
    X, codes, A = random.normal(size=(40, 5)), random.integers(4, size=40), random.normal(size=(3, 4))
    start = random.normal(size=(5, 3))
    same = {"batch": 8, "decay": 0.1, "ridge": 0.2}
    plain = descend(
        X, codes, A, ranking_hinge, start, repeat(0.01, 30), random=np.random.default_rng(1), **same
    )
    latent = descend(
        X, codes, A, ranking_hinge, start[None], repeat(0.01, 30),
        random=np.random.default_rng(1), **same,
    )  # fmt: skip
    np.testing.assert_allclose(latent[0], plain, atol=1e-12)


def test_repeated_regressions_never_raise_the_squared_hinge():
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(60, 4)), random.integers(3, size=60)
    signs = match_signs(codes, 3, float)
    inverse = np.linalg.inv(X.T @ X + np.eye(4))

    def loss(W):
        return squared_hinge(signs, X @ W) + (W**2).sum()

    found = [
        loss(fit_squared_hinge(signs, lambda T: inverse @ X.T @ T, lambda W: X @ W, rounds))
        for rounds in (1, 2, 5, 20)
    ]
    assert found == sorted(found, reverse=True)


def test_platt_is_a_logistic_regression_on_smoothed_labels():
    random = np.random.default_rng(0)
    scores = random.normal(size=(300, 2))
    targets = np.where(random.random(scores.shape) < 1 / (1 + np.exp(-2 * scores - 0.5)), 1.0, -1.0)
    slope, offset = platt(scores, targets)
    for m in range(2):
        positive = (targets[:, m] > 0).sum()
        high, low = (positive + 1) / (positive + 2), 1 / (300 - positive + 2)
        aim = np.where(targets[:, m] > 0, high, low)
        oracle = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(
            np.tile(scores[:, [m]], (2, 1)),
            np.repeat([1, 0], 300),
            sample_weight=np.concatenate([aim, 1 - aim]),
        )
        assert slope[m] == pytest.approx(oracle.coef_[0, 0], rel=1e-3)
        assert offset[m] == pytest.approx(oracle.intercept_[0], abs=1e-3)
    against, _ = platt(scores, -np.sign(scores))
    np.testing.assert_array_equal(against, 0)


def test_rectified_similarities_and_their_gradients():
    random = np.random.default_rng(0)
    X, V, w = random.normal(size=(5, 3)), random.normal(size=(4, 3)), random.normal(size=3)
    S = relu_similarities(X, V, w)
    want = [[sum(w * np.maximum(x - v, 0)) for v in V] for x in X]
    np.testing.assert_allclose(S, want)
    pull = random.normal(size=(5, 4))
    to_w, to_V = relu_gradients(rectified(X, V), w, pull)
    dw, dV = 1e-6 * random.normal(size=3), 1e-6 * random.normal(size=(4, 3))
    moved = (pull * (relu_similarities(X, V + dV, w + dw) - S)).sum()
    assert moved == pytest.approx((to_w @ dw) + (to_V * dV).sum(), abs=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_as_a_generator_draws_them(weighted) -> None:
    weights = np.random.default_rng(0).random(200)
    weights[::3] = 0
    weights = weights if weighted else None
    share = None if weights is None else weights / weights.sum()
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for steps in (120, 7):  # a second descent goes on with the same generator
        for rows in _draws(200, steps, 21, weights, ours):
            np.testing.assert_array_equal(rows, theirs.choice(200, size=21, p=share))
