"""The transductive systems of the literature: an oracle for each, besides the contract."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize
from sklearn.base import clone

from estimators import name_of
from toys import Toy, make_toy
from unseen import (
    RKT,
    SMS,
    TMVHLP,
    UDA,
    BiDiLEL,
    MaxMarginSSL,
    PrototypePropagation,
    SemiSupervisedClustering,
    WDVSc,
)
from unseen.rows.kernels import scaled
from unseen.rows.passes import class_sums, gram
from unseen.statistics.prototype_map import prototype_map
from unseen.transductive.bidilel import sammon, supervised_projection
from unseen.transductive.max_margin import two_group_hinge
from unseen.transductive.propagation import balanced
from unseen.transductive.selection import BalancedSelection
from unseen.transductive.tmvhlp import canonical_directions
from unseen.transductive.wdvsc import transport_to

POINTS: list[Any] = [
    *(WDVSc(), PrototypePropagation(), BiDiLEL(), UDA(), TMVHLP(), SemiSupervisedClustering(), RKT()),
]
ALL: list[Any] = [*POINTS, SMS(), MaxMarginSSL(random_state=0)]
points = pytest.mark.parametrize("estimator", POINTS, ids=name_of)
every = pytest.mark.parametrize("estimator", ALL, ids=name_of)


FITS: dict[tuple[int, bytes], Any] = {}


def fitted(estimator: Any, toy: Toy, **changes: Any) -> Any:
    """Return a fit of its own to each test; the one without changes is made once for them all."""
    model = clone(estimator).set_params(**({"semantics": toy.semantics} | changes))
    place = next((i for i, known in enumerate(ALL) if known is estimator), None)
    if place is None or changes:
        return model.fit(*toy.transductive())
    key = place, toy.X.tobytes()
    if key not in FITS:
        FITS[key] = model.fit(*toy.transductive())
    return copy.deepcopy(FITS[key])


@points
def test_no_round_is_the_start_and_looks_at_no_pool(estimator: Any, toy: Toy) -> None:
    start = fitted(estimator, toy, rounds=0)
    alone = clone(estimator).set_params(semantics=toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    assert start.history_ == []
    np.testing.assert_allclose(start.decision_function(toy.X), alone.decision_function(toy.X))
    model = fitted(estimator, toy)
    np.testing.assert_allclose(model.start_, start.points_)
    assert model.history_
    assert np.abs(model.points_ - model.start_).max() > 0


@every
def test_the_pool_is_labelled_as_new_rows_are(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    X, y = toy.transductive()
    pool = np.array([v is None for v in y])
    np.testing.assert_array_equal(model.transduction_[pool], model.predict(X[pool]))


@every
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_tiny_pools(estimator: Any, rows: int, toy: Toy) -> None:
    X, y = toy.transductive()
    keep = np.concatenate([np.arange(len(toy.train)), len(toy.train) + np.arange(rows)])
    model = clone(estimator).set_params(semantics=toy.semantics).fit(X[keep], y[keep])
    assert np.isfinite(model.decision_function(X)).all()


@every
def test_all_candidates_at_once(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy, candidates="all")
    assert np.isfinite(model.decision_function(toy.X)).all()
    assert len(model.classes_) == 16


@points
def test_plain_features_and_bad_parameters(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy, shrinkage=None)
    assert model.score(toy.X[toy.unseen], toy.y[toy.unseen]) > 0.7
    with pytest.raises(ValueError, match=r"'shrinkage' parameter of .* Got 2 instead"):
        fitted(estimator, toy, shrinkage=2)
    with pytest.raises(ValueError, match=r"'rounds' parameter of .* Got -1 instead"):
        fitted(estimator, toy, rounds=-1)


@every
def test_the_search_space_holds_the_defaults(estimator: Any) -> None:
    for name, values in type(estimator).search_space().items():
        assert getattr(estimator, name) in values


@pytest.mark.claim("SemiSupervisedClustering", "Class vectors mapped")
def test_clustering_ends_at_a_fixed_point(toy: Toy) -> None:
    model = fitted(SemiSupervisedClustering(), toy, rounds=100)
    X, y = toy.transductive()
    pool = np.array([v is None for v in y])
    names, codes = np.unique(toy.y[toy.train], return_inverse=True)
    Z, labelled = model._space(X[pool]), model._space(X[~pool])
    own = model.predict(X[pool])
    classes = np.concatenate([names, model.classes_])
    both = np.concatenate([labelled, Z])
    every = np.concatenate([codes, [len(names) + list(model.classes_).index(c) for c in own]])
    vectors = np.array([toy.semantics[c] for c in classes])
    sums, counts = class_sums(both, every, len(classes)), np.bincount(every, minlength=len(classes))
    want = prototype_map(sums, counts, vectors, model.ridge)(vectors[len(names) :])
    np.testing.assert_allclose(model.points_, want, rtol=1e-5, atol=1e-6)
    losses = [r.loss for r in model.history_]
    assert losses[-1] <= losses[0] + 1e-9


@pytest.mark.claim("WDVSc", "constraint")
def test_a_sharp_transport_is_the_best_assignment() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(6, 3)), random.normal(size=(6, 3))
    plan, cost = transport_to(a, b, 0.03)
    np.testing.assert_allclose(plan.sum(axis=0), 1, atol=0.02)
    distance = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    rows, columns = optimize.linear_sum_assignment(distance)
    np.testing.assert_array_equal(plan.argmax(axis=1), columns)
    assert cost == pytest.approx(distance[rows, columns].mean(), rel=0.05)


def test_balanced_labels_meet_equal_shares() -> None:
    F = np.random.default_rng(0).random((40, 4)) ** 3
    F[3] = 0  # no label reached this row
    P = balanced(F, 1.0)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(P.sum(axis=0), 10, rtol=1e-3)


@pytest.mark.claim("BiDiLEL", "Supervised locality preserving")
def test_sammon_finds_distances_that_can_be_met() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(9, 3))
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    seen = np.concatenate([vectors[:6], -vectors[:6]])  # centred, so that nothing moves
    start = vectors[6:] + 0.1 * random.normal(size=(3, 3))
    found, stress = sammon(2 * start, vectors[6:], 2 * seen, seen)
    np.testing.assert_allclose(found, 2 * vectors[6:], atol=1e-3)
    assert stress < 1e-6


@pytest.mark.claim("BiDiLEL", "Supervised locality preserving")
def test_the_projection_solves_its_eigenproblem() -> None:
    random = np.random.default_rng(0)
    A, B = random.normal(size=(20, 5)), random.normal(size=(20, 5))
    total, local = A.T @ A, B.T @ B
    P = supervised_projection(total, local, 0.3, 2)
    right = local + 0.3 * np.trace(local) / 5 * np.eye(5)
    values = np.sort(linalg.eigvals(total, right).real)[::-1][:2]
    np.testing.assert_allclose(total @ P, right @ P * values, atol=1e-8)


def test_canonical_directions_are_uncorrelated() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    Y = X @ random.normal(size=(4, 3)) + random.normal(size=(200, 3))
    (left, right), rho = canonical_directions(X, Y, 0.0)
    assert (np.diff(rho) <= 1e-12).all()
    cross = (X - X.mean(0)).T @ (Y - Y.mean(0)) / len(X)
    np.testing.assert_allclose(left.T @ cross @ right, np.diag(rho), atol=1e-9)


def test_relations_reconstruct_semantics_without_a_penalty() -> None:
    toy = make_toy(q=4)
    model = fitted(RKT(penalty=1e-6, rounds=0), toy)
    seen = np.array([toy.semantics[c] for c in model.seen_classes_])
    own = np.array([toy.semantics[c] for c in model.classes_])
    center = seen.mean(axis=0)
    np.testing.assert_allclose(model.relations_ @ (seen - center), own - center, atol=0.02)
    np.testing.assert_allclose(model.points_, model.relations_ @ model._seen_points, atol=1e-6)


@pytest.mark.claim("UDA", "A dictionary of the pool tied")
def test_a_tight_dictionary_stays_at_the_start(toy: Toy) -> None:
    model = fitted(UDA(dictionary_tie=1e9), toy)
    np.testing.assert_allclose(model.points_, model.start_, atol=1e-3)


@pytest.mark.claim("SMS", "One space of models")
def test_sms_is_stationary_in_its_last_round(toy: Toy) -> None:
    model = fitted(SMS(C=2.0, mu=0.5, selection=BalancedSelection(shares=(1.0,)), settle=0), toy)
    start = fitted(SMS(C=2.0, mu=0.5), toy)
    start.compatibility_ = start.inductive_
    X, y = toy.transductive()
    pool = X[np.array([v is None for v in y])]
    A = np.array([toy.semantics[c] for c in model.seen_classes_]).T
    B = np.array([toy.semantics[c] for c in model.classes_]).T
    codes = np.searchsorted(model.seen_classes_, toy.y[toy.train])
    S = start._candidate_scores(pool)
    log_p = np.log(start.predict_proba(pool))
    found = BalancedSelection().select(S, log_p, 1.0)
    w = found.weights * len(toy.train) / len(pool)
    V, train = model.compatibility_, toy.X[toy.train]
    sums = class_sums(train, codes, A.shape[1])
    counts = np.bincount(codes)
    scatter = gram(train) - (sums / np.sqrt(counts)) @ (sums / np.sqrt(counts)).T
    M = 0.8 * scatter / (np.trace(scatter) / len(scatter)) + 0.2 * np.eye(len(scatter))
    mu = 0.5 * np.eye(len(A))
    left = (2 * gram(train) + 2 * M) @ V @ (A @ A.T + mu)
    left += (2 * gram(pool, w) + 2 * M) @ V @ (B @ B.T + mu)
    right = 2 * sums @ A.T + 2 * class_sums(pool, found.codes, B.shape[1], w) @ B.T
    np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())


@pytest.mark.claim("MaxMarginSSL", "A max-margin loss")
def test_the_hinge_of_two_groups_is_two_hinges() -> None:
    scores = np.random.default_rng(0).normal(size=(6, 5))
    codes = np.array([0, 1, 2, 3, 4, 3])
    cost, gradient = two_group_hinge(scores, codes, 3)
    for n, k in enumerate(codes):
        group = range(3) if k < 3 else range(3, 5)
        want = max((j != k) + scores[n, j] - scores[n, k] for j in group)
        assert cost[n] == pytest.approx(want)
        assert gradient[n, [j for j in range(5) if j not in group]].tolist() == [0] * (5 - len(group))


@pytest.mark.claim("MaxMarginSSL", "normalise")
def test_max_margin_rows_are_roots_of_unit_length() -> None:
    toy = make_toy(p=80)
    plain = fitted(MaxMarginSSL(random_state=0), toy, normalise=False)
    rooted = fitted(MaxMarginSSL(random_state=0), toy)
    by_hand = clone(MaxMarginSSL(toy.semantics, normalise=False, random_state=0))
    X, y = toy.transductive()
    by_hand.fit(scaled(X, "root"), y)
    np.testing.assert_allclose(
        rooted.decision_function(X), by_hand.decision_function(scaled(X, "root")), atol=1e-6
    )
    assert np.abs(rooted.compatibility_ - plain.compatibility_).max() > 0
    with pytest.raises(ValueError, match="'normalise' parameter of MaxMarginSSL must be"):
        fitted(MaxMarginSSL(), toy, normalise="yes")
