"""Each inductive method against an oracle of its own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from toys import Toy
from unseen import ASTE, ESZSL, SJE, FastTraining, PrototypeRidge
from unseen.model_selection import ClassWiseKFold
from unseen.solvers.losses import structural_objective


def labelled(toy: Toy) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    X, y = toy.X[toy.train], toy.y[toy.train]
    classes, codes = np.unique(y, return_inverse=True)
    return X, y, codes, np.array([toy.semantics[c] for c in classes]).T


def test_eszsl_is_its_closed_form(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = ESZSL(toy.semantics, gamma=3.0, lam=0.7).fit(X, y)
    Y = np.eye(A.shape[1])[codes]
    left = np.linalg.inv(X.T @ X + 3.0 * np.eye(20))
    V = left @ X.T @ Y @ A.T @ np.linalg.inv(A @ A.T + 0.7 * np.eye(8))
    np.testing.assert_allclose(model.compatibility_, V, atol=1e-10)


def test_eszsl_with_fewer_rows_than_columns_is_the_same_closed_form(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    rows = np.arange(0, len(X), 25)
    wide = np.hstack([X, X**2, np.sin(X)])[rows]
    model = ESZSL(toy.semantics, gamma=3.0, lam=0.7).fit(wide, y[rows])
    Y = np.eye(A.shape[1])[codes[rows]]
    left = np.linalg.inv(wide.T @ wide + 3.0 * np.eye(60))
    V = left @ wide.T @ Y @ A.T @ np.linalg.inv(A @ A.T + 0.7 * np.eye(8))
    np.testing.assert_allclose(model.compatibility_, V, atol=1e-9)


def test_aste_is_eszsl_where_every_row_is_right() -> None:
    """Section III: with f(xₙ) = yₙ for all n, ASTE's optimum is the ridge solution."""
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(4), 10)
    X = 10 * np.eye(4)[codes] + 0.01 * random.normal(size=(40, 4))
    semantics = {k: np.eye(4)[k] for k in range(4)}
    aste = ASTE(semantics, candidates="seen", C=2.0, mu=0.5, tol=1e-9).fit(X, codes)
    eszsl = ESZSL(semantics, candidates="seen", gamma=1.0, lam=0.5).fit(X, codes)
    assert aste.n_iter_ == 0
    np.testing.assert_allclose(aste.compatibility_, eszsl.compatibility_, atol=1e-12)


def test_the_papers_descent_comes_near_the_certified_optimum(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    exact = ASTE(toy.semantics, C=5.0, mu=0.1).fit(X, y)
    descent = ASTE(toy.semantics, C=5.0, mu=0.1, solver="sgd", max_iter=40, random_state=0).fit(X, y)
    assert descent.objective_ >= exact.objective_ - exact.duality_gap_
    assert descent.objective_ <= 1.02 * exact.objective_
    written = structural_objective(X, codes, A, exact.compatibility_, 5.0, 0.1)
    assert exact.objective_ == pytest.approx(written, rel=1e-8)
    assert np.isnan(descent.duality_gap_)


@pytest.mark.claim("PrototypeRidge", "Ridge regression from class vectors")
def test_prototypes_are_a_ridge_regression_of_features_on_semantics(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = PrototypeRidge(toy.semantics, lam=2.0).fit(X, y)
    oracle = Ridge(alpha=2.0).fit(A.T[codes], X)
    unseen = np.array([toy.semantics[c] for c in model.classes_])
    distance = ((toy.X[:, None] - oracle.predict(unseen)[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.decision_function(toy.X), -distance, rtol=1e-8)


def test_sje_does_not_depend_on_the_scale_of_features_or_semantics(toy: Toy) -> None:
    X, y, _, _ = labelled(toy)
    larger = {c: 7 * v for c, v in toy.semantics.items()}
    want = SJE(toy.semantics, random_state=0).fit(X, y).predict(toy.X)
    got = SJE(larger, random_state=0).fit(100 * X, y).predict(100 * toy.X)
    assert (got == want).mean() > 0.97


@pytest.mark.parametrize("model", [ESZSL(), ASTE(), PrototypeRidge()])
def test_defaults_do_not_depend_on_scale(model: ESZSL, toy: Toy) -> None:
    X, y, _, _ = labelled(toy)
    model.set_params(semantics=toy.semantics)
    want = model.fit(X, y).predict(toy.X)
    got = model.fit(1000 * X, y).predict(1000 * toy.X)
    np.testing.assert_array_equal(got, want)


def test_fast_training_is_training_on_the_means(toy: Toy) -> None:
    X, y, codes, _ = labelled(toy)
    fast = FastTraining(ESZSL(toy.semantics, gamma=1.0, lam=1.0)).fit(X, y)
    means = np.array([X[codes == k].mean(axis=0) for k in range(12)])
    plain = ESZSL(toy.semantics, gamma=1.0, lam=1.0).fit(means, np.unique(y))
    np.testing.assert_allclose(fast.decision_function(X), plain.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("model", [ESZSL(), ASTE(), SJE(random_state=0)])
def test_the_error_on_means_is_not_above_that_on_rows(model: ESZSL, toy: Toy) -> None:
    X, y, _, _ = labelled(toy)
    rows, means = (
        FastTraining(model.set_params(semantics=toy.semantics)).fit(X, y).training_errors(X, y)
    )
    assert means <= rows


def test_pipelines_and_grid_search_need_no_routing(toy: Toy) -> None:
    X, y, _, _ = labelled(toy)
    seen = {c: toy.semantics[c] for c in np.unique(y).tolist()}
    pipe = make_pipeline(StandardScaler(), ESZSL(seen))
    search = GridSearchCV(pipe, {"eszsl__gamma": [0.1, 10.0]}, cv=ClassWiseKFold(3)).fit(X, y)
    assert search.best_score_ > 0.5
    assert set(search.best_params_) == {"eszsl__gamma"}


def test_float32_stays_float32(toy: Toy) -> None:
    X, y, _, _ = labelled(toy)
    narrow = X.astype(np.float32)
    for model in (ESZSL(toy.semantics), ASTE(toy.semantics), SJE(toy.semantics, random_state=0)):
        assert model.fit(narrow, y).compatibility_.dtype == np.float32
