"""One subspace for the systems of a fit, against direct solves."""

from __future__ import annotations

import numpy as np

from unseen.solvers.images import Halves
from unseen.solvers.krylov import SlowConvergence, System
from unseen.solvers.shared_subspace import SharedSubspace, first_of

P = 600
random = np.random.default_rng(0)
LABELLED, POOL, FACTOR = (random.normal(size=(n, P)) / 10 for n in (90, 60, 20))
R = random.normal(size=(P, 2))
BOTH = System(np.array([1.0, 2.0, 0.0, 30.0]))


def space() -> SharedSubspace:
    return SharedSubspace(lambda B: LABELLED.T @ (LABELLED @ B), P, float, 1e-9)


def weighted(weights, calls=None) -> Halves:
    def first(B):
        if calls is not None:
            calls.append(B.shape[1])
        return POOL @ B

    return Halves(first, lambda H: POOL.T @ (weights[:, None] * H))


def direct(pool=None, metric: float = 0.0, shift: float = 30.0):
    M = LABELLED.T @ LABELLED + shift * np.eye(P) + metric * FACTOR.T @ FACTOR
    return np.linalg.solve(M if pool is None else M + 2 * (POOL.T * pool) @ POOL, R)


def test_labelled_rows_alone_then_a_metric_then_a_pool():
    held = space()
    np.testing.assert_allclose(held.system(BOTH)(R), direct(), atol=1e-8)
    held.with_metric(lambda B: FACTOR.T @ (FACTOR @ B))
    measured = System(np.array([1.0, 2.0, 0.5, 30.0]))
    np.testing.assert_allclose(held.system(measured)(R), direct(metric=0.5), atol=1e-8)
    ones = np.ones(60)
    held.with_pool(weighted(ones), POOL, direct())
    np.testing.assert_allclose(held.system(BOTH)(R), direct(ones), atol=1e-8)
    held.without_pool()
    np.testing.assert_allclose(held.system(BOTH)(R), direct(), atol=1e-8)


def test_other_weights_of_the_same_rows_use_what_the_rows_made():
    held, calls = space(), []
    ones, other = np.ones(60), np.linspace(0, 1, 60)
    held.with_pool(weighted(ones, calls), POOL, direct())
    near = held.system(BOTH)(R)
    calls.clear()
    held.with_pool(weighted(other, calls), POOL, near)
    assert calls == []
    np.testing.assert_allclose(held.system(BOTH)(R), direct(other), atol=1e-8)
    calls.clear()
    held.with_pool(weighted(ones, calls), POOL.copy(), near)  # other rows, as far as it knows
    assert sum(calls) == 2
    np.testing.assert_allclose(held.system(BOTH)(R), direct(ones), atol=1e-8)


def test_a_tolerance_of_its_own_and_answers_in_double_precision():
    held = SharedSubspace(lambda B: LABELLED.T @ (LABELLED @ B), P, np.float32, 1e-4)
    found = held.system(BOTH, tol=1e-1)(R)
    assert found.dtype == float
    rough = np.linalg.norm(found - direct())
    fine = np.linalg.norm(held.system(BOTH)(R) - direct())
    assert fine < rough / 10


def test_the_safe_solver_takes_over_for_good():
    said = []

    def quick(R):
        said.append("quick")
        if len(said) > 1:
            raise SlowConvergence
        return R

    def make_safe():
        said.append("made")
        return lambda R: 2 * R

    solve = first_of(quick, make_safe)
    assert [solve(1.0), solve(1.0), solve(1.0)] == [1.0, 2.0, 2.0]
    assert said == ["quick", "quick", "made"]
