"""The growing subspace against a direct solve, and its certificate against the true error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen.solvers.images import Halves
from unseen.solvers.krylov import (
    BLOCK_COLUMNS,
    SlowConvergence,
    Subspace,
    System,
    _blocks_to_go,
    _leading,
    _orthonormal,
    joint_eigenvectors,
)


def systems(p: int = 120, k: int = 4) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    first, second = (random.normal(size=(n, p)) for n in (400, 90))
    return first.T @ first, second.T @ second, random.normal(size=(p, k))


def test_every_column_solves_its_own_system() -> None:
    M1, M2, R = systems()
    system = System(np.array([1.0, 0.0, 50.0]), np.array([0.5, 2.0, 10.0]), np.array([0, 0.3, 1, 2]))
    Z, _ = Subspace([lambda B: M1 @ B, lambda B: M2 @ B], 120, 999, float).solve(R, system, 1e-9)
    for j, (a, b, c) in enumerate(system.coefficients(4).T):
        exact = np.linalg.solve(a * M1 + b * M2 + c * np.eye(120), R[:, j])
        np.testing.assert_allclose(Z[:, j], exact, atol=1e-7 * np.abs(exact).max())


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_error_is_below_its_bound(tol: float) -> None:
    M, _, R = systems()
    system = M + 30 * np.eye(120)
    Z, length = Subspace([lambda B: M @ B], 120, 999, float).solve(
        R, System(np.array([1.0, 30.0])), tol
    )
    error = Z - np.linalg.solve(system, R)
    assert np.sqrt(np.vdot(error, system @ error)) <= tol * length


def test_a_basis_serves_the_next_system() -> None:
    M, _, R = systems()
    calls = []

    def counted(B: Any) -> Any:
        calls.append(B.shape[1])
        return M @ B

    space = Subspace([counted], 120, 999, float)
    space.solve(R, System(np.array([1.0, 30.0])), 1e-6)
    before = len(calls)
    space.solve(R, System(np.array([1.0, 300.0])), 1e-6)  # a larger shift needs no more
    space.solve(2 * R[:, :1], System(np.array([1.0, 30.0])), 1e-6)
    assert len(calls) == before


def test_another_operator_takes_the_place_of_one() -> None:
    M1, M2, R = systems()
    space = Subspace([lambda B: M1 @ B], 120, 999, float)
    space.solve(R, System(np.array([1.0, 40.0])), 1e-6)
    rank = space.rank
    space.replace(0, lambda B: M2 @ B)
    assert space.rank == rank  # the basis stays
    Z, _ = space.solve(R, System(np.array([1.0, 40.0])), 1e-9)
    np.testing.assert_allclose((M2 + 40 * np.eye(120)) @ Z, R, atol=1e-6)


def test_an_operator_may_go_and_a_guess_may_come() -> None:
    M1, M2, R = systems()
    calls = []

    def counted(B: Any) -> Any:
        calls.append(B.shape[1])
        return M1 @ B

    space = Subspace([counted, lambda B: M2 @ B], 120, 999, float)
    system = System(np.array([1.0, 1.0, 40.0]))
    Z, _ = space.solve(R, system, 1e-9)
    calls.clear()
    space.restart(Z)
    assert space.rank == R.shape[1]
    assert not calls  # a solution lies in the basis, whose images are known
    again, _ = space.solve(R, system, 1e-6)
    assert space.rank == R.shape[1]  # the guess was the solution
    np.testing.assert_allclose(again, Z, atol=1e-9)
    space.replace(1, None)
    Z, _ = space.solve(R, system, 1e-9)
    np.testing.assert_allclose((M1 + 40 * np.eye(120)) @ Z, R, atol=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_another_second_half_takes_up_the_first(known: bool) -> None:
    """What rows make of the last solution is known; what they make of any other is computed."""
    M, _, R = systems()
    rows = np.random.default_rng(1).normal(size=(90, 120))
    calls = []

    def first(B: Any) -> Any:
        calls.append(B.shape[1])
        return rows @ B

    def weighed(weights: Any) -> Halves:
        return Halves(first, lambda P: rows.T @ (weights[:, None] * P))

    weights, others = np.linspace(0, 1, 90), np.linspace(3, 1, 90)
    system = System(np.array([1.0, 1.0, 40.0]))
    space = Subspace([lambda B: M @ B, weighed(weights)], 120, 999, float)
    near, _ = space.solve(R, system, 1e-6)
    calls.clear()
    space.restart(near if known else near + 1)
    space.renew(1, weighed(others))
    assert space.rank == R.shape[1]
    assert calls == ([] if known else [R.shape[1]])
    Z, _ = space.solve(R, system, 1e-9)
    whole = M + rows.T @ (others[:, None] * rows) + 40 * np.eye(120)
    np.testing.assert_allclose(whole @ Z, R, atol=1e-6)


def test_blocks_are_as_narrow_as_what_is_asked_lets_them_be() -> None:
    random = np.random.default_rng(0)
    M = np.diag(np.linspace(1, 30, 400))
    R = random.normal(size=(400, 30)) * np.geomspace(1, 1e-3, 30)
    widths: list[int] = []

    def counted(B: Any) -> Any:
        widths.append(B.shape[1])
        return M @ B

    Z, length = Subspace([counted], 400, 999, float).solve(R, System(np.array([1.0, 3.0])), 1e-3)
    error = Z - np.linalg.solve(M + 3 * np.eye(400), R)
    assert np.sqrt(np.vdot(error, M @ error + 3 * error)) <= 1e-3 * length
    assert widths[0] == 30  # the right-hand sides
    assert all(width % BLOCK_COLUMNS == 0 or width < BLOCK_COLUMNS for width in widths[1:])
    assert widths[-1] < widths[1] < 30


def test_it_gives_up_where_a_direct_solve_is_cheaper() -> None:
    M, _, R = systems()
    with pytest.raises(SlowConvergence):
        Subspace([lambda B: M @ B], 120, 24, float).solve(R, System(np.array([1.0, 1e-6])))


def test_dependent_right_hand_sides_do_no_harm() -> None:
    M, _, R = systems()
    twice = np.concatenate([R, R, np.zeros((120, 1))], axis=1)
    Z, _ = Subspace([lambda B: M @ B], 120, 999, float).solve(
        twice, System(np.array([1.0, 30.0])), 1e-8
    )
    np.testing.assert_allclose((M + 30 * np.eye(120)) @ Z, twice, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, -1e9])
def test_a_singular_system_is_left_to_others(shift: float) -> None:
    M, _, R = systems()
    system = System(np.array([1.0, shift])) if shift == 0 else System(np.array([shift, 1.0]))
    with pytest.raises(SlowConvergence):
        Subspace([lambda B: M @ B], 120, 999, float).solve(R, system)


def test_nothing_is_solved_by_nothing() -> None:
    M, _, R = systems()
    Z, length = Subspace([lambda B: M @ B], 120, 999, float).solve(0 * R, System(np.array([1.0, 2.0])))
    assert length == 0
    assert not Z.any()


def test_an_orthonormal_basis_has_the_span_and_no_rounding() -> None:
    B = np.random.default_rng(0).normal(size=(30, 4)) * [1e-6, 1.0, 10.0, 1e6]
    Q = _orthonormal(np.column_stack([B, B[:, 1] + B[:, 2]]))
    assert Q.shape == (30, 4)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(Q @ (Q.T @ B), B, rtol=1e-6, atol=1e-12)


def test_blocks_to_go_follow_the_rate_of_the_last_two() -> None:
    assert _blocks_to_go([1.0, 0.1], 1e-4) == 1.0
    assert _blocks_to_go([7.0, 1.0, 0.3, 0.01], 1e-4) == pytest.approx(2.0)  # a tenth a block
    assert _blocks_to_go([1.0, 1.0, 2.0], 0.02) == pytest.approx(np.log(0.01) / np.log(0.99))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_a_basis_begun_anew_holds_what_is_near_whatever_its_scale(scale: float) -> None:
    M, _, R = systems()
    space = Subspace([lambda B: M @ B], 120, 999, float)
    space.solve(R, System(np.array([1.0, 30.0])), 0.1)
    near = scale * np.random.default_rng(5).normal(size=(120, 3))
    space.restart(near)
    assert space.rank == 3
    Q = space._basis.taken
    assert np.linalg.norm(near - Q @ (Q.T @ near)) <= 1e-9 * np.linalg.norm(near)


def test_joint_eigenvectors_make_both_matrices_diagonal() -> None:
    A, B = (rows.T @ rows for rows in np.random.default_rng(0).normal(size=(2, 30, 20)))
    B += np.eye(20)
    d, T = joint_eigenvectors(A, B)
    np.testing.assert_allclose(T.T @ A @ T, np.diag(d), atol=1e-9)
    np.testing.assert_allclose(T.T @ B @ T, np.eye(20), atol=1e-9)
    assert (np.diff(d) >= 0).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("shift", [0.01, 0.5, 30.0])
def test_the_bound_holds_where_nothing_but_the_shift_makes_a_system_definite(
    shift: float, scale: float
) -> None:
    """M has fewer rows than columns; without a tolerance the error is at most 1e-4 of the solution."""
    _, M, R = systems()
    R = scale * R
    whole = M + shift * np.eye(120)
    space = Subspace([lambda B: M @ B], 120, 10**9, float)
    Z, length = space.solve(R, System(np.array([1.0, shift])))
    exact = np.linalg.solve(whole, R)
    assert length == pytest.approx(np.sqrt(np.vdot(exact, whole @ exact)), rel=1e-3)
    error = Z - exact
    assert np.sqrt(np.vdot(error, whole @ error)) <= 1e-4 * length


def test_a_system_with_one_negative_shift_is_left_to_others() -> None:
    M, _, R = systems()
    system = System(np.array([1.0, 5.0]), np.array([0.0, -10.0]), np.array([0, 0.1, 0.2, 1.0]))
    with pytest.raises(SlowConvergence):
        Subspace([lambda B: M @ B], 120, 999, float).solve(R, system)


def test_coefficients_are_those_of_the_base_unless_columns_are_shifted() -> None:
    system = System(np.array([1.0, 5.0]), np.array([3.0, 7.0]))
    np.testing.assert_array_equal(system.coefficients(2), [[1, 1], [5, 5]])


@pytest.mark.parametrize(("most", "enough"), [(11, False), (12, True)])
def test_a_basis_may_have_as_many_columns_as_it_needs_and_no_more(most: int, enough: bool) -> None:
    """Of three eigenvalues: three blocks of four columns hold the solution."""
    M = np.diag(np.repeat([1.0, 5.0, 20.0], 40))
    R = np.random.default_rng(0).normal(size=(120, 4))
    space = Subspace([lambda B: M @ B], 120, most, float)
    system = System(np.array([1.0, 0.5]))
    if not enough:
        with pytest.raises(SlowConvergence):
            space.solve(R, system, 1e-6)
        return
    Z, _ = space.solve(R, system, 1e-6)
    assert space.rank == 12
    np.testing.assert_allclose((M + 0.5 * np.eye(120)) @ Z, R, atol=1e-5)


def test_leading_directions_are_orthonormal_and_come_in_eights() -> None:
    B = np.linalg.qr(np.random.default_rng(0).normal(size=(60, 20)))[0]
    for columns, count in ((5, 5), (7, 7), (8, 8), (9, 8), (15, 8), (16, 16), (20, 16)):
        found = _leading(3 * B[:, :columns], 1e-3)
        assert found.shape == (60, count)
        np.testing.assert_allclose(found.T @ found, np.eye(count), atol=1e-9)


@pytest.mark.parametrize(("left", "count"), [(0.1, 3), (0.5, 2), (0.55, 2), (0.65, 1), (0.9, 1)])
def test_the_weakest_directions_are_dropped_by_their_common_length(left: float, count: int) -> None:
    """Lengths 2, 4 and 6.6: the first is .25 of them all, the first two .56."""
    B = np.zeros((5, 3))
    B[[0, 1, 2], [0, 1, 2]] = 2, 4, 6.6
    wanted = {3: [0, 1, 2], 2: [1, 2], 1: [2]}[count]
    found = _leading(B, left)
    assert found.shape == (5, count)
    assert sorted(np.abs(found).argmax(axis=0).tolist()) == wanted


def test_copies_of_a_vector_span_a_line() -> None:
    b = np.random.default_rng(0).normal(size=(30, 1))
    assert _orthonormal(np.repeat(b, 4, axis=1)).shape == (30, 1)


def test_a_basis_stays_orthonormal_beside_what_it_nearly_holds() -> None:
    random = np.random.default_rng(0)
    space = Subspace([lambda B: B], 60, 999, np.float32)
    space._widen(np.linalg.qr(random.normal(size=(60, 5)))[0].astype(np.float32))
    Q = space._basis.taken
    near = Q[:, :3] + 1e-3 * random.normal(size=(60, 3)).astype(np.float32)
    space._widen(near)
    Q = space._basis.taken.astype(float)
    assert Q.shape == (60, 8)
    np.testing.assert_allclose(Q.T @ Q, np.eye(8), atol=1e-5)
