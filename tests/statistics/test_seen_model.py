"""The prior of class means and its posterior, against dense systems and finite differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gaussian_pool import labels, problem, started
from scipy import optimize

from unseen.statistics.seen_model import Prior


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
