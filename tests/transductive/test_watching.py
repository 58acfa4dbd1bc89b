"""Rounds that somebody looks at, and what he knows of the pool."""

from __future__ import annotations

import numpy as np
import pytest

from toys import make_toy
from unseen import ASTE, TASTE, FastTraining, SelfPaced, SelfPacedPrototypes
from unseen.transductive.watching import watching

TOY = make_toy()
X, Y = TOY.transductive()
MODELS = {
    "SelfPacedPrototypes": SelfPacedPrototypes(TOY.semantics, adaptation="full"),
    "TASTE": TASTE(TOY.semantics),
    "SelfPaced": SelfPaced(ASTE(TOY.semantics)),
    "FastTraining": FastTraining(TASTE(TOY.semantics)),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_round_is_shown_and_looking_changes_nothing(name):
    seen = []

    def look(number, probabilities):
        seen.append(number)
        assert probabilities.shape == (len(TOY.unseen), 4)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
        probabilities[:] = 0  # it is a copy

    plain = MODELS[name].fit(X, Y).predict_proba(X)
    with watching(look):
        watched = MODELS[name].fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(plain, watched)
    assert seen == list(range(len(seen)))
    assert len(seen) > 1
    MODELS[name].fit(X, Y)
    assert seen == list(range(len(seen))), "outside the block nobody looks"


@pytest.mark.parametrize("name", MODELS)
def test_what_a_person_knows_stands_in_every_round(name):
    rows = np.arange(0, 120, 7)
    known = {int(row): (int(row) // 30 + 1) % 4 for row in rows}  # of other classes than the truth
    shown = []
    with watching(lambda number, P: shown.append(P), known):
        MODELS[name].fit(X, Y)
    for probabilities in shown:
        for row, place in known.items():
            assert probabilities[row, place] == pytest.approx(1)


def test_known_rows_pull_their_class_like_any_row():
    model = SelfPacedPrototypes(TOY.semantics, adaptation="full", rounds=1)
    before = model.fit(X, Y).means_.copy()
    with watching(lambda *_: None, {0: 3}):
        moved = model.fit(X, Y).means_ - before
    sizes = np.linalg.norm(moved, axis=1)
    assert sizes[3] > 0
    assert sizes.max() < np.linalg.norm(before, axis=1).mean() / 4, "one row is one row"
