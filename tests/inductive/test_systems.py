"""The systems that the paper compares with, each against an oracle of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_sylvester
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.linear_model import Ridge

import unseen
from estimators import INDUCTIVE, name_of
from toys import Toy
from unseen import (
    ALE,
    CMT,
    DAP,
    HAT,
    IAP,
    JLSE,
    KDICA,
    SAE,
    SJE,
    SSE,
    DeViSE,
    FastTraining,
    LatEm,
    MetricZSL,
    SelfPaced,
    SynC,
)
from unseen.inductive import cmt, metric_zsl
from unseen.inductive.hat import clustered_levels, given_levels
from unseen.inductive.kdica import invariant_components
from unseen.inductive.sync import _one_versus_other
from unseen.model_selection import ClassWiseSearch
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Sums
from unseen.statistics.held_out import fit_temperature

SYSTEMS = [m for m in INDUCTIVE if name_of(m) not in ("PrototypeRidge", "ESZSL", "ASTE", "SJE")]
every = pytest.mark.parametrize("model", SYSTEMS, ids=name_of)


def labelled(toy: Toy) -> tuple[Any, Any, Any, Any]:
    X, y = toy.X[toy.train], toy.y[toy.train]
    classes, codes = np.unique(y, return_inverse=True)
    return X, y, codes, np.array([toy.semantics[c] for c in classes])


def unseen_vectors(model: Any, toy: Toy) -> Any:
    return np.array([toy.semantics[c] for c in model.classes_])


def scatter(X: Any) -> float:
    """The unit of the ridges: the variance of a column times the number of rows."""
    return float(((X - X.mean(axis=0)) ** 2).sum() / X.shape[1])


@every
def test_works_under_fast_training_and_self_paced(model: Any, toy: Toy) -> None:
    for meta in (FastTraining(clone(model)), SelfPaced(clone(model))):
        meta.set_params(semantics=toy.semantics).fit(*toy.transductive())
        assert meta.score(toy.X[toy.unseen], toy.y[toy.unseen]) > 0.4  # chance is 0.25


@every
def test_has_a_small_search_space(model: Any, toy: Toy) -> None:
    space = model.search_space()
    assert 1 < np.prod([len(v) for v in space.values()]) <= 12
    assert set(space) <= set(model.get_params())
    one = {name: values[:1] for name, values in space.items()}
    X, y = toy.X[toy.train], toy.y[toy.train]
    search = ClassWiseSearch(clone(model).set_params(semantics=toy.semantics), one, cv=2).fit(X, y)
    assert search.best_score_ > 0.2


@every
def test_semantics_of_one_column_and_with_twins(model: Any, toy: Toy) -> None:
    """Any class table: a single number a class, constant columns, two classes alike."""
    X, y, *_ = labelled(toy)
    names = list(toy.semantics)
    one = {name: [float(k)] for k, name in enumerate(names)}
    twins = {name: [1.0, 5.0, float(k // 2)] for k, name in enumerate(names)}
    for semantics in (one, twins):
        fitted = clone(model).set_params(semantics=semantics).fit(X, y)
        assert np.isfinite(fitted.decision_function(toy.X)).all()
        assert np.isfinite(fitted.predict_proba(toy.X)).all()


@every
def test_fitted_state_is_plain(model: Any, toy: Toy) -> None:
    X, y, *_ = labelled(toy)
    fitted = clone(model).set_params(semantics=toy.semantics).fit(X, y)
    for name, value in vars(fitted).items():
        if name not in fitted.get_params():
            assert isinstance(value, (np.ndarray, np.generic, float, int, str)), name
            assert name.endswith("_"), name


# ------------------------------------------------------------------ attributes


@pytest.mark.claim("DAP", "AwA's program attributes")
def test_dap_is_ridge_regressions_and_a_product_of_probabilities(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = DAP(toy.semantics, ridge=0.5).fit(X, y)
    targets = np.where(A.mean(axis=0) < A, 1.0, -1.0)
    oracle = Ridge(alpha=0.5 * scatter(X)).fit(X, targets[codes])
    np.testing.assert_allclose(model.coef_, oracle.coef_.T, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, atol=1e-9)
    rows = toy.X[toy.unseen][:5]
    raw = oracle.predict(rows)
    share = ((targets > 0).sum(axis=0) + 1) / (len(targets) + 2)
    for n in range(len(rows)):
        for k, a in enumerate(unseen_vectors(model, toy)):
            score = 0.0
            for m in range(8):
                p = 1 / (1 + np.exp(-(model.slope_[m] * raw[n, m] + model.offset_[m])))
                has = a[m] > A[:, m].mean()
                score += np.log(p / share[m]) if has else np.log((1 - p) / (1 - share[m]))
            assert model.decision_function(rows)[n, k] == pytest.approx(score)


@pytest.mark.claim("IAP", "Seen-class probabilities first")
@pytest.mark.claim("IAP", "AwA's liblinear_cv5.m")
@pytest.mark.claim("IAP", "It sums shares")
def test_iap_goes_through_the_seen_classes(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = IAP(toy.semantics, ridge=0.5, sharpness=1.0).fit(X, y)
    rows = toy.X[toy.unseen][:5]
    logits = rows @ model.coef_ + model.intercept_
    has = A.mean(axis=0) < A
    share = (has.sum(axis=0) + 1) / (len(A) + 2)
    for n in range(len(rows)):
        p_class = np.exp(logits[n]) / np.exp(logits[n]).sum()
        p = np.clip(sum(p_class[k] * has[k] for k in range(12)), 0.01, 0.99)
        for k, a in enumerate(unseen_vectors(model, toy)):
            own = a > A.mean(axis=0)
            score = np.where(own, np.log(p / share), np.log((1 - p) / (1 - share))).sum()
            assert model.decision_function(rows)[n, k] == pytest.approx(score)
    oracle = Ridge(alpha=0.5 * scatter(X)).fit(X, np.eye(12)[codes])
    np.testing.assert_allclose(
        model.coef_ / model.coef_[0, 0], oracle.coef_.T / oracle.coef_[0, 0], atol=1e-8
    )


@pytest.mark.parametrize("flat", [HAT(levels=1, ridge=0.3), HAT(levels=3, outside=1.0, ridge=0.3)])
def test_a_flat_hierarchy_is_dap(flat: HAT, toy: Toy) -> None:
    X, y, *_ = labelled(toy)
    want = DAP(toy.semantics, ridge=0.3).fit(X, y).decision_function(toy.X)
    got = flat.set_params(semantics=toy.semantics).fit(X, y).decision_function(toy.X)
    np.testing.assert_allclose(got, want, atol=1e-7)


@pytest.mark.claim("HAT", "Attribute classifiers at the nodes")
def test_a_given_hierarchy_equal_to_the_built_one_changes_nothing(toy: Toy) -> None:
    X, y, _, A = labelled(toy)
    built = clustered_levels(A, 2)[1]
    names = np.unique(y).tolist()
    tree = {name: f"group {group}" for name, group in zip(names, built, strict=True)}
    tree |= {f"group {group}": "root" for group in set(built.tolist())}
    np.testing.assert_array_equal(given_levels(names, tree, 2)[1], built)
    plain = HAT(toy.semantics, ridge=0.3, outside=0.3).fit(X, y)
    given = HAT(toy.semantics, hierarchy=tree, ridge=0.3, outside=0.3).fit(X, y)
    np.testing.assert_allclose(given.coefs_, plain.coefs_, atol=1e-12)
    with pytest.raises(ValueError, match="circle"):
        given_levels(["a"], {"a": "b", "b": "a"}, 2)


@pytest.mark.claim("HAT", "The original selects among")
@pytest.mark.claim("HAT", "outside")
def test_a_node_weighs_the_rows_below_it(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = HAT(toy.semantics, levels=2, ridge=0.3, outside=0.3).fit(X, y)
    groups = clustered_levels(A, 2)[1]
    targets = np.where(A.mean(axis=0) < A, 1.0, -1.0)[codes]
    weights = np.where(groups[codes] == 0, 1.0, 0.3)
    centre = weights @ X / weights.sum()
    alpha = 0.3 * (weights @ (X - centre) ** 2).sum() / X.shape[1]
    node = Ridge(alpha=alpha).fit(X, targets, sample_weight=weights)
    root = Ridge(alpha=0.3 * scatter(X)).fit(X, targets)
    np.testing.assert_allclose(model.coefs_[0], (node.coef_ + root.coef_).T / 2, atol=1e-9)


@pytest.mark.claim("KDICA", "The original is kernelised")
def test_kdica_with_nothing_to_align_is_dap(toy: Toy) -> None:
    X, y, *_ = labelled(toy)
    want = DAP(toy.semantics, ridge=0.3).fit(X, y).decision_function(toy.X)
    model = KDICA(toy.semantics, alignment=0, invariance=0, ridge=0.3, components=20).fit(X, y)
    np.testing.assert_allclose(model.decision_function(toy.X), want, atol=1e-7)


@pytest.mark.claim("KDICA", "Domain-invariant components")
def test_kdica_components_trade_alignment_for_invariance(toy: Toy) -> None:
    X, _, codes, A = labelled(toy)
    targets = np.where(A.mean(axis=0) < A, 1.0, -1.0)
    sums = Sums.of(Rows(X, codes), 12)
    means = np.array([X[codes == k].mean(axis=0) for k in range(12)])

    def spread(B: Any) -> tuple[float, float]:
        Z, M = (X - X.mean(axis=0)) @ B, (means - X.mean(axis=0)) @ B
        aligned = np.linalg.norm(Z.T @ (targets[codes] - targets[codes].mean(axis=0))) ** 2
        return aligned / (Z**2).sum(), (M**2).sum() / (Z**2).sum()

    loose, strict = (invariant_components(sums, targets, 3, 1.0, beta) for beta in (0.0, 100.0))
    assert spread(strict)[1] < spread(loose)[1]
    drawn = invariant_components(sums, targets, 3, 100.0, 0.0)
    assert spread(drawn)[0] > spread(invariant_components(sums, targets, 3, 0.0, 0.0))[0]


# ------------------------------------------------------------------ ranking


def test_with_two_classes_all_ranking_losses_are_one(toy: Toy) -> None:
    X, y, codes, _ = labelled(toy)
    two = codes < 2
    models = [C(toy.semantics, learning_rate=1.0, epochs=3, random_state=0) for C in (DeViSE, ALE)]
    want, got = (m.fit(X[two], y[two]).compatibility_ for m in models)
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("model", [DeViSE(), ALE(), LatEm()], ids=name_of)
def test_ranking_does_not_depend_on_scale_or_place(model: Any, toy: Toy) -> None:
    X, y, *_ = labelled(toy)
    model.set_params(random_state=0, semantics=toy.semantics)
    want = model.fit(X, y).predict(toy.X)
    model.set_params(semantics={c: 7 * v for c, v in toy.semantics.items()})
    got = model.fit(100 * X + 3, y).predict(100 * toy.X + 3)
    assert (got == want).mean() > 0.97


def test_latem_takes_the_best_piece(toy: Toy) -> None:
    X, y, _, A = labelled(toy)
    model = LatEm(toy.semantics, pieces=3, random_state=0).fit(X, y)
    row = toy.X[toy.unseen][0] - X.mean(axis=0)
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    for k, a in enumerate(unseen_vectors(model, toy)):
        direction = a / np.linalg.norm(a) - unit.mean(axis=0)
        pieces = [row @ V @ direction for V in model.compatibility_]
        got = model.decision_function(toy.X[toy.unseen][:1])[0, k]
        assert got == pytest.approx(max(pieces))


def test_sje_runs_on_the_shared_engine() -> None:
    from unseen.inductive.ranking import RankingClassifier

    assert all(issubclass(C, RankingClassifier) for C in (SJE, DeViSE, ALE, LatEm))


# ------------------------------------------------------------------ maps


def test_sae_solves_its_sylvester_equation(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = SAE(toy.semantics, lam=2.0).fit(X, y)
    S = (A[codes] - A[codes].mean(axis=0)).T
    F = (X - X.mean(axis=0)).T
    lam = 2.0 * np.trace(S @ S.T) / np.trace(F @ F.T)
    oracle = solve_sylvester(S @ S.T, lam * F @ F.T, (1 + lam) * S @ F.T)
    np.testing.assert_allclose(model.encoder_, oracle, atol=1e-8)
    decoded = (unseen_vectors(model, toy) - A[codes].mean(axis=0)) @ oracle
    row = toy.X[0] - X.mean(axis=0)
    cosine = decoded @ row / np.linalg.norm(decoded, axis=1) / np.linalg.norm(row)
    np.testing.assert_allclose(model.decision_function(toy.X[:1])[0], cosine, atol=1e-8)
    with pytest.raises(ValueError, match="'compare' parameter of SAE"):
        SAE(toy.semantics, compare="both").fit(X, y)


def flat_objective(objective: Any, start: list[Any]) -> tuple[Any, Any, Any]:
    sizes = np.cumsum([np.size(part) for part in start])[:-1]
    shapes = [np.shape(part) for part in start]

    def parts(flat: Any) -> list[Any]:
        return [p.reshape(s) for p, s in zip(np.split(flat, sizes), shapes, strict=True)]

    def value(flat: Any) -> float:
        return float(objective(parts(flat))[0])

    def gradient(flat: Any) -> Any:
        return np.concatenate([np.ravel(g) for g in objective(parts(flat))[1]])

    return value, gradient, np.concatenate([np.ravel(p) for p in start])


def test_cmt_gradients(toy: Toy) -> None:
    X, _, codes, A = labelled(toy)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    sums = Sums.of(Rows(X, codes, weights), 12)
    start = cmt._start(sums, A, 0.1, 5)
    value, gradient, flat = flat_objective(cmt._objective(Rows(X, codes, weights), A, 2.0), start)
    assert check_grad(value, gradient, flat) < 1e-4 * np.linalg.norm(gradient(flat))


def test_cmt_starts_near_the_ridge_and_then_lowers_its_loss(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    start = CMT(toy.semantics, ridge=0.1, max_iter=0).fit(X, y)
    centre, scale = A.mean(axis=0), np.sqrt(((A - A.mean(axis=0)) ** 2).mean())
    T = (A - centre) / scale
    linear = Ridge(alpha=0.1 * scatter(X)).fit(X, T[codes]).predict(X)

    def mapped(model: CMT) -> Any:
        hidden = np.tanh(X @ model.weights_in_ + model.bias_in_)
        return hidden @ model.weights_out_ + model.bias_out_

    near = np.corrcoef(mapped(start).ravel(), linear.ravel())[0, 1]
    assert near > 0.98  # tanh bends a little
    bent = CMT(toy.semantics, ridge=0.1, max_iter=15).fit(X, y)
    assert ((mapped(bent) - T[codes]) ** 2).sum() < ((mapped(start) - T[codes]) ** 2).sum()


def test_metric_gradients(toy: Toy) -> None:
    X, _, codes, A = labelled(toy)
    X, random = X - X.mean(axis=0), np.random.default_rng(0)
    start = [0.01 * random.normal(size=(20, 8)), np.zeros(8), 0.3 * np.eye(8), np.array(0.5)]
    start[2] += 0.01 * random.normal(size=(8, 8))
    weights = random.uniform(0.5, 2, len(X))
    objective = metric_zsl._objective(Rows(X, codes, weights), A, 0.5, 0.7)
    value, gradient, flat = flat_objective(objective, start)
    assert check_grad(value, gradient, flat) < 1e-4 * np.linalg.norm(gradient(flat))


def test_metric_zsl_starts_at_the_nearest_predicted_attributes(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    model = MetricZSL(toy.semantics, ridge=0.1, consistency=1.0, max_iter=0).fit(X, y)
    predicted = Ridge(alpha=0.1 * scatter(X)).fit(X, A[codes]).predict(toy.X)
    distance = ((predicted[:, None] - unseen_vectors(model, toy)[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(toy.X), model.classes_[distance.argmin(axis=1)])


# ------------------------------------------------------------------ mixtures


@pytest.mark.claim("SynC", "loss")
def test_sync_classifiers_are_optimal_and_mixed_from_phantoms(toy: Toy) -> None:
    X, y, codes, A = labelled(toy)
    X = X - X.mean(axis=0)
    import unseen.inductive.sync as module

    rounds, module.ROUNDS = module.ROUNDS, 400
    try:
        bank = _one_versus_other(Rows(X, codes), 12, X.T @ X, 0.5, 20)
    finally:
        module.ROUNDS = rounds
    signs = np.where(codes[:, None] == np.arange(12), 1.0, -1.0)
    slack = np.maximum(1 - signs * (X @ bank.coef + bank.intercept), 0)
    ridge = 0.5 * np.trace(X.T @ X) / 20
    stationary = X.T @ (-signs * slack) + ridge * bank.coef
    assert np.abs(stationary).max() < 1e-3 * np.abs(X.T @ signs).max()
    model = SynC(toy.semantics, candidates="seen", width=0.3, ridge=0.5).fit(X, y)
    plain = _one_versus_other(Rows(X, codes), 12, X.T @ X, 0.5, 20)
    agreement = model.predict(X) == np.unique(y)[(X @ plain.coef + plain.intercept).argmax(axis=1)]
    assert agreement.mean() > 0.97
    vector = unseen_vectors(SynC(toy.semantics, width=0.3, ridge=0.5).fit(X, y), toy)[0]
    d = ((A - vector) ** 2).sum(axis=1)
    unit = np.mean([((a - b) ** 2).sum() for a in A for b in A if a is not b and (a != b).any()])
    s = np.exp(-d / (0.3 * unit)) / np.exp(-d / (0.3 * unit)).sum()
    np.testing.assert_allclose(model._similarity(vector[None], 0.3)[0], s, rtol=1e-9)
    with pytest.raises(ValueError, match="'loss' parameter of SynC must be 'ovo', 'struct' or 'cs'"):
        SynC(toy.semantics, loss="both").fit(X, y)


def test_sse_scores_by_a_naive_loop(toy: Toy) -> None:
    X, y, *_ = labelled(toy)
    model = SSE(toy.semantics, random_state=0, steps=5).fit(X, y)
    rows = np.hstack([toy.X, -toy.X])[:3]
    Z = model._mixtures(unseen_vectors(model, toy))
    got = model.decision_function(toy.X[:3])
    for n, x in enumerate(rows):
        for c, z in enumerate(Z):
            score = sum(
                z[k] * sum(model.weight_[d] * max(0.0, x[d] - model.anchors_[k, d]) for d in range(40))
                for k in range(12)
            )
            assert got[n, c] == pytest.approx(score)


def test_sse_starts_at_the_city_block_distance(toy: Toy) -> None:
    X, y, codes, _ = labelled(toy)
    model = SSE(toy.semantics, candidates="seen", steps=0, ridge=0.0, random_state=0).fit(X, y)
    means = np.array([X[codes == k].mean(axis=0) for k in range(12)])
    distance = np.abs(X[:, None] - means[None]).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), model.classes_[distance.argmin(axis=1)])


def test_sse_is_calibrated_on_twenty_rows_a_class(toy: Toy, monkeypatch) -> None:
    X, y, codes, vectors = labelled(toy)
    monkeypatch.setattr(SSE, "_can_rehearse", lambda _: False)  # rehearsals replace this temperature
    model = SSE(toy.semantics, random_state=0, steps=5).fit(X, y)
    few = Rows(X, codes).thinned(20)
    assert np.bincount(few.codes).tolist() == [20] * 12
    want = fit_temperature(model._scores(few.X, vectors), few.codes)
    assert model.temperature_ == pytest.approx(want, rel=1e-9)


@pytest.mark.claim("JLSE", "Codes over seen classes")
def test_jlse_scores_are_a_similarity_of_codes(toy: Toy) -> None:
    from unseen.solvers.simplex import simplex_codes

    X, y, codes, A = labelled(toy)
    model = JLSE(toy.semantics, spread=1.0).fit(X, y)
    z = simplex_codes(toy.X, model.atoms_, 1.0, 5000)
    a = simplex_codes(unseen_vectors(model, toy), model.semantic_atoms_, 1.0, 5000)
    np.testing.assert_allclose(model.decision_function(toy.X), z @ model.similarity_ @ a.T, atol=0.02)
    first = JLSE(toy.semantics, spread=1.0, passes=1).fit(X, y)
    means = np.array([X[codes == k].mean(axis=0) for k in range(12)])
    np.testing.assert_allclose(first.atoms_, means, atol=1e-10)
    np.testing.assert_allclose(first.semantic_atoms_, A)


def test_every_system_of_the_paper_is_importable() -> None:
    names = ("DAP", "IAP", "DeViSE", "ALE", "CMT", "HAT", "SSE", "KDICA", "JLSE", "SynC", "LatEm")
    assert {*names, "MetricZSL", "SAE"} <= set(unseen.__all__)
