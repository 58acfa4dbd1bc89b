"""Probabilities and prediction sets that rehearsals calibrate."""

from __future__ import annotations

import numpy as np
import pytest

from toys import Toy, make_toy
from unseen import ALE, ESZSL, TASTE, SelfPaced, SelfPacedPrototypes, WDVSc, metrics
from unseen.base import ZeroShotClassifier
from unseen.datasets import load_letters_to_digits
from unseen.rows.labelled import Rows
from unseen.statistics.held_out import Calibration, mass_above, plan_rehearsals, sorted_masses
from unseen.statistics.review_queue import rows_to_review

BUILDERS = [SelfPacedPrototypes, TASTE, WDVSc, ESZSL, ALE, lambda s: SelfPaced(ESZSL(s))]
IDS = ["flagship", "TASTE", "WDVSc", "ESZSL", "ALE", "SelfPaced"]


@pytest.fixture(scope="module")
def hard() -> Toy:
    """Classes that overlap: many answers are wrong."""
    toy = make_toy(seed=5, seen=24, unseen=8, p=10, q=6)
    noise = np.random.default_rng(5).normal(size=toy.X.shape)
    return Toy(toy.X + 2.5 * noise, toy.y, toy.semantics, toy.train, toy.unseen)


@pytest.mark.parametrize("build", BUILDERS, ids=IDS)
def test_confidence_is_near_accuracy_and_sets_cover(build, hard: Toy) -> None:
    model = build(hard.semantics).fit(*hard.transductive())
    assert "rehearsals: held-out seen classes" in model.calibration_
    X, y = hard.X[hard.unseen], hard.y[hard.unseen]
    P = model.predict_proba(X)
    right = model.classes_[P.argmax(axis=1)] == y
    assert right.mean() < 0.9
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.2  # eight classes say no more
    for coverage in (0.5, 0.9):
        sets = model.predict_set(X, coverage)
        assert sets[np.arange(len(P)), P.argmax(axis=1)].all()
        assert metrics.set_coverage(y, sets, model.classes_) >= coverage - 0.15
    assert model.predict_set(X, 0.9).sum() >= model.predict_set(X, 0.5).sum()


def test_sets_hold_the_likeliest_classes(hard: Toy) -> None:
    model = ESZSL(hard.semantics).fit(hard.X[hard.train], hard.y[hard.train])
    P, sets = model.predict_proba(hard.X), model.predict_set(hard.X, 0.8)
    least_inside = np.where(sets, P, np.inf).min(axis=1)
    most_outside = np.where(sets, -np.inf, P).max(axis=1)
    assert (least_inside >= most_outside).all()


def test_conformal_limit_is_the_quantile_of_rehearsals() -> None:
    model = ESZSL()
    model.set_masses_ = np.linspace(0, 0.98, 99)
    assert model._mass_limit(0.9) == pytest.approx(0.89)
    assert model._mass_limit(0.999) == 1.0
    model.set_masses_ = None
    assert model._mass_limit(0.9) == 0.9


def test_mass_above_is_that_of_likelier_classes() -> None:
    scores, codes = np.log([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]), np.array([1, 2])
    plain = Calibration(1.0, 0.0)
    np.testing.assert_allclose(mass_above(scores, codes, plain), [0.5, 0.0], atol=1e-12)
    doubted = Calibration(1.0, 0.4)
    np.testing.assert_allclose(mass_above(scores, codes, doubted), [0.3 + 0.4 / 3, 0.0], atol=1e-12)
    masses = sorted_masses([(scores, codes)], plain)
    np.testing.assert_allclose(masses[[0, -1]], [0.0, 0.5], atol=1e-12)
    assert (np.diff(masses) >= 0).all()


def test_sets_cover_nearly_as_much_in_the_hardest_rehearsal() -> None:
    """One row in six is wrong in one of three rehearsals: one in eighteen of all rows."""
    scores, easy = np.log(np.tile([0.7, 0.2, 0.1], (60, 1))), np.zeros(60, dtype=np.intp)
    hard = np.where(np.arange(60) % 6 == 0, 2, 0)
    plain, model = Calibration(1.0, 0.0), ESZSL()
    model.set_masses_ = sorted_masses([(scores, easy)] * 3, plain)
    assert model._mass_limit(0.9) == pytest.approx(0.0, abs=1e-9)
    model.set_masses_ = sorted_masses([(scores, easy), (scores, hard), (scores, easy)], plain)
    assert model._mass_limit(0.9) == pytest.approx(0.9)
    assert model._mass_limit(0.8) == pytest.approx(0.0, abs=1e-9)


def test_rehearsals_are_fits_without_the_held_out_classes(hard: Toy, monkeypatch) -> None:
    model = ESZSL(hard.semantics).fit(hard.X[hard.train], hard.y[hard.train])
    fitted: list[ZeroShotClassifier] = []
    plain = ESZSL.fit

    def watched(self, *given):
        fitted.append(self)
        return plain(self, *given)

    monkeypatch.setattr(ESZSL, "fit", watched)
    codes = np.searchsorted(model.seen_classes_, hard.y[hard.train])
    model._rehearse(Rows(hard.X[hard.train], codes))
    assert len(fitted) == 5
    assert model.calibration_.startswith("5 rehearsals")
    for rehearsal in fitted:
        assert not set(rehearsal.candidates) & set(rehearsal.seen_classes_.tolist())
        assert not set(rehearsal.candidates) & set(hard.y[hard.unseen].tolist())


@pytest.mark.parametrize(("in_directions", "most"), [(True, 200), (False, 60)])
def test_a_rehearsed_pool_has_as_many_rows_a_class_as_the_pool_within_a_limit(
    in_directions: bool, most: int
) -> None:
    rows = Rows(np.random.default_rng(0).normal(size=(2700, 3)), np.repeat(np.arange(9), 300))
    for pool_rows, wanted in ((120, 40), (2400, most)):
        plan = plan_rehearsals(rows, rows.X[:pool_rows], np.eye(9), 3, in_directions)
        assert {len(rehearsal.judged.X) for rehearsal in plan.rehearsals} == {3 * wanted}


def test_few_classes_are_not_rehearsed() -> None:
    toy = make_toy(seen=5)
    model = ESZSL(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    assert "rehearsals" not in model.calibration_
    assert model.set_masses_ is None
    assert model.predict_set(toy.X[toy.unseen]).any(axis=1).all()


def test_coverage_is_checked(hard: Toy) -> None:
    model = ESZSL(hard.semantics).fit(hard.X[hard.train], hard.y[hard.train])
    with pytest.raises(
        ValueError, match=r"'coverage' of predict_set must be a number between 0 and 1. Got 9"
    ):
        model.predict_set(hard.X, 9)


def test_letters() -> None:
    """A real change of domain: the flagship's and TASTE's confidence is true within six points."""
    data = load_letters_to_digits()
    rows = np.concatenate([data.train, data.test_unseen])
    labels = data.y[rows].astype(object)
    labels[len(data.train) :] = None
    for build in (SelfPacedPrototypes, TASTE):
        model = build(data.semantics).fit(data.X[rows], labels)
        P = model.predict_proba(data.X[data.test_unseen])
        truth = data.y[data.test_unseen]
        assert metrics.expected_calibration_error(truth, P, model.classes_) < 0.06


def test_review_asks_about_uncertain_rows_of_several_confusions() -> None:
    sure = np.tile([0.98, 0.01, 0.01], (50, 1))
    first, second = np.tile([0.5, 0.49, 0.01], (20, 1)), np.tile([0.01, 0.495, 0.495], (10, 1))
    rows = rows_to_review(np.vstack([sure, first, second]), 2)
    assert rows[0] >= 70, "the more uncertain confusion comes first"
    assert 50 <= rows[1] < 70
    assert len(set(rows_to_review(np.vstack([sure, first]), 12).tolist())) == 12
    assert rows_to_review(np.eye(3), 5).tolist() == [0, 1, 2]


def test_reviewed_labels_are_taken_back(hard: Toy) -> None:
    X, y = hard.transductive()
    pool, truth = hard.X[hard.unseen], hard.y[hard.unseen]
    model = SelfPacedPrototypes(hard.semantics).fit(X, y)
    before = (model.transduction_[-len(pool) :] == truth).mean()
    rows = model.review(pool, 12)
    assert model.predict_proba(pool)[rows].max(axis=1).mean() < 0.7
    model.fit(X, y, known={int(row): truth[row] for row in rows})
    after = model.transduction_[-len(pool) :]
    assert (after[rows] == truth[rows]).all()
    assert (after == truth).mean() > before
    with pytest.raises(ValueError, match=r"'n' of review must be an integer >= 1. Got 0"):
        model.review(pool, 0)
