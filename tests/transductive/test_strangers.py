"""None of these: rows of the pool that belong to no candidate."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from toys import Toy, make_toy
from unseen import ESZSL, TASTE, NoneOfThese, SelfPacedPrototypes, SharedSpacePrototypes
from unseen.datasets import load_letters_to_digits
from unseen.exceptions import AdaptationWarning
from unseen.metrics import per_class_accuracy, stranger_auroc

MODELS = {
    "flagship": lambda semantics, **given: SelfPacedPrototypes(semantics, **given),
    "around TASTE": lambda semantics, **given: NoneOfThese(TASTE(semantics), **given),
    "around ESZSL": lambda semantics, **given: NoneOfThese(ESZSL(semantics), **given),
}
every = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seed=3, seen=18, unseen=6)


def with_strangers(toy: Toy, share: float = 0.25) -> tuple[Any, Any, Any]:
    """Rows of seen classes, without their labels, behind the pool."""
    held = toy.train[::7][: int(share * len(toy.unseen))]
    train = np.setdiff1d(toy.train, held)
    rows = np.concatenate([train, toy.unseen, held])
    labels = toy.y[rows].astype(object)
    labels[len(train) :] = None
    return toy.X[rows], labels, np.arange(len(rows)) >= len(train) + len(toy.unseen)


@every
def test_rows_of_seen_classes_are_strangers(name: str, toy: Toy) -> None:
    X, y, strange = with_strangers(toy)
    pool = np.array([label is None for label in y])
    model = MODELS[name](toy.semantics, strangers=0.2).fit(X, y)
    assert stranger_auroc(strange[pool], model.stranger_proba_[pool]) > 0.95
    assert (model.stranger_proba_[~pool] == 0).all()
    called = model.transduction_ == "unknown"
    assert called[strange].mean() > 0.7
    assert called[pool & ~strange].mean() < 0.1
    np.testing.assert_array_equal(model.predict(X[pool]), model.transduction_[pool])
    np.testing.assert_allclose(model.stranger_proba(X[pool]), model.stranger_proba_[pool])


@every
def test_without_strangers_hardly_any_row_is_called_so(name: str, toy: Toy) -> None:
    model = MODELS[name](toy.semantics, strangers="auto").fit(*toy.transductive())
    assert (model.transduction_ == "unknown").mean() <= 0.01


def test_in_another_domain_auto_calls_none_and_says_so() -> None:
    """Rehearsals on letters cannot tell what a stranger among handwritten digits looks like."""
    data = load_letters_to_digits()
    for model in (
        SelfPacedPrototypes(data.semantics, strangers="auto"),
        NoneOfThese(ESZSL(data.semantics)),
    ):
        with pytest.warns(AdaptationWarning, match=r"another domain .* give their share"):
            model.fit(*data.transductive())
        assert not (model.transduction_ == "unknown").any()
    with warnings.catch_warnings():
        warnings.simplefilter("error", AdaptationWarning)
        model = SelfPacedPrototypes(data.semantics, strangers=0.1).fit(*data.transductive())
    pool = model.transduction_[len(data.train) :]
    assert (pool == "unknown").mean() == pytest.approx(0.1, abs=0.002)


def test_a_label_of_the_users_choice_and_integers(toy: Toy) -> None:
    X, y, strange = with_strangers(toy)
    model = SelfPacedPrototypes(toy.semantics, strangers=0.2, unknown="none of these").fit(X, y)
    assert (model.transduction_[strange] == "none of these").any()
    names = list(toy.semantics)
    codes = np.array([-1 if label is None else names.index(label) for label in y])
    table = {code: toy.semantics[name] for code, name in enumerate(names)}
    answers = SelfPacedPrototypes(table, strangers=0.2).fit(X, codes).transduction_
    assert answers.dtype.kind == "i"
    np.testing.assert_array_equal(answers == -1, model.transduction_ == "none of these")


def test_a_known_row_is_no_stranger(toy: Toy) -> None:
    X, y, strange = with_strangers(toy)
    first = int(np.flatnonzero(strange)[0])
    row = first - int(np.sum([label is not None for label in y]))
    label = toy.y[toy.unseen][0]
    model = SelfPacedPrototypes(toy.semantics, strangers=0.2).fit(X, y, known={row: label})
    assert model.transduction_[first] == label
    assert model.stranger_proba_[first] == 0


def test_strangers_survive_a_model_file(toy: Toy, tmp_path: Path) -> None:
    X, y, _ = with_strangers(toy)
    model = NoneOfThese(ESZSL(toy.semantics), strangers=0.2).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = unseen.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.stranger_proba(X), model.stranger_proba(X))


def test_without_the_parameter_nobody_is_a_stranger(toy: Toy) -> None:
    model = SelfPacedPrototypes(toy.semantics).fit(*toy.transductive())
    assert (model.stranger_proba(toy.X) == 0).all()
    alone = SelfPacedPrototypes(toy.semantics, strangers="auto").fit(toy.X[toy.train], toy.y[toy.train])
    assert (alone.stranger_proba_ == 0).all()


def test_a_class_that_nobody_named_costs_the_others_less() -> None:
    """Equal shares make candidates take its rows; imposed halfway, they leave room for it."""
    toy = make_toy(seed=5, seen=18, unseen=8)
    gone = np.unique(toy.y[toy.unseen])[:2].tolist()
    table = {c: vector for c, vector in toy.semantics.items() if c not in gone}
    X, y = toy.transductive()
    truth, named = toy.y[toy.unseen], ~np.isin(toy.y[toy.unseen], gone)
    models = SelfPacedPrototypes(table), SelfPacedPrototypes(table, strangers="auto")
    right = []
    for model in models:
        answers = model.fit(X, y).decision_function(toy.X[toy.unseen]).argmax(axis=1)
        right.append(per_class_accuracy(truth[named], model.classes_[answers][named]))
        assert model.review_.even > 0.5
        assert model.review_.halfway == (model.strangers is not None)
    assert right[1] > right[0] + 0.05


def test_messages(toy: Toy) -> None:
    with pytest.raises(ValueError, match=r"'strangers' parameter .* must be None, 'auto' or a share"):
        SelfPacedPrototypes(toy.semantics, strangers=2.0).fit(*toy.transductive())
    small = make_toy(seen=8)
    with pytest.raises(ValueError, match=r"at least 10 seen classes.*Got 8.*strangers=None"):
        SelfPacedPrototypes(small.semantics, strangers="auto").fit(*small.transductive())


def test_one_entry_for_every_row(toy: Toy) -> None:
    X, y, _ = with_strangers(toy)
    model = SelfPacedPrototypes(toy.semantics, strangers=0.2).fit(X, y)
    assert len(model.labelled_round_) == len(X)


@pytest.fixture(scope="module")
def texts() -> tuple[Any, Any, Any]:
    """Class vectors, rows near them, and rows that are near none."""
    random = np.random.default_rng(3)
    vectors = random.normal(size=(6, 32))
    truth = random.integers(6, size=240)
    rows = vectors[truth] + 0.6 * random.normal(size=(240, 32))
    away = 1.2 * random.normal(size=(60, 32))
    return dict(zip("abcdef", vectors, strict=True)), np.vstack([rows, away]), truth


def test_strangers_without_one_label(texts: tuple[Any, Any, Any], tmp_path: Path) -> None:
    table, X, truth = texts
    model = SharedSpacePrototypes(table, strangers=0.2, unknown="none").fit(X)
    called = model.transduction_ == "none"
    assert called.sum() == 60
    assert called[240:].mean() > 0.9
    assert model.stranger_proba_.mean() == pytest.approx(0.2, abs=1e-6)
    answers = model.transduction_[:240][~called[:240]]
    assert (answers == np.array(list("abcdef"))[truth[~called[:240]]]).mean() > 0.95
    assert len(model.confidence_) == len(model.start_) == len(model.labelled_round_) == len(X)
    model.save(tmp_path / "model.safetensors")
    again = unseen.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_allclose(again.stranger_proba(X), model.stranger_proba(X))


def test_without_labels_the_share_must_be_given(texts: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 10 classes. Got 0. Give the share.*strangers=0.1"):
        SharedSpacePrototypes(texts[0], strangers="auto").fit(texts[1])
