"""Seen and unseen classes together, by one offset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import unseen
from toys import Toy, make_toy
from unseen import ESZSL, CalibratedStacking
from unseen.metrics import seen_unseen_harmonic


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seed=2, seen=18, unseen=6)


def harmonic(model, toy: Toy, test) -> float:
    return seen_unseen_harmonic(toy.y[test], model.predict(toy.X[test]), model.seen_classes_).harmonic


def test_the_offset_helps_unseen_classes(toy: Toy, tmp_path: Path) -> None:
    spare = toy.train[::5]
    train, test = np.setdiff1d(toy.train, spare), np.concatenate([spare, toy.unseen])
    plain = ESZSL(toy.semantics, candidates="all").fit(toy.X[train], toy.y[train])
    model = CalibratedStacking(ESZSL(toy.semantics)).fit(toy.X[train], toy.y[train])
    assert model.bias_ > 0
    assert harmonic(model, toy, test) >= harmonic(plain, toy, test)
    difference = model.decision_function(toy.X[test]) - plain.decision_function(toy.X[test])
    is_unseen = ~np.isin(model.classes_, model.seen_classes_)
    wanted = np.broadcast_to(np.where(is_unseen, model.bias_, 0), difference.shape)
    np.testing.assert_allclose(difference, wanted, atol=1e-9)
    model.save(tmp_path / "model.safetensors")
    again = unseen.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(toy.X), model.predict(toy.X))


def test_an_offset_by_hand(toy: Toy) -> None:
    X, y = toy.X[toy.train], toy.y[toy.train]
    none = CalibratedStacking(ESZSL(toy.semantics), bias=0.0).fit(X, y)
    plain = ESZSL(toy.semantics, candidates="all").fit(X, y)
    np.testing.assert_array_equal(none.predict(toy.X), plain.predict(toy.X))
    all_unseen = CalibratedStacking(ESZSL(toy.semantics), bias=1e3).fit(X, y).predict(X)
    assert not np.isin(all_unseen, none.seen_classes_).any()


def test_classes_with_few_rows(toy: Toy) -> None:
    """Two rows a class: one is tested on. One row a class: none is left, and the offset is 0."""
    places = np.concatenate([np.flatnonzero(toy.y == c)[:2] for c in np.unique(toy.y[toy.train])])
    two = CalibratedStacking(ESZSL(toy.semantics)).fit(toy.X[places], toy.y[places])
    assert np.isfinite(two.bias_)
    one = CalibratedStacking(ESZSL(toy.semantics)).fit(toy.X[places[::2]], toy.y[places[::2]])
    assert one.bias_ == 0.0


def test_messages(toy: Toy) -> None:
    X, y = toy.X[toy.train], toy.y[toy.train]
    with pytest.raises(ValueError, match=r"'bias' parameter of CalibratedStacking must be 'auto' or a"):
        CalibratedStacking(ESZSL(toy.semantics), bias="no").fit(X, y)
    few = make_toy(seen=4)
    with pytest.raises(ValueError, match=r"holding out seen classes.*at least 6. Got 4"):
        CalibratedStacking(ESZSL(few.semantics)).fit(few.X[few.train], few.y[few.train])
