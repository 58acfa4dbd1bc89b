"""Shared parts of the inductive systems: calibration, rectified similarities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from unseen.inductive.sse import rectified, relu_gradients, relu_similarities
from unseen.statistics.attributes import platt


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
