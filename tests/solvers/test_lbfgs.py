"""L-BFGS on several arrays: their shapes, the optimum, and no more steps than allowed."""

from __future__ import annotations

import numpy as np

from unseen.solvers import lbfgs
from unseen.solvers.lbfgs import minimise


def valley(parts):
    """(a − 1)² summed over a matrix, and the coupled 10 (b₀ − b₁)² + b₀² + b₁²."""
    a, b = parts
    value = ((a - 1) ** 2).sum() + 10 * (b[0] - b[1]) ** 2 + b @ b
    pull = 20 * (b[0] - b[1]) * np.array([1.0, -1.0]) + 2 * b
    return value, [2 * (a - 1), pull]


def test_each_array_comes_back_in_its_shape_at_the_optimum():
    start = [np.zeros((2, 3), dtype=np.float32), np.array([5.0, -3.0])]
    (a, b), steps = minimise(valley, start, 100)
    np.testing.assert_allclose(a, np.ones((2, 3)), atol=1e-5)
    np.testing.assert_allclose(b, 0, atol=1e-5)
    assert a.dtype == b.dtype == float
    assert 1 < steps < 100
    np.testing.assert_array_equal(start[1], [5, -3])


def test_it_stops_after_the_steps_that_are_allowed():
    start = [np.zeros((2, 3)), np.array([5.0, -3.0])]
    before, _ = valley(start)
    values = []
    for allowed in (1, 2, 3):
        found, steps = minimise(valley, start, allowed)
        assert steps == allowed
        values.append(valley(found)[0])
    assert before > values[0] > values[1] > values[2]


def test_it_looks_at_most_three_times_a_step_and_once_more(monkeypatch):
    given = []

    def noted(*arguments, options, **more):
        given.append(options)
        return optimise(*arguments, options=options, **more)

    optimise = lbfgs.optimize.minimize
    monkeypatch.setattr(lbfgs.optimize, "minimize", noted)
    minimise(valley, [np.zeros((2, 3)), np.array([5.0, -3.0])], 4)
    assert given == [{"maxiter": 4, "maxfun": 13}]
