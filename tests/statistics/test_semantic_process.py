"""The Gaussian process from semantics to class means, against naive forms of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from unseen.rows.kernels import Scaling
from unseen.statistics import semantic_process as process
from unseen.statistics.semantic_process import SemanticProcess, _Kernel, fit_process

PLAIN: Scaling = "none"
KERNELS = pytest.mark.parametrize("width", [None, 0.1, 1.0])


def raw(A: Any, B: Any, width: float | None) -> Any:
    """The kernel as it is: neither centred nor scaled."""
    return A @ B.T if width is None else np.exp(-width * cdist(A, B, "sqeuclidean"))


def kriging(K: Any, cross: Any, M: Any, ridge: float) -> tuple[Any, Any]:
    """Predictive mean and what is gained in covariance, with an intercept of flat prior.

    The textbook's bordered system, on a kernel that is not centred: the intercept takes up whatever
    centring would take off, so both forms must agree.
    """
    n = len(K)
    bordered = np.block([[K + ridge * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    at = np.hstack([cross, np.ones((len(cross), 1))])
    solved = np.linalg.solve(bordered, at.T)
    return solved[:n].T @ M, at @ solved


def problem(K: int = 14, q: int = 4, p: int = 6, seed: int = 0) -> tuple[Any, Any, Any]:
    """Vectors and means of K classes, bent a little; and vectors of three others."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((K + 3, q)) + 2
    M = A @ rng.standard_normal((q, p)) + np.sin(A @ rng.standard_normal((q, p)))
    return A[:K], M[:K] + 0.1 * rng.standard_normal((K, p)), A[K:]


def fitted(
    vectors: Any, means: Any, width: float | None, monkeypatch: pytest.MonkeyPatch
) -> SemanticProcess:
    monkeypatch.setattr(process, "WIDTHS", (width,))
    return fit_process(vectors, means, None, PLAIN)


@KERNELS
@pytest.mark.parametrize("ridge", [0.003, 0.3, 5.0])
def test_residuals_are_those_of_fits_without_each_class(width: float | None, ridge: float) -> None:
    """Exactly: kernel, its scale and ridge stay as for all classes; the intercept is fitted again."""
    A, M, _ = problem()
    kernel = _Kernel.of(A, width)
    assert kernel is not None
    K = raw(A, A, width) / kernel.variance
    found = kernel.residual_maker(ridge) @ M
    for k in range(len(A)):
        others = np.delete(np.arange(len(A)), k)
        at, _ = kriging(K[np.ix_(others, others)], K[k, others][None], M[others], ridge)
        np.testing.assert_allclose(found[k], M[k] - at[0], atol=1e-9)


@KERNELS
def test_prototypes_are_the_predictive_mean(
    width: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, M, new = problem()
    found = fitted(A, M, width, monkeypatch)
    B, c = found.coefficients(M, None)
    S, T = (A - A.mean(axis=0)) / found.scale, (new - A.mean(axis=0)) / found.scale
    assert np.mean((S**2).sum(axis=1)) == pytest.approx(1)
    K, cross = (raw(part, S, width) / found.kernel.variance for part in (S, T))
    want, _ = kriging(K, cross, M, found.ridge)
    np.testing.assert_allclose(found.features(new) @ B + c, want, atol=1e-8)


@KERNELS
def test_errors_have_the_covariance_of_the_posterior(
    width: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, M, new = problem()
    found = fitted(A, M, width, monkeypatch)
    S, T = (A - A.mean(axis=0)) / found.scale, (new - A.mean(axis=0)) / found.scale
    K, cross, own = (raw(x, y, width) / found.kernel.variance for x, y in ((S, S), (T, S), (T, T)))
    _, gained = kriging(K, cross, M, found.ridge)
    want = own - gained + found.ridge * np.eye(len(new))
    got = found.covariance(new)
    np.testing.assert_allclose(got, want, atol=1e-8)
    assert np.linalg.eigvalsh(got).min() > 0
    assert (
        np.diag(found.covariance(A.mean(axis=0) + 50 * (new - A.mean(axis=0)))) > np.diag(got)
    ).all()


def test_the_choice_has_the_least_error_of_all_that_are_tried() -> None:
    """Kernel and ridge: against a loop over both, by fits without each class."""
    A, M, _ = problem(seed=3)
    S = A - A.mean(axis=0)
    S /= np.sqrt(np.mean((S**2).sum(axis=1)))
    errors = {}
    for width in process.WIDTHS:
        kernel = _Kernel.of(S, width)
        assert kernel is not None
        K = raw(S, S, width) / kernel.variance
        for ridge in process.RIDGES:
            total = 0.0
            for k in range(len(A)):
                others = np.delete(np.arange(len(A)), k)
                at, _ = kriging(K[np.ix_(others, others)], K[k, others][None], M[others], ridge)
                total += float(((M[k] - at[0]) ** 2).sum())
            errors[width, float(ridge)] = total
    width, ridge = min(errors, key=lambda key: errors[key])
    found = fit_process(A, M, None, PLAIN)
    assert found.kernel.width == width
    assert found.ridge == pytest.approx(process.RIDGE_FACTOR * ridge)


def test_straight_and_bent_maps_get_their_kernels() -> None:
    rng = np.random.default_rng(0)
    A, new = rng.standard_normal((60, 2)), rng.standard_normal((20, 2))
    W, noise = rng.standard_normal((2, 8)), 0.01 * rng.standard_normal((60, 8))
    straight = fit_process(A, A @ W + noise, None, PLAIN)
    assert straight.features.anchors is None
    bent = fit_process(A, np.cos(2 * A @ W) + noise, None, PLAIN)
    assert bent.features.anchors is not None
    for found, at in ((straight, A @ W), (bent, np.cos(2 * A @ W))):
        B, c = found.coefficients(at + noise, None)
        truth = new @ W if found is straight else np.cos(2 * new @ W)
        error = found.features(new) @ B + c - truth
        assert (error**2).sum() < 0.5 * ((truth - at.mean(axis=0)) ** 2).sum()


@pytest.mark.parametrize("b", [0.3, 1.0, 2.5])
def test_in_a_shared_space_the_slope_is_found(b: float) -> None:
    """Fewer classes than directions: without the slope, most of a new class is not predicted."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((33, 60))
    M = b * A + 0.1 * rng.standard_normal(A.shape)
    found = fit_process(A[:30], M[:30], A[:30], PLAIN)
    assert found.slope == pytest.approx(b, rel=0.05)
    assert found.features.shared
    B, c = found.coefficients(M[:30], A[:30])
    np.testing.assert_allclose(found.features(A[30:]) @ B + c, M[30:], atol=0.6)
    alone = fit_process(A[:30], M[:30], None, PLAIN)
    B, c = alone.coefficients(M[:30], None)
    assert np.abs(alone.features(A[30:]) @ B + c - M[30:]).max() > 2 * b * 0.6


@pytest.mark.parametrize("seed", range(4))
def test_a_space_that_is_not_shared_does_no_harm(seed: int) -> None:
    """Vectors have as many entries as rows by chance only."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 12))
    M = A @ rng.standard_normal((12, 12)) + 0.5 * rng.standard_normal((40, 12))
    errors = []
    for rows in (A[:30], None):
        found = fit_process(A[:30], M[:30], rows, PLAIN)
        B, c = found.coefficients(M[:30], rows if found.features.shared else None)
        errors.append(float(((found.features(A[30:]) @ B + c - M[30:]) ** 2).sum()))
    assert errors[0] <= 1.05 * errors[1]


def test_the_law_of_errors_is_that_of_the_residuals() -> None:
    """Σ = shrunk covariance of standardised residuals, less what means of few rows err by."""
    A, M, _ = problem(K=40, p=5)
    found = fit_process(A, M, None, PLAIN)
    spread = 1 / np.diag(found.inverse)
    E = found.kernel.residual_maker(found.ridge) @ M / np.sqrt(spread)[:, None]
    S, a = E.T @ E / len(E), process.RESIDUAL_SHRINKAGE
    want = (1 - a) * S + a * np.trace(S) / len(S) * np.eye(len(S))
    for counts, noise in ((np.full(40, 1e12), 0.0), (np.full(40, 300.0), 1 / 300 / spread.mean())):
        law = found.error_law(M, None, counts)
        V = law.basis
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-9)
        got = V @ np.diag(law.variances) @ V.T + law.rest * (np.eye(len(V)) - V @ V.T)
        np.testing.assert_allclose(got, want - noise * np.eye(len(S)), atol=1e-8)
    least = found.error_law(M, None, np.ones(40) * 1e-9)
    assert (least.variances > 0).all()
    assert least.rest > 0


@pytest.mark.parametrize("vectors", [np.eye(2), np.ones((2, 2)), np.ones((5, 3)), np.zeros((3, 1))])
def test_few_classes_and_vectors_all_alike(vectors: Any) -> None:
    M = np.random.default_rng(0).standard_normal((len(vectors), 3))
    found = fit_process(vectors, M, None, PLAIN)
    B, c = found.coefficients(M, None)
    at = found.features(vectors) @ B + c
    assert np.isfinite(found.covariance(vectors)).all()
    law = found.error_law(M, None, np.ones(len(M)))
    assert np.isfinite(at).all()
    assert (law.variances > 0).all()
    assert law.rest > 0
    if not vectors.std(axis=0).any():
        np.testing.assert_allclose(at, np.tile(M.mean(axis=0), (len(M), 1)), atol=1e-9)


def test_the_order_of_classes_changes_nothing() -> None:
    A, M, new = problem(K=20)
    order = np.random.default_rng(1).permutation(20)
    one, other = fit_process(A, M, None, PLAIN), fit_process(A[order], M[order], None, PLAIN)
    assert (one.kernel.width, one.ridge) == (other.kernel.width, other.ridge)
    points = [
        f.features(new) @ B + c
        for f, (B, c) in ((one, one.coefficients(M, None)), (other, other.coefficients(M[order], None)))
    ]
    np.testing.assert_allclose(points[0], points[1], atol=1e-9)
    np.testing.assert_allclose(one.covariance(new), other.covariance(new), atol=1e-9)
