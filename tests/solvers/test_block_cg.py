"""Conjugate gradients on blocks of columns: their steps, when they end, and what preconditions them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import cg

from unseen.solvers import block_cg
from unseen.solvers.block_cg import _apply, _block_cg, _preconditioners, _product, shifted_solver


def positive(p: int, seed: int = 0) -> Any:
    rows = np.random.default_rng(seed).normal(size=(2 * p, p))
    return rows.T @ rows + np.eye(p)


def counted(M: Any) -> tuple[list[int], Any]:
    calls: list[int] = []

    def operator(v: Any) -> Any:
        calls.append(v.shape[1])
        return M @ v

    return calls, operator


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_every_column_takes_the_steps_of_conjugate_gradients(steps: int) -> None:
    M, R = positive(12), np.random.default_rng(1).normal(size=(12, 3))
    P = np.linalg.inv(np.diag(np.diag(M)) + 0.1)
    found = _block_cg(lambda v: M @ v, lambda r: P @ r, R, 0.0, steps)
    for column, right in zip(found.T, R.T, strict=True):
        want, _ = cg(M, right, x0=P @ right, rtol=0.0, atol=0.0, maxiter=steps, M=P)
        np.testing.assert_allclose(column, want, atol=1e-12)


def test_it_ends_when_the_last_column_is_exact_enough() -> None:
    M = np.diag(np.linspace(1, 9, 8))
    R = np.random.default_rng(1).normal(size=(8, 2))
    R[:, 0] = 0
    R[0, 0] = 5.0  # the start is its solution
    for tol in (0.5, 1e-2, 1e-6):
        calls, operator = counted(M)
        found = _block_cg(operator, lambda r: r.copy(), R, tol, 99)
        left = np.linalg.norm(R - M @ found, axis=0) / np.linalg.norm(R, axis=0)
        assert (left <= tol).all()
        fewer = _block_cg(lambda v: M @ v, lambda r: r.copy(), R, 0.0, len(calls) - 2)
        assert np.linalg.norm(R - M @ fewer, axis=0)[1] > tol * np.linalg.norm(R[:, 1])


def test_nothing_is_asked_twice_of_a_system_without_a_right_hand_side() -> None:
    calls, operator = counted(positive(5))
    found = _block_cg(operator, lambda r: r.copy(), np.zeros((5, 2)), 1e-9, 50)
    assert not found.any()
    assert calls == [2]


def test_a_column_without_a_right_hand_side_stays_zero_beside_others() -> None:
    M, R = positive(10), np.random.default_rng(1).normal(size=(10, 3))
    R[:, 1] = 0
    found = _block_cg(lambda v: M @ v, lambda r: r.copy(), R, 1e-10, 200)
    np.testing.assert_array_equal(found[:, 1], 0)
    np.testing.assert_allclose(M @ found, R, atol=1e-8)


def test_a_product_has_the_precision_of_the_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_cg, "PRODUCT_ROWS", 4)  # blocks of 4, 4 and 2 rows
    G, v = positive(10).astype(np.float32), np.random.default_rng(1).normal(size=(10, 3))
    found = _product(G, v)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, G.astype(float) @ v, rtol=1e-14)
    assert _product(G, v.astype(np.float32)).dtype == np.float32


def test_columns_of_like_shifts_share_a_factor() -> None:
    """Shifts count in units of the traces; up to 0.05 of those all are one group."""
    G, G2 = 3 * positive(6), positive(6, 1)
    unit = np.trace(G) / np.trace(G2)
    d = unit * np.array([0.0, 0.01, 0.02, 0.3, 0.9, 1.1, 3.9, 4.1, 20.0])
    groups = _preconditioners(G, G2, d)
    assert [list(columns) for columns, _ in groups] == [[0, 1, 2], [3, 4], [5, 6], [7], [8]]
    R = np.random.default_rng(2).normal(size=(6, 2))
    for columns, solve in groups[1:]:
        middle = np.prod(d[columns]) ** (1 / len(columns))
        np.testing.assert_allclose((G + middle * G2) @ solve(R), R, atol=1e-9)
    whole = np.random.default_rng(3).normal(size=(6, 9))
    together = _apply(groups, whole)
    for columns, solve in groups:
        np.testing.assert_array_equal(together[:, columns], solve(whole[:, columns]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_column_solves_the_system_of_its_shift(dtype: Any) -> None:
    G, G2 = positive(20).astype(dtype), positive(20, 1).astype(dtype)
    d, R = np.array([0.0, 0.1, 1.0, 30.0]), np.random.default_rng(1).normal(size=(20, 4))
    found = shifted_solver(G, G2, d, 1e-9, 200)(R)
    for column, right, shift in zip(found.T, R.T, d, strict=True):
        np.testing.assert_allclose((G.astype(float) + shift * G2) @ column, right, atol=1e-7)


def test_a_group_without_a_shift_is_preconditioned_by_the_first_matrix() -> None:
    """A shift of zero has no logarithm: it counts as one that changes nothing."""
    G, G2 = positive(6), positive(6, 1)
    ((columns, solve),) = _preconditioners(G, G2, np.zeros(2))
    assert list(columns) == [0, 1]
    R = np.random.default_rng(2).normal(size=(6, 2))
    np.testing.assert_allclose(G @ solve(R), R, atol=1e-9)


def test_a_matrix_of_the_right_precision_is_multiplied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_cg, "blocks", lambda *_: pytest.fail("it was taken apart"))
    G, v = positive(10), np.random.default_rng(1).normal(size=(10, 3))
    np.testing.assert_array_equal(_product(G, v), G @ v)
