"""What a person knows of the pool, and rounds that somebody observes: arguments of ``fit``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from estimators import ESTIMATORS, name_of
from toys import make_toy
from unseen import (
    ASTE,
    ESZSL,
    SMS,
    TASTE,
    UDA,
    AdaptationWarning,
    FastTraining,
    ImportanceWeighting,
    MaxMarginSSL,
    SelfPaced,
    SelfPacedPrototypes,
    SemiSupervisedClustering,
    WDVSc,
    open_rows,
)
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.statistics.seen_model import Prior
from unseen.transductive import AgreementSelection, BalancedSelection, Selection, ThresholdSelection
from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive.rounds import SelfPacedRounds

TOY = make_toy()
X, Y = TOY.transductive()
POOL = np.arange(len(TOY.train), len(X))
CLASSES = sorted(set(TOY.y[TOY.unseen].tolist()))
OTHERS = {row: CLASSES[(row // 30 + 1) % 4] for row in range(0, 120, 7)}
"""Known rows, each of another class than the true one: nobody would find these labels."""

OBSERVED = {
    "SelfPacedPrototypes": SelfPacedPrototypes(TOY.semantics),
    "uniform": SelfPacedPrototypes(TOY.semantics, class_prior="uniform"),
    "TASTE": TASTE(TOY.semantics),
    "threshold": TASTE(TOY.semantics, selection="threshold"),
    "SMS": SMS(TOY.semantics),
    "MaxMarginSSL": MaxMarginSSL(TOY.semantics, random_state=0),
    "SelfPaced": SelfPaced(ASTE(TOY.semantics)),
    "FastTraining": FastTraining(TASTE(TOY.semantics)),
}
POOL_METHODS = [m for m in ESTIMATORS if isinstance(m, TransductiveClassifier)]
TAKERS = [m for m in POOL_METHODS if m.takes_known]
REFUSERS = [m for m in POOL_METHODS if not m.takes_known]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        yield


def _places(known):
    rows, labels = zip(*known.items(), strict=True)
    return np.array(rows), np.array([CLASSES.index(label) for label in labels])


# ---------------------------------------------------------------------------- observers


@pytest.mark.parametrize("name", OBSERVED)
def test_every_round_is_shown_and_cannot_be_changed(name):
    seen = []

    def observer(number, probabilities):
        seen.append(number)
        assert probabilities.shape == (len(TOY.unseen), 4)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        with pytest.raises(ValueError, match="read-only"):
            probabilities[:] = 0
        probabilities.flags.writeable = True
        probabilities[:] = 0  # whoever insists writes into a copy

    model = OBSERVED[name]
    plain = model.fit(X, Y).predict_proba(X)
    observed = model.fit(X, Y, observer=observer)
    np.testing.assert_array_equal(plain, observed.predict_proba(X))
    assert seen == list(range(len(observed.history_) + 1))
    assert len(seen) > 1


def test_the_last_round_that_is_shown_is_the_answer():
    shown = []
    model = TASTE(TOY.semantics).fit(X, Y, observer=lambda _, P: shown.append(P))
    found = model.predict_proba(X[POOL])  # the same scores, calibrated after the last round
    np.testing.assert_array_equal(shown[-1].argmax(axis=1), found.argmax(axis=1))
    assert np.corrcoef(np.argsort(shown[-1].max(axis=1)), np.argsort(found.max(axis=1)))[0, 1] > 0


# ---------------------------------------------------------------------------- known rows


@pytest.mark.parametrize("name", OBSERVED)
def test_known_rows_are_certain_in_every_round(name):
    shown = []
    model = OBSERVED[name].fit(X, Y, known=OTHERS, observer=lambda _, P: shown.append(P))
    rows, places = _places(OTHERS)
    for probabilities in shown:
        np.testing.assert_array_equal(probabilities[rows], np.eye(4)[places])
    assert len(shown) == len(model.history_) + 1


@pytest.mark.parametrize("model", TAKERS, ids=name_of)
def test_known_labels_stand_in_the_answer_and_teach(model):
    model = clone(model).set_params(semantics=TOY.semantics)
    plain = model.fit(X, Y).decision_function(X)
    model.fit(X, Y, known=OTHERS)
    rows, places = _places(OTHERS)
    np.testing.assert_array_equal(model.transduction_[POOL[rows]], np.array(CLASSES)[places])
    assert (model.labelled_round_[POOL[rows]] == 0).all()
    assert not np.allclose(plain, model.decision_function(X)), "the known labels changed nothing"
    nothing = model.fit(X, Y, known={}).decision_function(X)
    np.testing.assert_array_equal(plain, nothing)


@pytest.mark.parametrize("prior", ["estimated", "uniform", None])
def test_the_objective_falls_with_known_rows(prior):
    toy = make_toy(seed=1, unseen=8, p=6, q=4)  # classes overlap: several rounds are taken
    names = sorted(set(toy.y[toy.unseen].tolist()))
    known = {row: names[(row // 30 + 1) % 8] for row in range(0, 240, 7)}
    model = SelfPacedPrototypes(toy.semantics, class_prior=prior)
    model.fit(*toy.transductive(), known=known)
    values = [model.start_objective_, *(line.objective for line in model.history_)]
    assert len(values) > 2
    assert values[-1] < values[0]
    assert np.isfinite(values).all()


def test_the_objective_is_that_of_the_clamped_labels(monkeypatch):
    """F of the docstring, computed from the labels of the last round that was shown."""
    shown = []
    model = SelfPacedPrototypes(TOY.semantics, class_prior=None, rounds=2)
    with monkeypatch.context() as patched:  # a tie that costs nothing can be left out of F
        patched.setattr(Prior, "energy", lambda *_: 0.0)
        model.fit(X, Y, known=OTHERS, observer=lambda _, Q: shown.append(Q))
    Z = model._space(X[POOL])
    Q, squares = shown[-1], ((Z[:, None] - model.points_[None]) ** 2).sum(axis=2)
    entropy = np.where(Q > 0, Q * np.log(np.maximum(Q, 1e-300)), 0).sum()
    F = (Q * (squares / 2 - (Z**2).sum(axis=1, keepdims=True) / 2)).sum() + entropy
    assert model.history_[-1].objective == pytest.approx(F, rel=1e-6)


@pytest.mark.parametrize("name", ["SelfPacedPrototypes", "TASTE", "SelfPaced", "SMS"])
def test_permuted_rows_give_the_permuted_answer(name):
    order = np.random.default_rng(0).permutation(len(POOL))
    place = np.argsort(order)
    turned = X.copy()
    turned[POOL] = X[POOL[order]]
    model = OBSERVED[name]
    known = {row: CLASSES[(row // 30 + 1) % 4] for row in (3, 40, 77)}
    one = model.fit(X, Y, known=known).transduction_[POOL]
    scores = model.decision_function(X)
    other = model.fit(turned, Y, known={int(place[row]): c for row, c in known.items()})
    np.testing.assert_array_equal(one[order], other.transduction_[POOL])
    np.testing.assert_allclose(scores, other.decision_function(X), rtol=1e-4, atol=1e-3)


def test_a_known_row_pulls_its_class_as_one_row():
    model = SelfPacedPrototypes(TOY.semantics, rounds=1)
    before = model.fit(X, Y).points_.copy()
    sizes = np.linalg.norm(model.fit(X, Y, known={0: CLASSES[3]}).points_ - before, axis=1)
    assert sizes[3] > 0
    assert sizes.max() < np.linalg.norm(before, axis=1).mean() / 4


def test_the_clusters_of_a_linear_map_hold_known_rows():
    """The loss of the last round is the pool's mean squared distance from points of clamped labels."""
    model = SemiSupervisedClustering(TOY.semantics).fit(X, Y, known=OTHERS)
    Z = model._space(X[POOL])
    nearest = ((Z[:, None] - model.points_[None]) ** 2).sum(axis=2)
    rows, places = _places(OTHERS)
    labels = nearest.argmin(axis=1)
    labels[rows] = places
    want = nearest[np.arange(len(Z)), labels].mean()
    assert model.history_[-1].loss == pytest.approx(want, rel=1e-6)


def test_the_loss_of_a_round_compares_known_labels_with_the_models_own_embedding():
    g = np.array([[0.9, 0.1], [0.2, 0.8]])
    known = Known(np.array([1]), np.array([0]))
    strategy = BalancedSelection(shares=(1.0,), prior=None)
    rounds = SelfPacedRounds(lambda: (g, np.log(g)), strategy, known=known)
    for _ in rounds:
        pass
    assert rounds.history[0].loss == pytest.approx(((0.1**2 + 0.1**2) + (0.8**2 + 0.8**2)) / 2)


def test_an_uneven_pool_keeps_known_labels():
    toy = make_toy(seen=16, unseen=8, rows=40)
    X, y = toy.transductive()
    names = np.unique(toy.y[toy.unseen])
    absent = np.isin(toy.y[toy.unseen], names[3:])
    rows = np.concatenate([np.ones(len(toy.train), bool), ~absent])
    for kind in (TASTE, SelfPacedPrototypes):
        with pytest.warns(AdaptationWarning, match="look uneven"):
            model = kind(toy.semantics).fit(X[rows], y[rows], known={0: names[7]})
        assert model.transduction_[len(toy.train)] == names[7]


def test_a_strategy_that_drops_known_rows_is_given_them_back():
    selection = Selection(np.array([0, 0, 1, 1]), np.array([2.0, 0.0, 0.0, 0.0]), 0.5)
    clamped = selection.with_known(Known(np.array([0, 1, 2]), np.array([0, 0, 1])))
    assert clamped.codes.tolist() == [0, 0, 1, 1]
    assert clamped.weights.tolist() == [2, 2, 1, 0], "the weight of their class, or 1"
    assert selection.with_known(NOTHING_KNOWN) is selection


@pytest.mark.parametrize("selection", [ThresholdSelection(), "agreement"])
def test_every_round_selects_known_rows(selection):
    if selection == "agreement":  # with a partner that contradicts every known label
        selection = AgreementSelection(ESZSL(TOY.semantics).fit(X, Y).predict_proba(X[POOL]))
    g = ESZSL(TOY.semantics).fit(X, Y).predict_proba(X[POOL])
    rows, places = _places(OTHERS)
    rounds = SelfPacedRounds(lambda: (g, np.log(g)), selection, known=Known(rows, places))
    chosen = list(rounds)
    assert len(chosen) == len(rounds.history) > 1
    for found in chosen:
        np.testing.assert_array_equal(found.codes[rows], places)
        assert (found.weights[rows] > 0).all()


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({120: CLASSES[0]}, "names row 120, but the pool has 120 unlabelled .*Count them from 0"),
        ({-1: CLASSES[0]}, "names row -1"),
        ({1.0: CLASSES[0]}, "names row 1.0"),
        ({True: CLASSES[0]}, "names row True"),
        (
            {3: "class 00"},
            "row 3 the class 'class 00', which is no candidate.*'class 12'.*add the class",
        ),
        ([(3, CLASSES[0])], "must be a mapping from row of the pool to class. Got list"),
    ],
)
def test_bad_rows_and_classes_are_refused(known, message):
    for model in (TASTE(TOY.semantics), FastTraining(TASTE(TOY.semantics))):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, known=known)


def test_nothing_can_be_known_of_an_empty_pool():
    with pytest.raises(ValueError, match="pool has 0 unlabelled"):
        TASTE(TOY.semantics).fit(TOY.X[TOY.train], TOY.y[TOY.train], known={0: CLASSES[0]})


@pytest.mark.parametrize("model", REFUSERS, ids=name_of)
def test_methods_that_cannot_learn_from_known_rows_say_so(model):
    model = clone(model).set_params(semantics=TOY.semantics)
    message = rf"{type(model).__name__} cannot learn from known rows.*select\(takes_known=True\) lists"
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, known={0: CLASSES[0]})
    model.fit(X, Y, known={}, observer=lambda *_: None)


def test_the_methods_that_refuse_are_known():
    assert {type(m) for m in REFUSERS} == {UDA, ImportanceWeighting, WDVSc}


def test_rows_in_chunks_are_refused(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = open_rows(tmp_path / "X.npy", cluster=False)
    for model in (
        TASTE(TOY.semantics),
        FastTraining(TASTE(TOY.semantics)),
        SelfPaced(ESZSL(TOY.semantics)),
    ):
        for given in ({"known": {0: CLASSES[0]}}, {"observer": lambda *_: None}):
            with pytest.raises(ValueError, match=r"rows in memory only.*chunks.*Give np.asarray"):
                model.fit(mapped, Y, **given)


@pytest.mark.parametrize("given", [{"known": {0: CLASSES[0]}}, {"observer": lambda *_: None}])
def test_fast_training_of_an_inductive_estimator_refuses_both(given):
    with pytest.raises(ValueError, match=r"ESZSL learns from no pool.*neither 'known' nor 'observer'"):
        FastTraining(ESZSL(TOY.semantics)).fit(X, Y, **given)
