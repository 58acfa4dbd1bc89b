"""SelfPacedPrototypes: the contract of transduction, its guard, and small golden numbers."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from toys import Toy, make_toy
from unseen.datasets import load_letters_to_digits, load_xlsa17
from unseen.exceptions import AdaptationWarning
from unseen.transductive import SelfPacedPrototypes, WithinClassWhitening

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SEMI_SUPERVISED = {
    "check_classifiers_classes": "its labels are -1 and 1, and -1 marks an unlabelled row"
}


@parametrize_with_checks([SelfPacedPrototypes()], expected_failed_checks=lambda _: SEMI_SUPERVISED)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def hard() -> Toy:
    """Thirty seen and eight unseen classes whose prototypes are hard to foretell."""
    rng = np.random.default_rng(1)
    toy = make_toy(seed=1, seen=30, unseen=8, p=24, q=6, rows=25)
    codes = np.unique(toy.y, return_inverse=True)[1]
    bend = 2.0 * rng.standard_normal((codes.max() + 1, toy.X.shape[1]))
    return Toy(toy.X + bend[codes], toy.y, toy.semantics, toy.train, toy.unseen)


def pooled(toy: Toy, rows: Any) -> tuple[Any, Any, Any]:
    """Training rows, then these rows without their labels; and the labels."""
    index = np.concatenate([toy.train, rows])
    labels = toy.y[index].astype(object)
    labels[len(toy.train) :] = None
    return toy.X[index], labels, toy.y[rows]


def per_class(predicted: Any, true: Any) -> float:
    return float(np.mean([np.mean(predicted[true == k] == k) for k in np.unique(true)]))


def start_and_end(toy: Toy, rows: Any, **params: Any) -> tuple[float, float, SelfPacedPrototypes]:
    X, y, true = pooled(toy, rows)
    model = SelfPacedPrototypes(toy.semantics, random_state=0, **params)
    start = SelfPacedPrototypes(toy.semantics, rounds=0, **params).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        model.fit(X, y)
    known = np.isin(true, model.classes_)
    first, last = (m.transduction_[len(toy.train) :][known] for m in (start, model))
    return per_class(first, true[known]), per_class(last, true[known]), model


def test_it_gains_and_its_objective_falls(hard: Toy) -> None:
    start, end, model = start_and_end(hard, hard.unseen)
    assert end > start + 0.05
    values = [model.start_objective_, *(entry.objective for entry in model.history_)]
    assert len(values) > 1
    assert all(b < a for a, b in pairwise(values))
    assert model.adaptation_ == "full"
    assert set(model.diagnostics_) >= {"expected_purity", "coverage", "drift", "evenness"}
    assert not model.alarms_
    assert (model.labelled_round_[: len(hard.train)] == 0).all()


def test_a_user_can_stop_at_a_round(hard: Toy) -> None:
    X, y, _ = pooled(hard, hard.unseen)
    long = SelfPacedPrototypes(hard.semantics, adaptation="full", class_prior=None).fit(X, y)
    short = SelfPacedPrototypes(hard.semantics, adaptation="full", class_prior=None, rounds=2)
    short.fit(X, y)
    assert [r.objective for r in short.history_] == [r.objective for r in long.history_[:2]]


def test_new_rows_are_labelled_as_the_pool_was(hard: Toy) -> None:
    _, _, model = start_and_end(hard, hard.unseen)
    again = model.predict(hard.X[hard.unseen])
    np.testing.assert_array_equal(again, model.transduction_[len(hard.train) :])
    proba = model.predict_proba(hard.X[hard.unseen])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


def test_row_order_and_precision_do_not_matter(hard: Toy) -> None:
    X, y, _ = pooled(hard, hard.unseen)
    order = np.random.default_rng(0).permutation(len(X))
    params: dict[str, Any] = {"adaptation": "full", "class_prior": None}
    plain = SelfPacedPrototypes(hard.semantics, **params).fit(X, y)
    turned = SelfPacedPrototypes(hard.semantics, **params).fit(X[order], y[order])
    np.testing.assert_array_equal(plain.transduction_[order], turned.transduction_)
    single = SelfPacedPrototypes(hard.semantics, **params).fit(X.astype(np.float32), y)
    assert single.means_.dtype == np.float32
    assert (single.transduction_ == plain.transduction_).mean() > 0.99


def test_classes_may_be_named_in_any_order(hard: Toy) -> None:
    X, y, _ = pooled(hard, hard.unseen)
    backwards = dict(reversed(hard.semantics.items()))
    params: dict[str, Any] = {"adaptation": "full", "class_prior": "uniform"}
    a = SelfPacedPrototypes(hard.semantics, **params).fit(X, y)
    b = SelfPacedPrototypes(backwards, **params).fit(X, y)
    assert (a.transduction_ == b.transduction_).mean() > 0.99


@pytest.mark.parametrize("scenario", ["half absent", "50:1", "5 rows", "strangers"])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_never_loses_more_than_a_point(hard: Toy, scenario: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, y = hard.unseen, hard.y[hard.unseen]
    names = rng.permutation(np.unique(y))
    toy = hard
    if scenario == "half absent":
        rows = rows[np.isin(y, names[:4])]
    elif scenario == "strangers":
        seen = np.unique(hard.y[hard.train])
        odd = np.isin(hard.y[hard.train], rng.permutation(seen)[:2])
        rows = np.concatenate([rows, hard.train[odd]])
        known = {k: v for k, v in hard.semantics.items() if k not in hard.y[hard.train[odd]]}
        toy = Toy(hard.X, hard.y, known, hard.train[~odd], hard.unseen)
    else:
        sizes = [5] * 8 if scenario == "5 rows" else [25, 14, 8, 5, 3, 2, 1, 1]
        kept = [rng.permutation(rows[y == k])[:n] for k, n in zip(names, sizes, strict=True)]
        rows = np.concatenate(kept)
    start, end, _ = start_and_end(toy, rows)
    assert end >= start - 0.01


def test_absent_classes_raise_an_alarm(hard: Toy) -> None:
    y = hard.y[hard.unseen]
    X, labels, _ = pooled(hard, hard.unseen[np.isin(y, np.unique(y)[:2])])
    with pytest.warns(AdaptationWarning, match="less even"):
        model = SelfPacedPrototypes(hard.semantics, random_state=0).fit(X, labels)
    assert "uneven" in model.alarms_
    assert model.shares_ is None or model.shares_.min() < 0.05


def test_meaningless_semantics_fall_back_with_an_alarm() -> None:
    """Classes that overlap and semantics that say nothing: adapting could only lose."""
    rng = np.random.default_rng(3)
    vectors = {k: rng.standard_normal(5) for k in range(24)}
    y = np.repeat(np.arange(24), 6)
    X = 0.3 * rng.standard_normal((24, 10))[y] + rng.standard_normal((len(y), 10))
    labels = np.where(y < 18, y, -1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SelfPacedPrototypes(vectors, random_state=0).fit(X, labels)
    assert model.adaptation_ != "full"
    assert bool(model.alarms_) == any(w.category is AdaptationWarning for w in caught)


def test_candidates_and_semantics_may_change_after_fit(hard: Toy) -> None:
    _, _, model = start_and_end(hard, hard.unseen)
    names = model.classes_
    fewer = model.set_params(candidates=names[:3].tolist())
    assert fewer.decision_function(hard.X[:4]).shape == (4, 3)
    model.set_params(candidates="all")
    assert len(model.classes_) == 38
    seen = model.predict(hard.X[hard.train])
    assert per_class(seen, hard.y[hard.train]) > 0.8
    larger = {**hard.semantics, "new": np.full(6, 40.0)}
    model.set_params(semantics=larger, candidates="unseen")
    place = model._model.predictor.prototypes(np.full(6, 40.0))
    np.testing.assert_allclose(model._means_of(np.full((1, 6), 40.0))[0][0], place)


def test_generalised_pool_with_seen_classes(hard: Toy) -> None:
    rng = np.random.default_rng(0)
    held = rng.permutation(hard.train)[:200]
    train = np.setdiff1d(hard.train, held)
    toy = Toy(hard.X, hard.y, hard.semantics, train, hard.unseen)
    rows = np.concatenate([hard.unseen, held])
    start, end, _ = start_and_end(toy, rows, candidates="all")
    assert end >= start - 0.01


def test_abstain_score_ranks_strangers(toy: Toy) -> None:
    odd = toy.y == "class 00"
    known = {k: v for k, v in toy.semantics.items() if k not in toy.y[odd]}
    cut = Toy(toy.X, toy.y, known, toy.train[~odd[toy.train]], toy.unseen)
    _, _, model = start_and_end(cut, np.concatenate([toy.unseen, np.flatnonzero(odd)]))
    strange, fine = model.abstain_score(toy.X[odd]), model.abstain_score(toy.X[toy.unseen])
    assert (strange[:, None] > fine).mean() > 0.8
    model.set_params(candidates="all")
    assert model.abstain_score(toy.X[odd]).shape == (30,)


@pytest.mark.parametrize("prior", ["uniform", "estimated", None, "mapping"])
def test_class_priors(hard: Toy, prior: Any) -> None:
    names = np.unique(hard.y[hard.unseen])
    given = dict.fromkeys(names.tolist(), 2.0) if prior == "mapping" else prior
    start, end, model = start_and_end(hard, hard.unseen, class_prior=given, adaptation="full")
    assert end > start
    assert (model.shares_ is None) == (prior is None)


def test_semantics_none_learns_from_the_pool_too() -> None:
    rng = np.random.default_rng(0)
    means = rng.standard_normal((3, 6)) * 1.5
    true = np.arange(400) % 3
    X = means[true] + rng.standard_normal((400, 6))
    y = np.where(np.arange(400) < 9, true, -1)
    few = SelfPacedPrototypes(rounds=0).fit(X, y).transduction_
    many = SelfPacedPrototypes().fit(X, y).transduction_
    assert (many == true).mean() > (few == true).mean()


@pytest.mark.parametrize("seen", [2, 3, 5, 7])
@pytest.mark.parametrize("pool", [0, 1, 3, 40])
def test_small_problems(seen: int, pool: int) -> None:
    toy = make_toy(seen=seen, unseen=2, p=90, q=4, rows=20)
    X, y, _ = pooled(toy, toy.unseen[np.linspace(0, 39, pool).astype(int)])
    X[:, 3] = 1.0
    X[1] = X[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        model = SelfPacedPrototypes(toy.semantics, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert len(model.transduction_) == len(X)
    one = SelfPacedPrototypes(toy.semantics, candidates=[str(toy.y[-1])]).fit(X, y)
    assert set(one.predict(X)) == {toy.y[-1]}


def test_it_composes(toy: Toy) -> None:
    X, y = toy.transductive()
    true = toy.y[toy.unseen]
    piped = make_pipeline(WithinClassWhitening(), SelfPacedPrototypes(toy.semantics)).fit(X, y)
    assert per_class(piped.predict(toy.X[toy.unseen]), true) > 0.9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_prior": "flat"}, "'class_prior' parameter .* must be 'auto'"),
        ({"class_prior": {"class 12": 1.0}}, "no share for 3 candidate"),
        ({"adaptation": "some"}, "'adaptation' parameter"),
        ({"rounds": -1}, "'rounds' parameter"),
        ({"rehearsals": 1.5}, "'rehearsals' parameter"),
        ({"shrinkage": 2.0}, "'shrinkage' parameter"),
        ({"normalise": "yes"}, "'normalise' parameter"),
    ],
)
def test_messages(toy: Toy, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SelfPacedPrototypes(toy.semantics, **params).fit(*toy.transductive())


def test_letters_to_digits() -> None:
    """Measured: 70.5 at the start, 82.1 at the end."""
    data = load_letters_to_digits()
    X, y = data.transductive()
    model = SelfPacedPrototypes(data.semantics, random_state=0).fit(X, y)
    found = model.transduction_[len(data.train) :]
    assert per_class(found, data.y[data.test_unseen]) > 0.81
    assert model.diagnostics_["shift"] > 2


@pytest.mark.skipif(not (DATA / "xlsa17/CUB").is_dir(), reason=f"{DATA}/xlsa17/CUB is absent")
def test_birds() -> None:
    """Measured: 83.0, the class shares taken to be equal."""
    data = load_xlsa17(DATA / "xlsa17/CUB")
    X, y = data.transductive()
    params: dict[str, Any] = {"adaptation": "full", "class_prior": "uniform"}
    model = SelfPacedPrototypes(data.semantics, **params).fit(X, y)
    assert per_class(model.transduction_[len(data.train) :], data.y[data.test_unseen]) > 0.82
