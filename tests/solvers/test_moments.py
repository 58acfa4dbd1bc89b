"""Second moments as an operator and as a matrix; fits in a subspace against fits by a factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen import ASTE, ESZSL, SMS, TASTE, FastTraining
from unseen.datasets import ZeroShotDataset, simulate
from unseen.rows.labelled import Rows
from unseen.solvers import moments, shared_subspace, structural
from unseen.solvers.moments import Moments, Ridge, Sums, one_domain, pays, ridge_path, ridge_solver
from unseen.solvers.structural import Metric, covariance_metric, ridge_by
from unseen.transductive import _structural_problem
from unseen.transductive.selection import BalancedSelection
from unseen.typing import Array


@pytest.fixture(scope="module")
def data() -> ZeroShotDataset:
    return simulate("AwA", scale=0.1, n_features=128, random_state=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_need_no_matrix(weighted: bool) -> None:
    random = np.random.default_rng(0)
    X, B = random.normal(size=(2500, 7)), random.normal(size=(7, 3))
    w = random.uniform(size=2500) if weighted else None
    own = Moments(X, w)
    dense = X.T @ (X if w is None else X * w[:, None])
    np.testing.assert_allclose(own @ B, dense @ B)
    assert own.trace == pytest.approx(np.trace(dense))
    assert not own.formed
    np.testing.assert_allclose(own.dense, dense)
    assert own.formed
    np.testing.assert_allclose(own @ B, dense @ B)


def metric_of(X: Any, codes: Any) -> Metric:
    found = covariance_metric(Sums.of(Rows(X, codes), int(codes.max()) + 1), 0.3)
    assert found is not None
    return found


def test_a_metric_is_the_shrunk_covariance_within_classes() -> None:
    random = np.random.default_rng(0)
    codes = np.arange(200) % 5
    X = random.normal(size=(200, 6)) + 3 * random.normal(size=(5, 6))[codes]
    scatter = sum(np.cov(X[codes == k].T, bias=True) * 40 for k in range(5))
    scatter = scatter / (np.trace(scatter) / 6)
    np.testing.assert_allclose(metric_of(X, codes).dense, 0.7 * scatter + 0.3 * np.eye(6), atol=1e-9)


@pytest.mark.parametrize("subspace", [False, True])
def test_a_metric_is_inverted_far_from_the_origin(
    subspace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means of a hundred deviations: in single precision, what they leave of XᵀXR must not be lost."""
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0 if subspace else 10**9)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    random = np.random.default_rng(0)
    codes = np.arange(900) % 3
    noise = random.normal(size=(900, 60)) * np.linspace(0.5, 2, 60)
    X = (noise + 100).astype(np.float32)
    exact = metric_of(noise, codes).dense
    R = random.normal(size=(60, 4))
    found = metric_of(X, codes).solver(4)(R)
    want = np.linalg.solve(exact, R)
    assert np.linalg.norm(found - want) <= 2e-2 * np.linalg.norm(want)


@pytest.mark.parametrize("subspace", [False, True])
def test_solvers_invert(subspace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0 if subspace else 10**9)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    monkeypatch.setattr(moments.Moments.subspace, "__defaults__", (1e-9,))
    random = np.random.default_rng(0)
    codes = np.arange(300) % 5
    X, R = random.normal(size=(300, 40)), random.normal(size=(40, 3))
    metric = metric_of(X, codes)
    for G in (Ridge(Moments(X), 5.0), ridge_by(metric, metric.moments, 5.0)):
        found = ridge_solver(G, 3)(R)
        np.testing.assert_allclose(G.dense @ found, R, atol=1e-6)


def test_a_subspace_that_converges_needs_no_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factor would hide a subspace that solves another system."""
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    monkeypatch.setattr(moments, "solver", lambda G: pytest.fail("a factor"))
    random = np.random.default_rng(0)
    codes = np.arange(900) % 5
    X, R = random.normal(size=(900, 60)), random.normal(size=(60, 3))
    metric = metric_of(X, codes)
    for G in (Ridge(Moments(X), 500.0), ridge_by(metric, metric.moments, 500.0)):
        found = ridge_solver(G, 3)(R)
        assert np.linalg.norm(G.dense @ found - R) <= 1e-3 * np.linalg.norm(R)


def test_coefficients_say_which_operator_counts_how_often() -> None:
    """Of the labelled rows, the pool and the metric's classes, then of the identity."""
    codes = np.arange(30) % 3
    X = np.random.default_rng(0).normal(size=(30, 5))
    metric = metric_of(X, codes)
    share, rest = 5 * metric.share, 5 * metric.rest
    plain, by_metric = Ridge(metric.moments, 5.0), ridge_by(metric, metric.moments, 5.0)
    np.testing.assert_allclose(plain.coefficients(0), [2, 0, 0, 5])
    np.testing.assert_allclose(plain.coefficients(1), [0, 2, 0, 5])
    np.testing.assert_allclose(by_metric.coefficients(0), [2 + share, 0, -share, rest])
    np.testing.assert_allclose(by_metric.coefficients(1), [share, 2, -share, rest])
    np.testing.assert_allclose(by_metric.dense, 2 * X.T @ X + 5 * metric.dense)


MODELS = [
    lambda s: ESZSL(s, gamma=500.0, lam=3.0),
    lambda s: ASTE(s, C=1000.0, mu=3.0),
    lambda s: ASTE(s),
    lambda s: TASTE(s, C=1000.0, mu=3.0, selection=BalancedSelection()),
    lambda s: SMS(s, selection=BalancedSelection()),
    lambda s: FastTraining(TASTE(s, selection=BalancedSelection())),
]


@pytest.mark.parametrize("make", MODELS)
def test_scores_do_not_depend_on_the_way(
    make: Any, data: ZeroShotDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A basis and a factor give the same scores to 1e-4; the toy has few columns, so it is forced.

    Where solutions may be rough by default, they are asked for to the digits of the others.
    """
    monkeypatch.setattr(_structural_problem, "ROUND_ERROR", 3e-4)
    monkeypatch.setattr(_structural_problem, "ROUGH_ERROR", 1.5e-3)
    monkeypatch.setattr(structural, "METRIC_ERROR", 1e-5)
    X, y = data.transductive()
    pool = data.X[data.test_unseen]
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 10**9)
    direct = make(data.semantics).fit(X, y).decision_function(pool)
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    found = make(data.semantics).fit(X, y).decision_function(pool)
    assert np.abs(found - direct).max() <= 1e-4 * np.abs(direct).max()


@pytest.mark.parametrize("fast", [False, True])
def test_rough_rounds_change_few_labels(
    fast: bool, data: ZeroShotDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the errors that rounds may have by default, labels of the pool hardly depend on the way."""
    model: Any = TASTE(data.semantics, selection=BalancedSelection())
    model = FastTraining(model) if fast else model
    X, y = data.transductive()
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 10**9)
    direct = model.fit(X, y).transduction_.copy()
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    monkeypatch.setattr(structural, "MOST", 1)
    assert (model.fit(X, y).transduction_ != direct).mean() <= 0.02


def test_rows_are_multiplied_until_the_matrix_would_have_paid() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 40))
    B = random.normal(size=(40, 4))
    operator = Moments(X)
    for _ in range(3):
        assert not operator.formed
        np.testing.assert_allclose(operator @ B, X.T @ (X @ B), rtol=1e-9)
    assert operator.formed  # 8 columns of 40 had been multiplied


def test_a_metric_of_wide_rows_is_solved_without_their_second_moments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The solution is that of Galerkin: its residual is orthogonal to the right-hand sides."""
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0)
    monkeypatch.setattr(moments, "FORMED_AFTER", 10.0)
    random = np.random.default_rng(0)
    codes = np.arange(400) % 5
    X = random.normal(size=(400, 200)) * np.geomspace(3, 0.3, 200)
    metric, R = metric_of(X, codes), random.normal(size=(200, 4))
    solve = metric.solver(4)
    Z = solve(R)
    assert not metric.moments.formed
    residual = R - metric.dense @ Z
    assert np.abs(R.T @ residual).max() <= 1e-6 * np.abs(R.T @ R).max()
    again = solve(2 * R)
    np.testing.assert_allclose(again, 2 * Z, rtol=1e-6)


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
    """Return two matrices of 20 columns, the second positive definite."""
    A, B = (rows.T @ rows for rows in np.random.default_rng(0).normal(size=(2, 30, 20)))
    return A, B + np.eye(20)


@pytest.mark.parametrize(("columns", "by_numpy"), [(0, False), (19, False), (20, True), (512, True)])
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
    before = B.copy()
    np.testing.assert_allclose(B @ moments.solver(B)(A), A, atol=1e-9)
    np.testing.assert_array_equal(B, before)
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


@pytest.mark.parametrize(
    ("width", "columns", "paid"),
    [(1023, 1, False), (1024, 1, True), (1024, 21, True), (1024, 22, False), (1056, 22, True)],
)
def test_a_subspace_pays_for_few_right_hand_sides_of_many_columns(
    width: int, columns: int, paid: bool
) -> None:
    assert pays(Moments(np.empty((0, width))), columns) is paid


def test_the_unit_of_ridges_is_the_mean_diagonal() -> None:
    X = np.random.default_rng(0).normal(size=(30, 5))
    rows = Rows(X, np.arange(30) % 3)
    assert Sums.of(rows, 3).scale == pytest.approx(np.trace(X.T @ X) / 5)
    assert Sums.of(rows, 3, width=10).scale == pytest.approx(np.trace(X.T @ X) / 10)
    assert Sums.of(Rows(0 * X, rows.codes), 3).scale == np.finfo(float).tiny


def test_classes_are_taken_out_of_sums() -> None:
    X, codes = np.random.default_rng(0).normal(size=(30, 5)), np.arange(30) % 3
    held = X[codes == 1]
    found = Sums.of(Rows(X, codes), 3).without(held.T @ held, np.array([0, 2]))
    rest = codes != 1
    want = Sums.of(Rows(X[rest], codes[rest] // 2), 2)
    np.testing.assert_allclose(found.moments, want.moments)
    np.testing.assert_allclose(found.labels, want.labels)
    np.testing.assert_array_equal(found.counts, want.counts)


@pytest.mark.parametrize("subspace", [False, True])
def test_a_path_of_ridges_solves_every_one(subspace: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0 if subspace else 10**9)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)
    random = np.random.default_rng(0)
    X, R = random.normal(size=(60, 12)), random.normal(size=(12, 3))
    values = [0.3, 5.0, 70.0]
    for C, found in zip(values, ridge_path(Moments(X), values, R, 1e-9), strict=True):
        np.testing.assert_allclose(2 * X.T @ (X @ found) + C * found, R, atol=1e-6)


def test_one_domain_solves_on_both_sides() -> None:
    random = np.random.default_rng(0)
    X, A, R = random.normal(size=(60, 12)), random.normal(size=(4, 9)), random.normal(size=(12, 4))
    G, H = Ridge(Moments(X), 2.0), A @ A.T + np.eye(4)
    V = one_domain(G, H)(R)
    np.testing.assert_allclose((2 * X.T @ X + 2 * np.eye(12)) @ V @ H, R, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_operator_of_rows_is_two_halves(weighted: bool) -> None:
    random = np.random.default_rng(0)
    X, B = random.normal(size=(30, 5)), random.normal(size=(5, 2))
    w = random.uniform(size=30) if weighted else None
    own = Moments(X, w)
    halves: Any = own.operator
    want = X.T @ (X @ B if w is None else w[:, None] * (X @ B))
    np.testing.assert_allclose(halves.second(halves.first(B)), want)
    assert own.rows is X
    np.testing.assert_allclose(own.dense @ B, want)
    assert own.rows is None
    formed: Any = own.operator
    np.testing.assert_allclose(formed(B), want)
    assert own.trace == pytest.approx(np.trace(own.dense))


@pytest.mark.parametrize(("least", "dtype"), [(4, np.float32), (5, np.float32), (6, np.float64)])
def test_a_wide_matrix_has_the_precision_of_its_rows(
    least: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", least)
    X = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    assert Moments(X).dense.dtype == dtype


def test_rows_that_are_their_class_means_have_no_metric() -> None:
    codes = np.arange(12) % 3
    X = np.eye(3)[codes]  # nothing varies within a class
    assert covariance_metric(Sums.of(Rows(X, codes), 3), 0.3) is None
