"""Claims of the guide's page on published forms that no other test holds, each by naive computation.

A mark ``claim(method, words)`` says which line of the page a test holds: the words are a parameter, or
the beginning of the sentence. ``tests/test_published.py`` fails when a sentence has no such test.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.linear_model import Ridge

from toys import make_toy
from unseen import (
    ALE,
    CMT,
    RKT,
    SAE,
    SJE,
    SSE,
    TMV,
    TMVHLP,
    UDA,
    BiDiLEL,
    DeViSE,
    LatEm,
    LearnedAttributes,
    SemiSupervisedClustering,
    SynC,
    WDVSc,
)
from unseen.inductive.cmt import _objective as cmt_objective
from unseen.inductive.metric_zsl import _objective as metric_objective
from unseen.rows.labelled import Rows
from unseen.solvers.dictionary import tied_dictionary
from unseen.solvers.losses import ranking_hinge, weighted_ranking
from unseen.transductive import bidilel, tmvhlp, uda
from unseen.transductive.tmvhlp import canonical_directions, self_trained

toy = make_toy()
X, y = toy.X[toy.train], toy.y[toy.train]
ROWS = toy.X[toy.unseen]
NAMES, CODES = np.unique(y, return_inverse=True)
SEEN = np.array([toy.semantics[c] for c in NAMES])
UNSEEN = np.array([toy.semantics[c] for c in np.unique(toy.y[toy.unseen])])
MEANS = np.array([X[k == CODES].mean(axis=0) for k in range(len(NAMES))])


def transduced(model):
    return model.set_params(semantics=toy.semantics).fit(*toy.transductive())


def watched(monkeypatch, module, name):
    """Return a list that gets what a function is given and returns; the fit's own calls come first."""
    calls, function = [], getattr(module, name)

    def spy(*given):
        calls.append(([np.copy(part) for part in given], function(*given)))
        return calls[-1][1]

    monkeypatch.setattr(module, name, spy)
    return calls


# ------------------------------------------------------------------ ranking losses


@pytest.mark.claim("ALE", "The weighted ranking loss")
@pytest.mark.claim("DeViSE", "The hinge rank loss")
@pytest.mark.claim("LatEm", "One wrong class is drawn")
def test_ranking_losses_by_naive_loops():
    random = np.random.default_rng(0)
    scores, codes = random.normal(size=(40, 6)), random.integers(6, size=40)
    plain, _ = ranking_hinge(scores, codes, 0.5)
    weighted, _ = weighted_ranking(scores, codes, 0.5)
    for n, true in enumerate(codes):
        gaps = [0.5 + scores[n, k] - scores[n, true] for k in range(6) if k != true]
        paid = [gap for gap in gaps if gap > 0]  # every wrong class counts, none is drawn
        assert plain[n] == pytest.approx(sum(paid))
        top = sum(1 / r for r in range(1, len(paid) + 1)) / max(1, len(paid))
        assert weighted[n] == pytest.approx(top * sum(paid))


@pytest.mark.claim("ALE", "The weighted ranking loss")
@pytest.mark.claim("DeViSE", "The hinge rank loss")
@pytest.mark.parametrize("method", [ALE, DeViSE])
def test_class_vectors_have_unit_length(method):
    lengths = np.random.default_rng(1).uniform(0.1, 10, len(toy.semantics))
    longer = {c: v * r for (c, v), r in zip(toy.semantics.items(), lengths, strict=True)}
    models = [
        method.as_published(s, epochs=1, random_state=0).fit(X, y) for s in (toy.semantics, longer)
    ]
    want, got = (model.decision_function(ROWS) for model in models)
    np.testing.assert_allclose(got, want, atol=1e-9)


@pytest.mark.claim("SJE", "The unregularised structured hinge")
def test_sje_pays_the_worst_violation_and_nothing_else():
    model = SJE.as_published(toy.semantics)
    scores, codes = np.random.default_rng(2).normal(size=(20, 5)), np.arange(20) % 5
    cost, gradient = model._loss(scores, codes)
    for n, true in enumerate(codes):
        worst = max((k != true) + scores[n, k] - scores[n, true] for k in range(5))
        assert cost[n] == pytest.approx(worst)
        assert np.abs(gradient[n]).sum() in (0, 2)
    # Where no row violates the margin, nothing pulls the map back: there is no regulariser.
    far = 100.0 * np.eye(5)
    assert not model._loss(far, np.arange(5))[1].any()


@pytest.mark.claim("LatEm", "Piecewise bilinear scores")
def test_latem_scores_are_those_of_its_best_map():
    model = LatEm.as_published(toy.semantics, epochs=1, random_state=0).fit(X, y)
    assert len(model.compatibility_) == 2
    unit = UNSEEN / np.linalg.norm(UNSEEN, axis=1, keepdims=True)
    want = np.max([ROWS @ V @ unit.T for V in model.compatibility_], axis=0)
    np.testing.assert_allclose(model.decision_function(ROWS), want, atol=1e-9)


# ------------------------------------------------------------------ maps


@pytest.mark.claim("CMT", "A hidden layer of tanh units")
@pytest.mark.claim("CMT", "hidden")
@pytest.mark.claim("CMT", "start")
@pytest.mark.claim("CMT", "Novelty by a Gaussian")
def test_cmt_is_a_network_and_the_nearest_candidate():
    model = CMT.as_published(toy.semantics, max_iter=0, ridge=0.1, random_state=0).fit(X, y)
    assert model.weights_in_.shape == (20, 200)
    most = np.sqrt(6 / (20 + 200 + 8))
    for layer in (model.weights_in_, model.weights_out_):
        assert 0.95 * most < np.abs(layer).max() <= most
        assert layer.std() == pytest.approx(most / np.sqrt(3), rel=0.05)
    assert not model.bias_out_.any()
    mapped = np.tanh(ROWS @ model.weights_in_ + model.bias_in_) @ model.weights_out_
    for candidates, vectors in (("unseen", UNSEEN), ("all", np.concatenate([SEEN, UNSEEN]))):
        aims = (vectors - SEEN.mean(axis=0)) / np.sqrt(((SEEN - SEEN.mean(axis=0)) ** 2).mean())
        model.set_params(candidates=candidates)
        nearest = cdist(mapped, aims).argmin(axis=1)
        np.testing.assert_array_equal(model.predict(ROWS), model.classes_[nearest])


@pytest.mark.claim("CMT", "Its penalty on the mean activation")
@pytest.mark.claim("CMT", "penalty")
def test_cmt_pays_for_errors_and_for_the_squares_of_all_weights():
    random = np.random.default_rng(3)
    rows, aims = Rows(random.normal(size=(6, 3)), np.arange(6) % 2), random.normal(size=(2, 2))
    parts = [random.normal(size=shape) for shape in ((3, 4), (4,), (4, 2), (2,))]
    errors = np.tanh(rows.X @ parts[0] + parts[1]) @ parts[2] + parts[3] - aims[rows.codes]
    want = (errors**2).sum() + 0.7 * sum((part**2).sum() for part in parts)
    assert cmt_objective(rows, aims, 0.7, separate=True)(parts)[0] == pytest.approx(want / 6)


@pytest.mark.claim("LearnedAttributes", "People say there")
def test_a_new_class_gets_the_attributes_that_semantics_foretell():
    model = LearnedAttributes(toy.semantics, ridge=0.3).fit(X, y)
    S = SEEN - SEEN.mean(axis=0)
    unit = model.semantic_ridge * (S**2).sum() / len(S)
    oracle = Ridge(alpha=unit, fit_intercept=False).fit(S, model.attributes_)
    wanted = oracle.predict(UNSEEN - SEEN.mean(axis=0))
    nearest = cdist(ROWS @ model.coef_ + model.intercept_, wanted).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(ROWS), model.classes_[nearest])


@pytest.mark.claim("MetricZSL", "Predicted attributes and a metric")
def test_metric_zsl_pays_for_matches_and_for_attributes():
    random = np.random.default_rng(4)
    rows, A = Rows(random.normal(size=(6, 5)), np.arange(6) % 3), random.normal(size=(3, 4))
    W, b, M, tau = random.normal(size=(5, 4)), random.normal(size=4), random.normal(size=(4, 4)), 0.3
    want = 0.7 * 0.5 * (W**2).sum()
    for x, own in zip(rows.X, rows.codes, strict=True):
        predicted = x @ W + b
        want += 0.5 * ((predicted - A[own]) ** 2).sum()
        for k, a in enumerate(A):
            sign, share = (1, 1) if k == own else (-1, 1 / 2)
            distance = (((predicted - a) @ M) ** 2).sum()
            want += share * max(0, 1 - sign * (tau - distance))
    found = metric_objective(rows, A, 0.5, 0.7)([W, b, M, np.array(tau)])[0]
    assert found == pytest.approx(want / 6)


@pytest.mark.claim("SAE", "The Sylvester equation")
def test_sae_compares_in_both_spaces():
    for compare in ("features", "semantics"):
        model = SAE(toy.semantics, lam=2.0, compare=compare).fit(X, y)
        rows, vectors = ROWS - X.mean(axis=0), UNSEEN - SEEN[CODES].mean(axis=0)
        pair = (rows, vectors @ model.encoder_)
        if compare == "semantics":
            pair = (rows @ model.encoder_.T, vectors)
        want = 1 - cdist(*pair, "cosine")
        np.testing.assert_allclose(model.decision_function(ROWS), want, atol=1e-7)


# ------------------------------------------------------------------ mixtures


@pytest.mark.claim("SynC", "Phantoms are the seen classes")
@pytest.mark.claim("SynC", "unit_length")
def test_sync_mixes_the_classifiers_of_seen_classes():
    model = SynC.as_published(toy.semantics, width=0.1, ridge=0.1, random_state=0).fit(X, y)
    unit = SEEN / np.linalg.norm(SEEN, axis=1, keepdims=True)
    np.testing.assert_allclose(model.phantoms_, unit, atol=1e-12)
    new = UNSEEN / np.linalg.norm(UNSEEN, axis=1, keepdims=True)
    apart = cdist(unit, unit, "sqeuclidean")
    width = 0.1 * apart.sum() / (len(unit) * (len(unit) - 1))
    shares = softmax(-cdist(new, unit, "sqeuclidean") / width, axis=1)
    rows = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    want = rows @ model.base_ @ shares.T + shares @ model.base_intercept_
    np.testing.assert_allclose(model.decision_function(ROWS), want, atol=1e-6)
    # V = pinv(S) W: mixing the bases by the shares of seen classes gives their classifiers back.
    S = softmax(-apart / width, axis=1)
    seen = SynC.as_published(toy.semantics, "seen", width=0.1, ridge=0.1, random_state=0).fit(X, y)
    own = X / np.linalg.norm(X, axis=1, keepdims=True)
    want = own @ model.base_ @ S.T + S @ model.base_intercept_
    np.testing.assert_allclose(seen.decision_function(X), want, atol=1e-6)


@pytest.mark.claim("SSE", "Its Δ, start, penalties")
@pytest.mark.claim("SSE", "sides")
def test_sse_relu_compares_from_one_side():
    model = SSE.as_published(toy.semantics, random_state=0, steps=5).fit(X, y)
    mixtures = model._mixtures(UNSEEN)
    above = np.maximum(ROWS[:4, None] - model.anchors_, 0) @ model.weight_  # ReLU, not an intersection
    np.testing.assert_allclose(model.decision_function(ROWS[:4]), above @ mixtures.T, atol=1e-9)


# ------------------------------------------------------------------ pools


@pytest.mark.claim("TMV", "Views correlated over the pool")
def test_tmv_compares_in_the_common_space(monkeypatch):
    calls = watched(monkeypatch, tmvhlp, "canonical_directions")
    model = transduced(TMV.as_published())
    ((first, second, _), (W, rho)) = calls[0]
    assert len(first) == len(second) == len(ROWS)  # the pool alone
    np.testing.assert_allclose(model.correlations_, rho)
    shift = second.mean(axis=0)
    moved = self_trained(UNSEEN - SEEN.mean(axis=0), second)
    prototypes = (moved - shift) @ W[1]
    want = np.mean(
        [1 - cdist(v, prototypes, "cosine") for v in (first @ W[0], (second - shift) @ W[1])], axis=0
    )
    np.testing.assert_allclose(model.propagated_, want, atol=1e-6)


@pytest.mark.claim("TMVHLP", "One step of self-training")
def test_prototypes_step_to_the_rows_nearest_to_them():
    random = np.random.default_rng(5)
    vectors, rows = random.normal(size=(10, 4)), random.normal(size=(618, 4))
    for moved, vector in zip(self_trained(vectors, rows), vectors, strict=True):
        near = np.argsort(cdist([vector], rows, "cosine")[0])[:49]  # 500 of 6,180, so 49 of 618
        np.testing.assert_allclose(moved, rows[near].mean(axis=0), atol=1e-9)


@pytest.mark.claim("TMVHLP", "Three views there")
@pytest.mark.claim("TMVHLP", "Semantics by support vector regression")
def test_tmvhlp_has_two_views_features_and_predicted_semantics(monkeypatch):
    calls = watched(monkeypatch, tmvhlp, "canonical_directions")
    model = transduced(TMVHLP.as_published(neighbours=5))
    features, predicted, _ = calls[0][0]
    np.testing.assert_allclose(features.std(axis=0), 1, atol=1e-6)
    centre = SEEN.mean(axis=0)
    M = model._space.of_means(MEANS)
    extra = len(M) * max(1.0, 1e-6 * np.trace(M @ M.T) / len(M))
    oracle = Ridge(alpha=extra, fit_intercept=False).fit(M, SEEN - centre)
    np.testing.assert_allclose(predicted, oracle.predict(model._space(ROWS)), atol=1e-6)
    C = np.cov(predicted.T, bias=True)
    C += 0.1 * np.trace(C) / len(C) * np.eye(len(C))
    W = canonical_directions(features, predicted, 0.0)[0][1]
    np.testing.assert_allclose(W.T @ C @ W, np.eye(len(W)), atol=1e-6)


@pytest.mark.claim("UDA", "A dictionary of the pool tied")
def test_the_dictionary_is_tied_to_that_of_seen_classes():
    random = np.random.default_rng(6)
    rows, codes, anchor = (random.normal(size=s) for s in ((30, 5), (30, 3), (3, 5)))
    D = tied_dictionary(rows, codes, anchor, 0.7)
    np.testing.assert_allclose(codes.T @ (codes @ D - rows) + 0.7 * (D - anchor), 0, atol=1e-9)
    model = transduced(UDA.as_published())
    centre, atoms = SEEN.mean(axis=0), model._map.coef.T
    offset = model._map(centre)
    np.testing.assert_allclose(model.points_, (UNSEEN - centre) @ atoms + offset, atol=1e-6)


@pytest.mark.claim("UDA", "Its weights, and whether")
def test_uda_renews_the_class_weights_in_every_round(monkeypatch):
    relabel = UDA._relabel
    monkeypatch.setattr(UDA, "_relabel", lambda *given: (relabel(*given)[0], False))  # never settled
    calls = watched(monkeypatch, uda, "_weights")
    transduced(UDA.as_published(rounds=3))
    points = [given[1] for given, _ in calls[:3]]
    assert all(np.abs(a - b).max() > 0 for a, b in zip(points[1:], points[:-1], strict=True))


@pytest.mark.claim("RKT", "β is 0.5 on AwA")
def test_the_sparsity_of_relations_does_not_depend_on_units():
    longer = {c: 7 * np.asarray(v) for c, v in toy.semantics.items()}
    models = [RKT.as_published(s).fit(*toy.transductive()) for s in (toy.semantics, longer)]
    np.testing.assert_allclose(models[0].relations_, models[1].relations_, atol=1e-3)


@pytest.mark.claim("RKT", "1,500 (AwA) or 100 (CUB)")
def test_rkt_answers_by_the_nearest_mixture_of_class_means():
    model = transduced(RKT.as_published())
    virtual = model.relations_ @ MEANS
    nearest = cdist(ROWS, virtual).argmin(axis=1)
    assert (model.predict(ROWS) == model.classes_[nearest]).mean() > 0.99
    again = transduced(RKT.as_published())
    np.testing.assert_array_equal(again.points_, model.points_)  # no noise


@pytest.mark.claim("SemiSupervisedClustering", "Its start")
def test_clustering_starts_at_the_ridge_regression_of_means():
    model = transduced(SemiSupervisedClustering.as_published(rounds=0))
    points = model._map(UNSEEN)
    np.testing.assert_allclose(model.start_, points, atol=1e-9)
    ends = model._map(np.stack([UNSEEN[0], UNSEEN[1], (UNSEEN[0] + UNSEEN[1]) / 2]))
    np.testing.assert_allclose(ends[2], (ends[0] + ends[1]) / 2, atol=1e-9)  # affine


@pytest.mark.claim("BiDiLEL", "The same README: Sammon's mapping")
def test_sammons_mapping_starts_at_ridge_points(monkeypatch):
    calls = watched(monkeypatch, bidilel, "sammon")
    model = transduced(BiDiLEL.as_published(rounds=0))
    np.testing.assert_allclose(calls[0][0][0], model._map(UNSEEN), atol=1e-9)


@pytest.mark.claim("WDVSc", "A network with two hidden layers")
def test_wdvsc_is_an_affine_map_of_class_vectors():
    model = transduced(WDVSc.as_published(random_state=0))
    points = model.points_
    np.testing.assert_allclose(points, UNSEEN @ model._map.coef.T + model._map.intercept, atol=1e-5)
    assert len(model.history_) > 1
