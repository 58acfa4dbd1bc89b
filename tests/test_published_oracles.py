"""Published forms against naive re-implementations of what authors' papers and programs compute."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, optimize
from scipy.special import expit
from sklearn.linear_model import Ridge

from toys import make_toy
from unseen import (
    ASTE,
    CMT,
    DAP,
    ESZSL,
    RKT,
    SAE,
    SJE,
    SMS,
    SSE,
    TASTE,
    TMVHLP,
    BiDiLEL,
    LinearRegressionZSL,
    SynC,
    WDVSc,
)
from unseen.exceptions import DivergenceError
from unseen.inductive.cmt import _objective
from unseen.rows.labelled import Rows
from unseen.solvers.scheduled_descent import two_domain_cost
from unseen.statistics.multigraph import multigraph_walk
from unseen.transductive._clusters import chamfer_plan, matching_plan

SHARED = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[2] / "shared" / "data"))
toy = make_toy()
SEEN_X, SEEN_Y = toy.X[toy.train], toy.y[toy.train]
UNSEEN_X, UNSEEN_Y = toy.X[toy.unseen], toy.y[toy.unseen]


def one_hot(y, classes):
    return (np.asarray(y)[:, None] == classes).astype(float)


def seen_table(model):
    table = model._table()
    return table.vectors[table.positions(model.seen_classes_)]


@pytest.mark.parametrize("labels", ["binary", "signed"])
@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (100.0, 0.1), (1e-3, 10.0), (10.0, 1e-3)])
@pytest.mark.claim("ESZSL", "The closed form")
@pytest.mark.claim("ESZSL", "labels")
def test_eszsl_is_the_closed_form_of_its_authors(gamma, lam, labels):
    X, y = SEEN_X.astype(float), SEEN_Y
    model = ESZSL(toy.semantics, gamma=gamma, lam=lam, labels=labels).fit(X, y)
    Y = one_hot(y, model.seen_classes_)
    Y = Y if labels == "binary" else 2 * Y - 1
    A = seen_table(model)
    KK = np.linalg.inv(X.T @ X + gamma * np.eye(X.shape[1]))
    V = KK @ X.T @ Y @ A @ np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1]))
    np.testing.assert_allclose(model.compatibility_, V, rtol=1e-9, atol=1e-9 * np.abs(V).max())


# Seven rows of three classes; the class of each, and the classes' vectors.
SMALL_X = np.array([[2, 0, 1], [3, 1, 0], [0, 2, 1], [1, 3, 0], [0, 1, 3], [1, 0, 4], [2, 1, 3]], float)
SMALL_Y = np.array(["a", "a", "b", "b", "c", "c", "c"])
SMALL_TABLE = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 2.0]}


FROZEN_ESZSL = {
    (1.0, 1.0): (
        *(0.1858745992162451, -0.20711613822586392, -0.26604916280726754),
        *(0.06042037762736017, -0.04909155682223014, 0.0965799786248664),
    ),
    (100.0, 0.1): (
        *(0.025547151910205148, -0.03192999985815893, -0.050237831812822084),
        *(0.01030220853773152, -0.023626161414150772, 0.020401925390411073),
    ),
    (1e-3, 10.0): (
        *(0.025455169785241538, -0.06620935301661789, -0.06094412694076273),
        *(-0.0026920685569975524, -0.0015706615242121118, 0.03466200845736443),
    ),
    (10.0, 1e-3): (
        *(0.20393985570912412, -0.18684280843796147, -0.28024752691853627),
        *(0.08014195043629532, -0.08408748395934132, 0.0927290363008296),
    ),
}
FROZEN_SAE = {
    0.2: (
        *(1.0478218562573485, -1.4721862766424698, 0.937556098820802),
        *(-0.6813094281705622, 0.10180769907709926, 1.316154819223183),
    ),
    5.0: (
        *(0.31510561774501356, -0.436695989003038, 0.1852242793437356),
        *(-0.26782124583738665, 0.3052469559752909, 0.7467249524634848),
    ),
}


@pytest.mark.parametrize(("gamma", "lam"), FROZEN_ESZSL)
@pytest.mark.claim("ESZSL", "The closed form")
def test_eszsl_has_the_frozen_numbers_of_its_authors_formula(gamma, lam):
    """(XᵀX + γI)⁻¹ XᵀYA (AᵀA + λI)⁻¹ with Y of −1 and 1, computed once in exact fractions."""
    signed = {"gamma": gamma, "lam": lam, "labels": "signed"}
    model = ESZSL.as_published(SMALL_TABLE, "seen", **signed).fit(SMALL_X, SMALL_Y)
    found = model.compatibility_.ravel()
    np.testing.assert_allclose(found, FROZEN_ESZSL[gamma, lam], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lam", FROZEN_SAE)
@pytest.mark.claim("SAE", "The Sylvester equation")
def test_sae_centred_has_the_frozen_numbers_of_its_equation(lam):
    """SSᵀW + W(λXXᵀ) = (1 + λ)SXᵀ on centred rows and vectors, solved once in exact fractions."""
    model = SAE(SMALL_TABLE, "seen", lam=lam).fit(SMALL_X, SMALL_Y)
    np.testing.assert_allclose(model.encoder_.ravel(), FROZEN_SAE[lam], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lam", [0.2, 5.0, 500.0])
def test_sae_centred_solves_the_sylvester_equation(lam):
    X, y = SEEN_X.astype(float), SEEN_Y
    model = SAE(toy.semantics, lam=lam).fit(X, y)
    S = seen_table(model)[np.searchsorted(model.seen_classes_, y)]
    X, S = X - X.mean(axis=0), S - S.mean(axis=0)
    weight = lam * np.trace(S.T @ S) / np.trace(X.T @ X)
    W = linalg.solve_sylvester(S.T @ S, weight * X.T @ X, (1 + weight) * S.T @ X)
    np.testing.assert_allclose(model.encoder_, W, atol=1e-6 * np.abs(W).max())


@pytest.mark.claim("SAE", "scaling")
def test_sae_as_published_is_the_program_of_its_authors():
    X, y = SEEN_X.astype(float), SEEN_Y
    model = SAE.as_published(toy.semantics, lam=3.0).fit(X, y)
    S = seen_table(model)[np.searchsorted(model.seen_classes_, y)]
    Z = X / np.linalg.norm(X, axis=0)
    W = linalg.solve_sylvester(S.T @ S, 3.0 * Z.T @ Z, 4.0 * S.T @ Z)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(model.encoder_, W, atol=1e-6)
    assert not model.center_.any()


@pytest.mark.claim("DAP", "binarise")
def test_dap_takes_the_binary_matrix_of_awa():
    folder = SHARED / "awa"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    table = np.loadtxt(folder / "predicate-matrix-continuous.txt")
    binary = np.loadtxt(folder / "predicate-matrix-binary.txt")
    names = [f"class {i}" for i in range(len(table))]
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(40), 3)
    X = random.normal(size=(120, 10)) + table[codes, :10]
    y = np.array(names)[codes]
    semantics = dict(zip(names, table, strict=True))
    model = DAP(semantics, ridge=1.0, binarise="overall").fit(X, y)
    assert (model.seen_signs_ > 0).mean() == pytest.approx(binary[:40].mean(), abs=0.01)
    flipped = ((table > model.threshold_) != (binary > 0)).sum()
    assert flipped <= 20, "the overall mean gives AwA's matrix but for values at the threshold"
    own = DAP(semantics, ridge=1.0).fit(X, y)
    assert ((table > own.threshold_) != (binary > 0)).sum() > 400


@pytest.mark.claim("DAP", "prior")
def test_dap_divides_by_priors_as_its_authors_program():
    """DAP_eval.py: Πₘ p(aₘ|x) / Πₘ p(aₘ), with the attributes of each candidate."""
    X, y = SEEN_X.astype(float), SEEN_Y
    model = DAP.as_published(toy.semantics, ridge=1.0).fit(X, y)
    table = model._table()
    unseen = table.positions(np.unique(UNSEEN_Y))
    binary = table.vectors > model.threshold_
    P = expit((UNSEEN_X @ model.coef_ + model.intercept_) * model.slope_ + model.offset_)
    prior = binary[table.positions(model.seen_classes_)].mean(axis=0)
    prior = np.where((prior == 0) | (prior == 1), 0.5, prior)
    naive = np.empty((len(P), len(unseen)))
    for j, place in enumerate(unseen):
        M = binary[place]
        naive[:, j] = np.prod(np.where(M, P, 1 - P), axis=1) / np.prod(np.where(M, prior, 1 - prior))
    answers = np.unique(UNSEEN_Y)[naive.argmax(axis=1)]
    assert (answers == model.predict(UNSEEN_X)).mean() > 0.99


@pytest.mark.claim("RKT", "Sparse relations between classes")
@pytest.mark.claim("RKT", "center")
def test_rkt_relates_vectors_as_they_are():
    """generateKRTdata: a lasso of unseen over seen vectors, carried over to class means."""
    X, y = toy.transductive()
    model = RKT.as_published(toy.semantics).fit(X, y)
    seen = seen_table(model)
    means = np.stack([SEEN_X[np.equal(SEEN_Y, c)].mean(axis=0) for c in model.seen_classes_])
    table = model._table()
    unseen = table.vectors[table.positions(np.unique(UNSEEN_Y))]
    penalty = model.penalty * np.abs(unseen @ seen.T).max(axis=1).mean()
    for code, vector in zip(model.relations_, unseen, strict=True):
        slope = seen @ (vector - code @ seen)  # stationary: within the penalty, at it where not zero
        assert np.abs(slope).max() <= penalty * 1.05
    own = model._space.of_means(model.relations_ @ means)
    np.testing.assert_allclose(model.points_, own, atol=1e-3)


def test_degenerate_priors_are_one_half():
    semantics = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [1.0, 0.2], "d": [0.0, 1.0]}
    X = np.random.default_rng(0).normal(size=(12, 4))
    y = np.repeat(["a", "b", "c"], 4)
    model = DAP(semantics, prior="shares", binarise="overall", ridge=1.0).fit(X, y)
    assert (model.seen_signs_[:, 0] > 0).all()
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.raises(ValueError, match="'binarise' parameter of DAP must be 'attribute'"):
        DAP(semantics, binarise="none").fit(X, y)
    with pytest.raises(ValueError, match="'prior' parameter of DAP must be 'smoothed' or 'shares'"):
        DAP(semantics, prior="none").fit(X, y)


@pytest.mark.claim("LinearRegressionZSL", "Ridge regression from rows")
def test_linear_regression_is_the_forward_ridge():
    X, y = SEEN_X.astype(float), SEEN_Y
    model = LinearRegressionZSL(toy.semantics, ridge=0.5).fit(X, y)
    targets = seen_table(model)[np.searchsorted(model.seen_classes_, y)]
    weight = 0.5 * X.var(axis=0).sum() * len(X) / X.shape[1]
    naive = Ridge(alpha=weight).fit(X, targets)
    np.testing.assert_allclose(model.coef_, naive.coef_.T, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, naive.intercept_, atol=1e-6)
    codes = np.searchsorted(model.seen_classes_, y)
    of_rows, of_means = model.training_errors(Rows(X, codes), seen_table(model))
    assert of_rows == pytest.approx(((naive.predict(X) - targets) ** 2).sum(axis=1).mean())
    assert of_means < of_rows  # Proposition 1, for balanced classes


def descended(X, codes, A, C, start, steps, random, hinge=False):
    """Eq. (14) with batches of 50 and the cost of Eq. (12) and (13), row by row."""
    V = start.copy()
    for step in steps:
        pull = np.zeros_like(V)
        for n in random.choice(len(X), size=min(50, len(X))):
            scores = X[n] @ V @ A
            y = np.eye(A.shape[1])[codes[n]]
            best = np.eye(A.shape[1])[scores.argmax()]
            pull += np.outer(X[n], A @ (2 * (scores - y) + best - y))
        V = V - step * (pull / min(50, len(X)) + C / len(X) * V @ A @ A.T)
    return V


@pytest.mark.claim("ASTE", "Step sizes 1, 0.1 and 0.01")
@pytest.mark.claim("ASTE", "solver")
def test_aste_descends_as_algorithm_1():
    X, y = SEEN_X.astype(float)[::6], SEEN_Y[::6]
    model = ASTE.as_published(
        toy.semantics, max_iter=1, step_scale=1e-3, start_scale="paper", random_state=3
    ).fit(X, y)
    A = seen_table(model).T
    codes = np.searchsorted(model.seen_classes_, y)
    random = np.random.default_rng(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    E = np.linalg.svd(A, full_matrices=True)[0]
    start = random.normal(size=(X.shape[1], len(E))) @ E.T
    steps = 1e-3 * np.repeat([1.0, 0.1, 0.01], 50)
    V = descended(X, codes, A, 0.1, start, steps, random)
    np.testing.assert_allclose(model.compatibility_, V, atol=1e-8)


@pytest.mark.claim("ASTE", "step_scale")
def test_printed_steps_diverge_and_say_so():
    X = 10 * SEEN_X.astype(float)
    for method in (ASTE, TASTE):
        model = method.as_published(toy.semantics, step_scale="paper", random_state=0)
        with pytest.raises(DivergenceError, match=r"diverged in round 1 of 100.*='curvature'"):
            model.fit(X, SEEN_Y)


@pytest.mark.claim("ASTE", "max_iter")
def test_the_descent_stops_under_its_tolerance():
    model = ASTE(toy.semantics, solver="sgd", C=0.1, mu=0.0, epsilon=1e9, random_state=0)
    assert model.fit(SEEN_X, SEEN_Y).n_iter_ == 1
    with pytest.raises(ValueError, match="'step_scale' parameter of ASTE must be 'curvature', 'paper'"):
        ASTE(toy.semantics, solver="sgd", step_scale="fast").fit(SEEN_X, SEEN_Y)
    with pytest.raises(ValueError, match="'margin' parameter of ASTE must be 'adaptive'"):
        ASTE(toy.semantics, margin="fixed").fit(SEEN_X, SEEN_Y)
    with pytest.raises(ValueError, match="'init' parameter of ASTE must be 'normal', 'zero'"):
        ASTE(toy.semantics, solver="sgd", init="best").fit(SEEN_X, SEEN_Y)


def test_descents_that_start_at_eszsl_stay_near_it():
    start = ESZSL(toy.semantics).fit(SEEN_X, SEEN_Y)
    for model in (
        ASTE(toy.semantics, solver="sgd", C=0.1, mu=0.0, init="eszsl", step_scale=1e-12, max_iter=1),
        SJE(toy.semantics, schedule="rounds", init="eszsl", step_scale=1e-12, max_iter=1),
    ):
        model.fit(SEEN_X, SEEN_Y)
        expected = start.decision_function(UNSEEN_X)
        np.testing.assert_allclose(model.decision_function(UNSEEN_X), expected, atol=1e-6)


@pytest.mark.claim("TASTE", "Step sizes 1, 0.1 and 0.01")
@pytest.mark.claim("TASTE", "solver")
def test_taste_descends_on_both_domains():
    X, y = toy.transductive()
    model = TASTE.as_published(toy.semantics, max_iter=6, random_state=0).fit(X, y)
    shares = [r.threshold for r in model.history_]
    assert len(shares) == 4
    assert model.history_[-1].selected == len(UNSEEN_X)
    assert np.isnan(model.duality_gap_)
    again = TASTE.as_published(toy.semantics, max_iter=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.compatibility_, again.compatibility_)
    with pytest.raises(ValueError, match="'shrinkage' parameter of TASTE must be None with"):
        TASTE(toy.semantics, solver="sgd").fit(X, y)


@pytest.mark.claim("TASTE", "solver")
def test_two_domain_cost_has_its_gradient():
    random = np.random.default_rng(0)
    scores, codes = random.normal(size=(6, 7)), np.array([0, 3, 2, 5, 6, 4])
    loss = two_domain_cost(4)
    cost, gradient = loss(scores, codes)
    for i in range(6):

        def value(row, i=i):
            changed = scores.copy()
            changed[i] = row
            return loss(changed, codes)[0][i]

        numeric = optimize.approx_fprime(scores[i], value, 1e-7)
        np.testing.assert_allclose(gradient[i], numeric, atol=1e-5)
    assert cost.shape == (6,)


@pytest.mark.claim("CMT", "penalty")
def test_cmt_penalties_have_their_gradients():
    random = np.random.default_rng(1)
    rows = Rows(random.normal(size=(8, 3)), np.arange(8) % 4)
    targets, shapes = random.normal(size=(4, 2)), [(3, 2), (2,), (2, 2), (2,)]
    parts = [random.normal(size=shape) for shape in shapes]
    ends = np.cumsum([0, *(part.size for part in parts)])
    for separate in (False, True):
        objective = _objective(rows, targets, 0.3, separate)

        def value(flat, objective=objective):
            cut = [flat[a:b].reshape(s) for a, b, s in zip(ends[:-1], ends[1:], shapes, strict=True)]
            return objective(cut)[0]

        flat = np.concatenate([part.ravel() for part in parts])
        found = np.concatenate([g.ravel() for g in objective(parts)[1]])
        np.testing.assert_allclose(found, optimize.approx_fprime(flat, value, 1e-7), atol=1e-4)


@pytest.mark.claim("WDVSc", "constraint")
def test_clusters_by_matching_and_by_chamfer_distance():
    random = np.random.default_rng(2)
    points, clusters = random.normal(size=(4, 3)), random.normal(size=(4, 3))
    distance = ((points[:, None] - clusters) ** 2).sum(axis=2)
    plan, mass = matching_plan(points, clusters)
    rows, columns = optimize.linear_sum_assignment(distance)
    assert (plan * distance).sum() == pytest.approx(distance[rows, columns].sum())
    assert (mass == 1).all()
    plan, mass = chamfer_plan(points, clusters)
    both = distance.min(axis=1).sum() + distance.min(axis=0).sum()
    assert (mass[:, None] * plan * distance).sum() == pytest.approx(both)


def naive_nearest(S, rows, k, times):
    """Each row keeps its second to (k + 1)-th largest entry, a prototype more; then symmetric."""
    kept = np.zeros_like(S)
    for node in range(len(S)):
        near = np.argsort(-S[node])[1 : 1 + (k if node < rows else times * k)]
        kept[node, near] = S[node, near]
    return (kept + kept.T) / 2


@pytest.mark.claim("TMVHLP", "graph")
@pytest.mark.claim("TMVHLP", "Table III's TMV-HLP")
def test_the_multigraph_is_that_of_naive_loops():
    random = np.random.default_rng(3)
    views, rows, k = [random.normal(size=(12, 4)) for _ in range(2)], 10, 3
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in views]

    def similar(a, b):
        squares = ((a[:, None] - b) ** 2).sum(axis=2)
        return np.exp(-squares / np.median(squares))

    W = 0.25 * sum(naive_nearest(similar(u, u), rows, k, 2) for u in unit)
    edges = []
    for a, b in ((0, 1), (1, 0)):
        S = similar(unit[a], unit[b])
        S = (S - S.mean(axis=1, keepdims=True)) / S.std(axis=1, keepdims=True, ddof=1)
        S = (S - S.mean(axis=0)) / S.std(axis=0, ddof=1)
        edges += list(naive_nearest(S, rows, k, 2))
    weights = [max(e.sum(), 0) / (e > 0).sum() for e in edges]
    degree = [
        sum(w * max(e[n], 0) ** 2 for w, e in zip(weights, edges, strict=True)) for n in range(12)
    ]
    for i in range(12):
        for j in range(12):
            shared = sum(w * max(e[i], 0) * max(e[j], 0) for w, e in zip(weights, edges, strict=True))
            W[i, j] += 0.75 * shared / np.sqrt(degree[i] * degree[j])
    root = 1 / np.sqrt(W.sum(axis=1))
    walk = multigraph_walk(views, rows, k, 2)(np.eye(12))
    np.testing.assert_allclose(walk, root[:, None] * W * root, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SSE(sides="left"), "'sides' parameter of SSE must be 'both' or 'one'"),
        (SynC(loss="hinge"), "'loss' parameter of SynC must be 'ovo', 'struct' or 'cs'"),
        (SAE(scaling="none"), "'scaling' parameter of SAE must be 'centred' or 'published'"),
        (CMT(penalty="none"), "'penalty' parameter of CMT must be 'product' or 'separate'"),
        (ESZSL(labels="none"), "'labels' parameter of ESZSL must be 'binary' or 'signed'"),
        (SJE(schedule="none"), "'schedule' parameter of SJE must be 'averaged' or 'rounds'"),
        (WDVSc(constraint="none"), "'constraint' parameter of WDVSc must be 'transport'"),
        (WDVSc(clusters="none"), "'clusters' parameter of WDVSc must be 'predicted' or 'random'"),
        (TMVHLP(graph="any"), "'graph' parameter of TMVHLP must be 'hypergraph', 'multigraph'"),
        (BiDiLEL(adaptation="none"), "'adaptation' parameter of BiDiLEL must be 'self-training'"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_options_are_checked(model, message):
    with pytest.raises(ValueError, match=message):
        model.set_params(semantics=toy.semantics).fit(SEEN_X, SEEN_Y)


@pytest.mark.parametrize(
    "model",
    [
        SynC(unit_length=True, loss="cs", random_state=0),
        SSE(sides="one", random_state=0),
        TMVHLP(graph="none"),
        TMVHLP.as_published(),
        WDVSc(constraint="matching", clusters="random", random_state=0),
        WDVSc(constraint="chamfer", unit_length=True, shrinkage=None),
        BiDiLEL(adaptation="structured", random_state=0),
        SMS.as_published(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_other_forms_learn_too(model):
    X, y = toy.transductive()
    model.set_params(semantics=toy.semantics).fit(X, y)
    assert model.score(UNSEEN_X, UNSEEN_Y) > 2 / len(model.classes_)
