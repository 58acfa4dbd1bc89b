"""The objective of SelfPacedPrototypes and its steps, against oracles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.special import softmax
from unseen.statistics.gaussian_classes import (
    SHIFT_DISCOUNT,
    SMOOTHING,
    TEMPERATURE,
    Adaptation,
    Assignment,
    Plan,
    Pool,
    Prior,
    adapt,
    assign,
    learned_biases,
    measured,
    scores,
)

from unseen.rows.kernels import scaled
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.statistics.evaluation import evenness
from unseen.statistics.semantic_process import ErrorLaw
from unseen.statistics.transport import balance
from unseen.statistics.visual_space import Space, Whitening, oas_shrinkage


def problem(seed: int, known: int = 0, final: bool = False, dtype: Any = float) -> tuple[Pool, Prior]:
    """A pool of 40 rows, 6 columns, 4 candidates of which ``known`` have labelled rows."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((4, 6))
    own = np.zeros(4)
    own[:known] = np.inf if final else 5.0
    V = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    B = rng.standard_normal((4 - known, 4 - known))
    C = B @ B.T + np.eye(4 - known) + 1
    prior = Prior(P, own, C, ErrorLaw(V, np.array([2.0, 0.5]), 0.3))
    Z = (P + 0.7 * rng.standard_normal(P.shape))[rng.integers(4, size=40)]
    center, matrix = rng.standard_normal(6), rng.standard_normal((6, 6)) + 3 * np.eye(6)
    X = Z + rng.standard_normal(Z.shape)
    X = (X @ np.linalg.inv(matrix) + center).astype(dtype)
    return Pool(X, Space("none", center.astype(dtype), matrix.astype(dtype))), prior


def started(pool: Pool, prior: Prior, shares: Any = None) -> Assignment:
    return assign(pool.scores(prior.prototypes), shares, np.zeros(len(prior.own)))


def run(pool: Pool, prior: Prior, **plan: Any) -> Adaptation:
    known = Plan(**plan)
    return adapt(pool, prior, started(pool, prior, known.shares), known)


def labels(state: Assignment) -> Any:
    return softmax(np.asarray(state.scores) + state.biases, axis=1)


def dense(prior: Prior, tie: float) -> Any:
    """The tie's matrix over all classes and directions, as a Kronecker product."""
    V, (L, p) = prior.law.basis, prior.prototypes.shape
    sigma = V @ np.diag(prior.law.variances) @ V.T + prior.law.rest * (np.eye(p) - V @ V.T)
    free = np.flatnonzero(prior.own == 0)
    out = np.zeros((L, p, L, p))
    for k in np.flatnonzero(prior.own):
        out[k, :, k] = prior.own[k] * np.eye(p)
    if len(free):
        C, S = np.linalg.inv(tie * prior.covariance), np.linalg.inv(sigma)
        for i, k in enumerate(free):
            for j, m in enumerate(free):
                out[k, :, m] = C[i, j] * S
    return out.reshape(L * p, L * p)


@pytest.mark.parametrize("known", [0, 2, 4])
@pytest.mark.parametrize("tie", [0.3, 4.0])
def test_posterior_is_that_of_the_dense_system(known: int, tie: float) -> None:
    """Means, and how well they are known, in every direction, of which the metric is made."""
    pool, prior = problem(0, known)
    state = started(pool, prior)
    n, sums = pool.totals(state.labels)
    np.testing.assert_allclose(sums, labels(state).T @ pool.space(pool.X), atol=1e-9)
    found = prior.posterior(n, sums, tie)
    A, (L, p) = dense(prior, tie), prior.prototypes.shape
    precision = A + np.kron(np.diag(n), np.eye(p))
    want = np.linalg.solve(precision, A @ prior.prototypes.ravel() + sums.ravel()).reshape(L, p)
    np.testing.assert_allclose(found.means, want, atol=1e-7)
    covariance = np.linalg.inv(precision).reshape(L, p, L, p)
    V = found.metric.basis
    around = np.linalg.qr(np.hstack([V, np.eye(p)]))[0][:, V.shape[1] :]
    for directions, got in ((V, found.metric.inside), (around, [found.metric.outside] * (p - 2))):
        for v, weight in zip(directions.T, got, strict=True):
            variances = [v @ covariance[k, :, k] @ v for k in range(L)]
            assert weight == pytest.approx(1 / (1 + np.mean(variances)), rel=1e-6)


@pytest.mark.parametrize("known", [0, 2, 4])
def test_means_minimise_the_objective(known: int) -> None:
    """The slope of ½Σn‖μ‖² − Σ sums·μ + tie vanishes, by finite differences of ``energy``."""
    pool, prior = problem(1, known)
    state = started(pool, prior)
    n, sums = pool.totals(state.labels)
    means, tie = prior.posterior(n, sums, 0.7).means, 0.7

    def of(flat: Any) -> float:
        mu = flat.reshape(means.shape)
        return float((n[:, None] * mu**2 / 2 - sums * mu).sum()) + prior.energy(mu, tie)

    slope = optimize.approx_fprime(means.ravel(), of, 1e-6)
    assert np.abs(slope).max() < 1e-3
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert of(means.ravel()) < of(means.ravel() + 0.1 * rng.standard_normal(means.size))
    D = (means - prior.prototypes).ravel()
    assert prior.energy(means, tie) == pytest.approx(0.5 * D @ dense(prior, tie) @ D, rel=1e-8)


def test_final_prototypes_stay_and_count_as_known() -> None:
    pool, prior = problem(2, 2, final=True)
    state = started(pool, prior)
    found = prior.posterior(*pool.totals(state.labels), 0.5)
    np.testing.assert_array_equal(found.means[:2], prior.prototypes[:2])
    assert np.isfinite(prior.energy(found.means, 0.5))
    assert (found.metric.inside < 1).all()


def test_assignment_finds_the_minimum_over_the_simplex() -> None:
    pool, prior = problem(2)
    S = np.asarray(pool.scores(prior.prototypes))[:3]
    biases = learned_biases(np.array([9.0, 3.0, 1.0, 0.0]))
    found = assign(S, None, biases)

    def of(flat: Any) -> float:
        Q = softmax(flat.reshape(S.shape), axis=1)
        return float((Q * (np.log(Q) - S - biases)).sum())

    oracle = optimize.minimize(of, np.zeros(S.size), method="BFGS").fun
    smoothed = SMOOTHING * len(S) / 4 * biases.sum()
    assert found.energy == pytest.approx(oracle - smoothed, abs=1e-5)


def test_assignment_meets_the_shares_and_its_energy_is_that_of_its_labels() -> None:
    pool, prior = problem(3)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    S = np.asarray(pool.scores(prior.prototypes))
    found = assign(S, shares, np.zeros(4))
    Q = labels(found)
    np.testing.assert_allclose(Q.mean(axis=0), shares, atol=1e-5)
    log_p = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(Q, np.exp(balance(log_p, shares)), atol=1e-4)
    assert found.energy == pytest.approx(float((Q * (np.log(Q) - S)).sum()), rel=1e-5)
    again = assign(S, shares, found.biases + 7)
    np.testing.assert_allclose(labels(again), Q, atol=1e-5)


@pytest.mark.parametrize("shares", ["none", "equal", "learned"])
@pytest.mark.parametrize("known", [0, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_the_naive_one(seed: int, known: int, shares: str) -> None:
    """F/τ of the last round, but for what no label and no mean changes, in the metric of that round."""
    pool, prior = problem(seed, known)
    plan = Plan(np.full(4, 0.25) if shares == "equal" else None, learn_shares=shares == "learned")
    found = adapt(pool, prior, started(pool, prior, plan.shares), plan)
    V, Z, Q = found.metric.basis, pool.space(pool.X), labels(found.assignment)
    omega = V @ np.diag(found.metric.inside) @ V.T
    omega += found.metric.outside * (np.eye(len(V)) - V @ V.T)
    root = found.metric.root(np.eye(len(V)))
    np.testing.assert_allclose(root @ root, omega, atol=1e-9)
    means = np.sqrt(TEMPERATURE) * found.points @ np.linalg.inv(root)
    total = 0.0
    for z, q in zip(Z, Q, strict=True):
        for k, mu in enumerate(means):
            gap = ((z - mu) @ omega @ (z - mu) - z @ omega @ z) / 2
            bias = 0.0 if shares == "equal" else found.assignment.biases[k]
            total += q[k] * (gap / TEMPERATURE + np.log(max(q[k], 1e-300)) - bias)
    if shares != "equal":
        total -= SMOOTHING * len(Z) / 4 * found.assignment.biases.sum()
    tie = plan.tie * max(1.0, found.error_scale / SHIFT_DISCOUNT)
    total += prior.energy(means, tie) / TEMPERATURE
    assert found.steps[-1].objective == pytest.approx(total, rel=1e-5)
    own = measured(pool.space, found.metric)(pool.X)
    there = softmax(scores(own, found.points) + found.assignment.biases, axis=1)
    np.testing.assert_allclose(there, Q, atol=1e-8)
    np.testing.assert_allclose(found.shares, Q.mean(axis=0), atol=1e-9)


def test_learned_shares_minimise_the_objective_and_find_an_absent_class() -> None:
    rng = np.random.default_rng(0)
    means = 4 * np.eye(3)
    X = means[rng.integers(2, size=300)] + rng.standard_normal((300, 3))
    law = ErrorLaw(np.zeros((3, 0)), np.zeros(0), 1.0)
    fixed = Prior(means, np.full(3, np.inf), np.zeros((0, 0)), law)
    found = run(Pool(X, Space("none", np.zeros(3), None)), fixed)
    assert found.shares[2] < 0.05
    assert evenness(found.shares) == pytest.approx(2 / 3, abs=0.05)
    assert evenness(np.full(3, 1 / 3)) == pytest.approx(1)
    n = labels(found.assignment).sum(axis=0)

    def energy(pi: Any) -> float:
        return -float(((n + SMOOTHING * len(X) / 3) * np.log(3 * pi)).sum())

    best = np.exp(learned_biases(n)) / 3
    assert best.sum() == pytest.approx(1)
    for other in rng.dirichlet(np.ones(3), size=50):
        assert energy(best) <= energy(other)


@pytest.mark.parametrize("factor", [1.0, 9.0])
def test_error_scale_is_one_for_errors_drawn_from_the_prior(factor: float) -> None:
    _, prior = problem(0)
    prior = replace(prior, covariance=0.2 * prior.covariance)  # few rows err as much as predictions
    V, (L, p) = prior.law.basis, prior.prototypes.shape
    sigma = V @ np.diag(prior.law.variances) @ V.T + prior.law.rest * (np.eye(p) - V @ V.T)
    across, along = np.linalg.cholesky(prior.covariance), np.linalg.cholesky(sigma)
    rng, found, n = np.random.default_rng(0), [], np.array([1.0, 2.0, 5.0, 20.0])
    for _ in range(2000):
        error = np.sqrt(factor) * across @ rng.standard_normal((L, p)) @ along.T
        noise = rng.standard_normal((L, p)) / np.sqrt(n)[:, None]
        found.append(prior.error_scale(n, n[:, None] * (prior.prototypes + error + noise)))
    assert np.mean(found) == pytest.approx(factor, rel=0.1)


def test_error_scale_without_predicted_classes_is_one() -> None:
    pool, prior = problem(0, 4)
    state = started(pool, prior)
    assert prior.error_scale(*pool.totals(state.labels)) == 1.0


def test_known_rows_are_clamped_in_every_round() -> None:
    pool, prior = problem(4)
    known = Known(np.array([0, 7, 9]), np.array([3, 1, 1]))
    clamped = replace(pool, known=known)
    assert np.isneginf(clamped.scores(prior.prototypes)[[0, 7, 9]]).sum() == 9
    shown: list[Any] = []
    start = started(clamped, prior)
    found = adapt(clamped, prior, start, Plan(), lambda _, state: shown.append(labels(state)))
    assert len(shown) == len(found.steps)
    for Q in shown:
        np.testing.assert_array_equal(Q[known.rows], np.eye(4)[known.places])
    assert pool.known is NOTHING_KNOWN
    assert not np.allclose(found.points, run(pool, prior).points)
    for value in (step.objective for step in found.steps):
        assert np.isfinite(value)


def test_known_rows_leave_imposed_shares_to_the_others() -> None:
    pool, prior = problem(4)
    clamped = replace(pool, known=Known(np.array([0, 7]), np.array([3, 3])))
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    found = run(clamped, prior, shares=shares)
    np.testing.assert_allclose(found.shares, shares, atol=1e-4)


def test_single_and_double_precision_agree() -> None:
    a, b = (run(*problem(5, dtype=dtype)) for dtype in (np.float64, np.float32))
    assert np.asarray(b.assignment.scores).dtype == np.float32
    np.testing.assert_allclose(a.points, b.points, atol=1e-3)


def test_candidates_and_rows_may_come_in_any_order() -> None:
    pool, prior = problem(6)
    order, rows = np.array([2, 0, 3, 1]), np.random.default_rng(0).permutation(len(pool))
    C = prior.covariance[np.ix_(order, order)]
    turned = replace(prior, prototypes=prior.prototypes[order], covariance=C)
    one, other = run(pool, prior), run(replace(pool, X=pool.X[rows]), turned)
    np.testing.assert_allclose(one.points[order], other.points, atol=1e-7)
    np.testing.assert_allclose(
        labels(one.assignment)[rows][:, order], labels(other.assignment), atol=1e-7
    )


def test_rounds_end_when_labels_rest_or_at_the_last_one() -> None:
    pool, prior = problem(8)
    long, short = run(pool, prior, rounds=50), run(pool, prior, rounds=2)
    assert len(long.steps) < 51
    assert long.steps[-1].moved < 2e-3
    assert [step.objective for step in short.steps] == [step.objective for step in long.steps[:3]]
    assert all(0 <= step.moved <= 1 and 0 <= step.changed <= 1 for step in long.steps)


def test_whitening_makes_the_covariance_white() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)) @ rng.standard_normal((4, 4))
    X -= X.mean(axis=0)
    white = Whitening.of(X.T @ X, 5000, np.zeros(4), 0.0, float)(X)
    np.testing.assert_allclose(white.T @ white / 5000, np.eye(4), atol=1e-6)


def test_shrinkage_grows_as_rows_get_few() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20)) * np.arange(1, 21)
    many, few = (oas_shrinkage(X[:n].T @ X[:n], n) for n in (400, 10))
    assert 0 < many < few <= 1
    assert oas_shrinkage(np.eye(3), 10) == 1.0


def test_power_normalise_keeps_signs_and_unit_length() -> None:
    X = np.array([[4.0, -9.0], [0.0, 0.0], [1e-30, 0.0]], dtype=np.float32)
    out = scaled(X, "root")
    assert out.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), [1, 0, 1], rtol=1e-5)
    assert out[0, 1] < 0
