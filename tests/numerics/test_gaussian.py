"""The objective of SelfPacedPrototypes and its two steps, against oracles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from unseen.numerics.evaluation import evenness
from unseen.numerics.gaussian import (
    SMOOTHING,
    Prior,
    adapt,
    assign,
    counted_shares,
    scores,
)
from unseen.numerics.predicted import fit_predictor
from unseen.numerics.rehearsal import OFFSET
from unseen.numerics.transport import balance
from unseen.numerics.whitening import Whitening, oas_shrinkage, power_normalise


def problem(seed: int, known: int = 0, dtype: Any = float) -> tuple[Any, Prior]:
    """A pool of 40 rows, 6 columns, 4 candidates of which ``known`` have labelled rows."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((4, 6)).astype(dtype)
    own = np.zeros(4)
    own[:known] = 5.0
    V = np.linalg.qr(rng.standard_normal((6, 2)))[0].astype(dtype)
    B = rng.standard_normal((4 - known, 4 - known))
    C = B @ B.T + np.eye(4 - known) + OFFSET
    prior = Prior(P, own, C, V, np.array([2.0, 0.5], dtype=dtype), 0.3)
    Z = (P + 0.7 * rng.standard_normal(P.shape))[rng.integers(4, size=40)]
    return (Z + rng.standard_normal(Z.shape)).astype(dtype), prior


def objective(Q: Any, means: Any, Z: Any, prior: Prior) -> float:
    """F, written as naively as it can be."""
    total = 0.0
    for n in range(len(Z)):
        for k in range(len(means)):
            if Q[n, k] > 0:
                gap = ((Z[n] - means[k]) ** 2).sum() / 2 - (Z[n] ** 2).sum() / 2
                total += Q[n, k] * (gap + np.log(Q[n, k]))
    V, rest = prior.basis, prior.rest
    sigma = V @ np.diag(prior.variances) @ V.T + rest * (np.eye(len(V)) - V @ V.T)
    D = means - prior.prototypes
    total += 0.5 * sum(prior.own[k] * D[k] @ D[k] for k in range(len(D)))
    free = prior.own == 0
    if free.any():
        D = D[free]
        total += 0.5 * np.trace(np.linalg.inv(prior.covariance) @ D @ np.linalg.inv(sigma) @ D.T)
    return float(total)


@pytest.mark.parametrize("known", [0, 2, 4])
def test_means_step_is_stationary(known: int) -> None:
    Z, prior = problem(0, known)
    Q = assign(scores(Z, prior.prototypes), None).Q
    means = prior.means(Q, Z)

    def of(flat: Any) -> float:
        return objective(Q, flat.reshape(means.shape), Z, prior)

    slope = optimize.approx_fprime(means.ravel(), of, 1e-6)
    assert np.abs(slope).max() < 1e-3
    assert of(means.ravel()) < of(prior.prototypes.ravel())


@pytest.mark.parametrize("known", [0, 2])
def test_energy_is_the_naive_one(known: int) -> None:
    Z, prior = problem(1, known)
    state = assign(scores(Z, prior.prototypes), None)
    means = prior.means(state.Q, Z)
    again = assign(scores(Z, means), None)
    total = again.energy + prior.energy(means)
    assert total == pytest.approx(objective(again.Q, means, Z, prior), rel=1e-9)


def test_assignment_step_finds_the_minimum_over_the_simplex() -> None:
    Z, prior = problem(2)
    S = scores(Z[:3], prior.prototypes)
    found = assign(S, None)

    def of(flat: Any) -> float:
        Q = np.exp(flat.reshape(S.shape))
        Q /= Q.sum(axis=1, keepdims=True)
        return float((Q * (np.log(Q) - S)).sum())

    oracle = optimize.minimize(of, np.zeros(S.size), method="BFGS")
    assert found.energy == pytest.approx(oracle.fun, abs=1e-5)


def test_assignment_meets_the_shares_and_agrees_with_transport() -> None:
    Z, prior = problem(3)
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    S = scores(Z, prior.prototypes)
    found = assign(S, shares)
    np.testing.assert_allclose(found.Q.mean(axis=0), shares, atol=1e-3)
    log_p = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found.Q, np.exp(balance(log_p, shares)), atol=1e-3)
    primal = float((found.Q * (np.log(np.maximum(found.Q, 1e-300)) - S)).sum())
    assert found.energy == pytest.approx(primal, rel=1e-3)


@given(st.integers(0, 10_000), st.integers(0, 4), st.sampled_from(["none", "equal", "learned"]))
@settings(max_examples=60, deadline=None)
def test_the_objective_falls_in_every_round(seed: int, known: int, shares: str) -> None:
    Z, prior = problem(seed, known)
    equal = np.full(4, 0.25) if shares == "equal" else None
    found = adapt(Z, prior, equal, rounds=8, learn_shares=shares == "learned")
    values = [step.objective for step in found.steps]
    assert all(b < a for a, b in pairwise(values))
    np.testing.assert_allclose(found.assignment.Q.sum(axis=1), 1)


def test_single_and_double_precision_agree() -> None:
    Z, prior = problem(5)
    Z32, prior32 = problem(5, dtype=np.float32)
    a, b = adapt(Z, prior), adapt(Z32, prior32)
    assert b.means.dtype == np.float32
    np.testing.assert_allclose(a.means, b.means, atol=1e-3)


def test_candidates_may_come_in_any_order() -> None:
    Z, prior = problem(6)
    order = np.array([2, 0, 3, 1])
    C = prior.covariance[np.ix_(order, order)]
    turned = Prior(prior.prototypes[order], prior.own, C, prior.basis, prior.variances, prior.rest)
    np.testing.assert_allclose(adapt(Z, prior).means[order], adapt(Z, turned).means, atol=1e-8)


def test_learned_shares_find_an_absent_class() -> None:
    """They fall for a class without rows, F falls with them, and counting minimises F over them."""
    rng = np.random.default_rng(0)
    means = 4 * np.eye(3)
    Z = means[rng.integers(2, size=300)] + rng.standard_normal((300, 3))
    fixed = Prior(means, np.full(3, np.inf), np.zeros((0, 0)), np.zeros((3, 0)), np.zeros(0), 1.0)
    found = adapt(Z, fixed, learn_shares=True)
    assert found.shares is not None
    assert found.shares[2] < 0.05
    assert evenness(found.assignment.Q.mean(axis=0)) == pytest.approx(2 / 3, abs=0.05)
    assert evenness(np.full(3, 1 / 3)) == pytest.approx(1)
    Q = found.assignment.Q

    def energy(pi: np.ndarray) -> float:
        return -float(((Q.sum(axis=0) + SMOOTHING * len(Z) / 3) * np.log(3 * pi)).sum())

    best = counted_shares(Q)
    for other in rng.dirichlet(np.ones(3), size=50):
        assert energy(best) <= energy(other)


def test_shift_sees_a_common_offset() -> None:
    Z, prior = problem(7)
    labels = scores(Z, prior.prototypes).argmax(axis=1)
    assert prior.shift(Z + 3, labels) > 5 * prior.shift(Z, labels)


def test_predictor_leaves_one_class_out_exactly() -> None:
    """The closed form equals fits without each class; an exact map is found again."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 3))
    M = A @ rng.standard_normal((3, 8)) + 1
    fitted = fit_predictor(M, np.full(20, 1000.0), A)
    new = rng.standard_normal((5, 3))
    truth = np.linalg.lstsq(np.c_[A, np.ones(20)], M, rcond=None)[0]
    np.testing.assert_allclose(fitted.prototypes(new), np.c_[new, np.ones(5)] @ truth, atol=0.05)
    C = fitted.class_covariance(new)
    assert np.linalg.eigvalsh(C).min() > 0
    far = fitted.class_covariance(10 * new)
    assert np.trace(far) > np.trace(C)


def test_predictor_with_two_classes_and_with_semantics_all_alike() -> None:
    M = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    for A in (np.eye(2), np.ones((2, 2))):
        fitted = fit_predictor(M, np.ones(2), A)
        assert np.isfinite(fitted.prototypes(A)).all()
        assert np.isfinite(fitted.class_covariance(A)).all()


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
    out = power_normalise(X)
    assert out.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), [1, 0, 1], rtol=1e-5)
    assert out[0, 1] < 0
