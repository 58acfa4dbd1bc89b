"""Positive definite systems in mixed precision, and Cholesky factors by either library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen.solvers import cholesky, moments
from unseen.typing import Array


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e10])
def test_large_systems_are_refined_to_double_precision(
    monkeypatch: pytest.MonkeyPatch, condition: float
) -> None:
    """The last one is too near to singular for single precision, and is factored in double."""
    monkeypatch.setattr(moments, "LEAST_SINGLE_COLUMNS", 50)
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.standard_normal((60, 60)))
    G = (basis * np.geomspace(1, condition, 60)) @ basis.T
    G = (G + G.T) / 2
    R = rng.standard_normal((60, 3))
    before = G.copy(), R.copy()
    found = moments.solver(G)(R)
    assert np.linalg.norm(R - G @ found) <= 1e-6 * np.linalg.norm(R)
    np.testing.assert_array_equal(G, before[0])
    np.testing.assert_array_equal(R, before[1])


def test_a_rough_solver_keeps_the_precision_of_the_right_hand_side() -> None:
    G = np.diag([1.0, 2.0, 4.0])
    assert moments.rough_solver(G)(np.ones((3, 2))).dtype == np.float64
    np.testing.assert_allclose(moments.rough_solver(G)(np.ones(3)), [1, 0.5, 0.25])


def test_single_precision_right_hand_sides_are_refined_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they never were: every solution then cost a factor in double precision."""
    monkeypatch.setattr(moments, "LEAST_SINGLE_COLUMNS", 1)
    monkeypatch.setattr(moments, "_double", lambda G: pytest.fail("a second factor"))
    G = np.diag(np.linspace(1, 9, 20)) + 0.1
    R = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    np.testing.assert_allclose(G @ moments.solver(G)(R), R, rtol=1e-6)


def some_pair() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    A, B = (rows.T @ rows for rows in rng.normal(size=(2, 30, 20)))
    return A, B + np.eye(20)


def test_joint_eigenvectors_make_both_matrices_diagonal() -> None:
    A, B = some_pair()
    d, T = cholesky.joint_eigenvectors(A, B)
    np.testing.assert_allclose(T.T @ A @ T, np.diag(d), atol=1e-9)
    np.testing.assert_allclose(T.T @ B @ T, np.eye(20), atol=1e-9)
    assert (np.diff(d) >= 0).all()


@pytest.mark.parametrize("small", [0, 512])
def test_triangles_by_either_library(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    for module in (cholesky, moments):
        monkeypatch.setattr(module, "MOST_NUMPY_COLUMNS", small)
    A, B = some_pair()
    L = cholesky.lower_factor(B.copy())
    np.testing.assert_allclose(L @ L.T, B)
    np.testing.assert_array_equal(L, np.tril(L))
    np.testing.assert_allclose(cholesky.lower_inverse(L) @ L, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(L @ cholesky.lower_solver(L)(A), A, atol=1e-9)
    np.testing.assert_allclose(B @ moments.solver(B)(A), A, atol=1e-9)


@pytest.mark.parametrize(("columns", "by_numpy"), [(19, False), (20, True), (21, True)])
def test_small_triangles_are_numpys_and_large_ones_scipys(
    monkeypatch: pytest.MonkeyPatch, columns: int, by_numpy: bool
) -> None:
    """Threads of two libraries that take turns wait for each other."""
    monkeypatch.setattr(cholesky, "MOST_NUMPY_COLUMNS", columns)
    asked: list[str] = []

    def noted(name: str, call: Any) -> Any:
        def inner(*given: Any, **more: Any) -> Any:
            asked.append(name)
            return call(*given, **more)

        return inner

    for name in ("cholesky", "solve_triangular"):
        monkeypatch.setattr(cholesky.linalg, name, noted(name, getattr(cholesky.linalg, name)))
    _, B = some_pair()
    L = cholesky.lower_factor(B.copy())
    cholesky.lower_inverse(L)
    cholesky.lower_solver(L)(B)
    assert asked == ([] if by_numpy else ["cholesky", "solve_triangular", "solve_triangular"])


@pytest.mark.parametrize(("columns", "by_numpy"), [(19, False), (20, True), (21, True)])
def test_small_systems_are_numpys_and_large_ones_scipys(
    monkeypatch: pytest.MonkeyPatch, columns: int, by_numpy: bool
) -> None:
    monkeypatch.setattr(moments, "MOST_NUMPY_COLUMNS", columns)
    asked: list[str] = []
    factor = moments.linalg.cho_factor

    def noted(*given: Any, **more: Any) -> Any:
        asked.append("cho_factor")
        return factor(*given, **more)

    monkeypatch.setattr(moments.linalg, "cho_factor", noted)
    A, B = some_pair()
    kept = B.copy()
    np.testing.assert_allclose(B @ moments.solver(B)(A), A, atol=1e-9)
    np.testing.assert_array_equal(B, kept)
    assert asked == ([] if by_numpy else ["cho_factor"])


@pytest.mark.parametrize(("columns", "rough"), [(19, True), (20, True), (21, False)])
def test_single_precision_begins_where_it_pays(
    monkeypatch: pytest.MonkeyPatch, columns: int, rough: bool
) -> None:
    monkeypatch.setattr(moments, "LEAST_SINGLE_COLUMNS", columns)
    _, B = some_pair()
    right = np.random.default_rng(1).normal(size=(20, 2))
    left = np.linalg.norm(B @ moments.rough_solver(B)(right) - right) / np.linalg.norm(right)
    assert (1e-10 < left < 1e-3) == rough
    exact = moments.solver(B)(right)
    assert np.linalg.norm(B @ exact - right) <= 1e-8 * np.linalg.norm(right)
