"""One subspace for the systems of a fit, against direct solves."""

from __future__ import annotations

import numpy as np
import pytest

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


def counted_space(tol: float = 1e-4) -> tuple[list[int], SharedSubspace]:
    calls: list[int] = []

    def labelled(B):
        calls.append(B.shape[1])
        return LABELLED.T @ (LABELLED @ B)

    return calls, SharedSubspace(labelled, P, float, tol)


def test_a_correction_need_not_be_exact_beside_the_largest_solution():
    calls, held = counted_space()
    solve = held.system(BOTH)
    solve(R)
    solve(1e-9 * R)
    calls.clear()
    other = np.random.default_rng(1).normal(size=(P, 2))
    solve(1e-6 * other)  # a millionth of the first: any error of it is below the tolerance
    assert calls == []
    solve(other)
    assert calls != []


def test_the_first_solution_is_exact_however_small():
    _, held = counted_space()
    found = 1e9 * held.system(BOTH)(1e-9 * R)
    assert np.linalg.norm(found - direct()) <= 1e-3 * np.linalg.norm(direct())


@pytest.mark.parametrize(("columns", "enough"), [(100, True), (99, False)])
def test_a_basis_has_one_direction_for_six_columns_at_most(columns, enough):
    """Fifty right-hand sides of two eigenvalues need a hundred directions."""
    width = 6 * columns + (0 if enough else 5)
    values = np.where(np.arange(width) % 2, 1.0, 9.0)[:, None]
    held = SharedSubspace(lambda B: values * B, width, float, 1e-6)
    right = np.random.default_rng(1).normal(size=(width, 50))
    solve = held.system(System(np.array([1.0, 0.0, 0.0, 0.5])))
    if enough:
        np.testing.assert_allclose((values + 0.5) * solve(right), right, atol=1e-4)
        return
    with pytest.raises(SlowConvergence):
        solve(right)
