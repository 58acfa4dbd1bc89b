"""The paper's worked example, naive loops and finite differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from unseen.rows.kernels import pseudo_label_loss
from unseen.solvers.losses import adaptive_structural_cost, structured_hinge


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
