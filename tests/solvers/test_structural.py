"""The exact solver against independent oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from unseen.inductive.bilinear import semantic_ridge
from unseen.rows.passes import class_sums, error_sums
from unseen.solvers import structural
from unseen.solvers.losses import structural_objective
from unseen.solvers.moments import Moments, Ridge, one_domain
from unseen.solvers.structural import frank_wolfe, two_domains


def problem(seed: int, n: int = 40, p: int = 6, q: int = 4, k: int = 5) -> tuple[Any, ...]:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, p)), random.integers(k, size=n), random.normal(size=(q, k))


def solve_exactly(X: Any, codes: Any, A: Any, C: float, mu: float, tol: float) -> Any:
    solve = one_domain(Ridge(Moments(X), C), semantic_ridge(A, mu))
    return frank_wolfe(X, codes, A, solve, tol=tol, max_iter=20_000)


def slow_minimum(X: Any, codes: Any, A: Any, C: float, mu: float) -> float:
    """Minimise J by a general-purpose solver on its epigraph form: smooth, with linear constraints."""
    n, p, q, k = len(X), X.shape[1], *A.shape
    one_hot = np.eye(k)[codes]
    own = one_hot.astype(bool)

    def value(z: Any) -> tuple[float, Any]:
        V, slack = z[: p * q].reshape(p, q), z[p * q :]
        S, E = X @ V @ A, X @ V
        error = S - one_hot
        J = C / 2 * ((V @ A) ** 2).sum() + C / 2 * mu * (V**2).sum() + mu * (E**2).sum()
        J += (error**2).sum() + slack.sum() - S[own].sum()
        g = C * (V @ A) @ A.T + C * mu * V + 2 * mu * X.T @ E
        g += X.T @ (2 * error - one_hot) @ A.T
        return J, np.concatenate([g.ravel(), np.ones(n)])

    rows = np.einsum("np,qk->nkpq", X, A).reshape(n * k, p * q)
    above = np.hstack([-rows, np.repeat(np.eye(n), k, axis=0)])  # slack ≥ every score of the row
    found = optimize.minimize(
        value,
        np.concatenate([np.zeros(p * q), np.ones(n)]),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda z: above @ z, "jac": lambda z: above},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_optimum_against_a_slow_solver(seed: int, mu: float) -> None:
    X, codes, A = problem(seed, n=10, p=3, q=2, k=3)
    found = solve_exactly(X, codes, A, 1.0, mu, tol=1e-5)
    slow = slow_minimum(X, codes, A, 1.0, mu)
    assert found.objective == pytest.approx(slow, rel=2e-5)
    assert found.objective - found.gap <= slow * (1 + 1e-7) <= found.objective * (1 + 2e-6)


@pytest.mark.parametrize("seed", range(2))
def test_objective_and_gap_are_what_they_say(seed: int) -> None:
    X, codes, A = problem(seed)
    for tol in (1e-1, 1e-3, 1e-5):
        found = solve_exactly(X, codes, A, 2.0, 0.1, tol)
        assert found.relative_gap <= tol
        direct = structural_objective(X, codes, A, found.compatibility, 2.0, 0.1)
        assert found.objective == pytest.approx(direct, rel=1e-10)
    best = solve_exactly(X, codes, A, 2.0, 0.1, 1e-6)
    assert found.objective - best.objective <= found.gap


def test_no_direction_goes_down_from_the_optimum() -> None:
    X, codes, A = problem(1)
    V = solve_exactly(X, codes, A, 1.0, 0.2, 1e-6).compatibility
    base = structural_objective(X, codes, A, V, 1.0, 0.2)
    random = np.random.default_rng(0)
    for _ in range(50):
        step = random.normal(size=V.shape)
        step *= 1e-3 / np.linalg.norm(step)
        assert structural_objective(X, codes, A, V + step, 1.0, 0.2) >= base * (1 - 1e-6)


def test_weights_are_repetitions() -> None:
    X, codes, A = problem(2)
    times = np.random.default_rng(0).integers(1, 4, size=len(X))
    solve = one_domain(Ridge(Moments(X, times.astype(float)), 1.0), semantic_ridge(A, 0.1))
    weighted = frank_wolfe(X, codes, A, solve, weights=times.astype(float), tol=1e-5, max_iter=9999)
    repeated = solve_exactly(np.repeat(X, times, axis=0), np.repeat(codes, times), A, 1.0, 0.1, 1e-5)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-5)


@pytest.mark.parametrize(("p", "q"), [(7, 5), (600, 6)])
def test_two_domains_solves_its_equation(p: int, q: int) -> None:
    """p = 7 takes the eigenproblem, p = 600 the conjugate gradients."""
    random = np.random.default_rng(3)

    def positive(n: int, rank: int) -> Any:
        root = random.normal(size=(n, rank))
        return root @ root.T + np.eye(n)

    H, H2 = positive(q, 12), positive(q, 2)
    first, second = (Ridge(Moments(random.normal(size=(n, p))), 1.0) for n in (30, 9))
    R = random.normal(size=(p, q))
    V = two_domains(first, H, second, H2, tol=1e-8)(R)
    left = first.dense @ V @ H + second.dense @ V @ H2
    np.testing.assert_allclose(left, R, atol=1e-5 * np.abs(R).max())


def test_pseudo_labels_enter_as_stated() -> None:
    """J with pseudo-labels: stationary in V against finite differences of the written objective."""
    X, codes, A = problem(4, n=60)
    random = np.random.default_rng(9)
    U, z, B = random.normal(size=(20, 6)), random.integers(3, size=20), random.normal(size=(4, 3))
    u, C, mu = random.uniform(0.5, 2, size=20), 0.7, 0.2
    solve = two_domains(
        Ridge(Moments(X), C), semantic_ridge(A, mu),
        Ridge(Moments(U, u), C), semantic_ridge(B, mu),
    )  # fmt: skip
    found = frank_wolfe(
        X, codes, A, solve, tol=1e-6, max_iter=20_000,
        pseudo_sums=2 * class_sums(U, z, 3, u) @ B.T, pseudo_weight=float(u.sum()),
    )  # fmt: skip

    def objective(V: Any) -> float:
        error = U @ V @ B - np.eye(3)[z]
        pull = (u * ((error**2).sum(axis=1) + mu * ((U @ V) ** 2).sum(axis=1))).sum()
        norm = C / 2 * (((V @ B) ** 2).sum() + mu * (V**2).sum())
        return structural_objective(X, codes, A, V, C, mu) + float(pull + norm)

    V = found.compatibility
    assert found.objective == pytest.approx(objective(V), rel=1e-9)
    for _ in range(30):
        step = random.normal(size=V.shape)
        step *= 1e-3 / np.linalg.norm(step)
        assert objective(V + step) >= objective(V) * (1 - 1e-6)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_a_sample_tells_a_small_gap_and_no_more(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few errors: no pass over all rows is made. Many: the steps are those of all rows."""
    random = np.random.default_rng(0)
    A, codes = random.normal(size=(8, 6)), random.integers(6, size=20_000)
    X = A[:, codes].T + noise * random.normal(size=(20_000, 8))
    solve = one_domain(Ridge(Moments(X), 1.0), semantic_ridge(A, 0.1))
    whole = frank_wolfe(X, codes, A, solve, tol=1e-2)
    looked: list[int] = []

    def counted(X: Any, *rest: Any) -> Any:
        looked.append(len(X))
        return error_sums(X, *rest)

    monkeypatch.setattr(structural, "error_sums", counted)
    quick = frank_wolfe(X, codes, A, solve, tol=1e-2, certified=False)
    assert quick.n_iter == whole.n_iter
    np.testing.assert_array_equal(quick.compatibility, whole.compatibility)
    assert (max(looked) < 20_000) == (whole.n_iter == 0) == (noise < 1)
    assert whole.certified
    assert quick.certified == (noise > 1)


def sampled_problem(rows: int) -> tuple[Any, ...]:
    random = np.random.default_rng(0)
    A, codes = random.normal(size=(8, 6)), random.integers(6, size=rows)
    X = A[:, codes].T + 0.3 * random.normal(size=(rows, 8))
    return X, codes, A, one_domain(Ridge(Moments(X), 1.0), semantic_ridge(A, 0.1))


@pytest.mark.parametrize(("rows", "certified"), [(15_999, True), (16_000, False)])
def test_a_sample_has_a_thousand_rows_at_least(rows: int, certified: bool) -> None:
    X, codes, A, solve = sampled_problem(rows)
    assert frank_wolfe(X, codes, A, solve, tol=1e-2, certified=False).certified == certified


@pytest.mark.parametrize("share", [0.5, 1.0, 1.5])
def test_an_estimated_gap_is_that_of_the_sample_and_an_exact_term(share: float) -> None:
    """The exact term, ⟨labels − start, W⟩, counts where it is positive."""
    X, codes, A, solve = sampled_problem(16_000)
    labels = class_sums(X, codes, 6, None)
    start = share * labels
    found = frank_wolfe(X, codes, A, solve, start=start, tol=1e3, certified=False)
    W = found.compatibility @ A
    every = slice(None, None, 16)
    errors = 16 * float(np.vdot(error_sums(X[every], codes[every], W, None), W))
    apart = float(np.vdot(labels - start, W))
    assert not found.certified
    assert found.n_iter == 0
    assert np.sign(apart) == np.sign(1 - share)
    assert found.gap == pytest.approx(errors + max(apart, 0.0))
    right = (3 * labels - start) @ A.T
    assert found.objective == pytest.approx(16_000 - 0.5 * np.vdot(right, solve(right)) + found.gap)
    half = found.relative_gap
    if half > 0:
        for tol, taken in ((1.8 * half, False), (2.2 * half, True)):
            again = frank_wolfe(X, codes, A, solve, start=start, tol=tol, max_iter=0, certified=False)
            assert again.certified == (not taken)


def test_a_share_of_nothing_is_finite() -> None:
    solution = structural.StructuralSolution(np.zeros((1, 1)), np.zeros((1, 1)), 0.0, 0.0, 0)
    assert solution.relative_gap == 0
    assert solution.certified
    negative = structural.StructuralSolution(np.zeros((1, 1)), np.zeros((1, 1)), -4.0, 2.0, 0)
    assert negative.relative_gap == 0.5


@pytest.mark.parametrize(("columns", "by_eigenvectors"), [(512, True), (513, False)])
def test_shifted_systems_of_512_columns_are_solved_by_eigenvectors(
    columns: int, by_eigenvectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def noted(G: Any, *rest: Any) -> Any:
        asked.append(len(G))
        return lambda R: R

    monkeypatch.setattr(structural, "shifted_solver", noted)
    structural._all_shifts(np.eye(columns), np.eye(columns), np.ones(2), 1e-5, 10)
    assert asked == ([] if by_eigenvectors else [columns])
