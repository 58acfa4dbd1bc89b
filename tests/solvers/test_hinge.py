"""The squared hinge by repeated regressions."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.solvers.hinge import fit_squared_hinge, match_signs, squared_hinge, stretched


def test_signs_say_the_class_of_a_row():
    signs = match_signs(np.array([2, 0]), 3, np.float32)
    np.testing.assert_array_equal(signs, [[-1, -1, 1], [1, -1, -1]])
    assert signs.dtype == np.float32


def test_only_scores_within_the_margin_cost_something():
    signs = np.array([[1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])
    scores = np.array([[2.0, -1.0, 0.5], [-1.0, 0.0, -3.0]])
    assert squared_hinge(signs, scores) == pytest.approx(0.25 + 4 + 1)
    assert squared_hinge(signs, scores, np.array([2.0, 0.5])) == pytest.approx(0.5 + 2.5)
    np.testing.assert_array_equal(stretched(signs, scores), [[2, -1, 1], [1, -1, -3]])


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_there_are_as_many_regressions_as_rounds(rounds):
    targets = []

    def regress(T):
        targets.append(T)
        return 3 * T

    signs = match_signs(np.array([0, 1]), 2, float)
    found = fit_squared_hinge(signs, regress, lambda parameters: parameters, rounds)
    assert len(targets) == rounds
    np.testing.assert_array_equal(targets[0], signs)
    np.testing.assert_array_equal(found, signs * 3.0**rounds)


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
