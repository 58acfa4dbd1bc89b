"""TASTE, SelfPaced and their selection strategies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax

from toys import Toy, make_toy
from unseen import (
    ASTE,
    ESZSL,
    SMS,
    TASTE,
    AdaptationWarning,
    FastTraining,
    MaxMarginSSL,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
)
from unseen.rows.labelled import Rows
from unseen.solvers import structural
from unseen.solvers.structural import StructuralSolution
from unseen.statistics.transport import estimate_prior
from unseen.transductive import AgreementSelection, BalancedSelection, ThresholdSelection
from unseen.transductive._structural_problem import StructuralProblem
from unseen.transductive.selection import Selection


def test_threshold_is_equation_16() -> None:
    random = np.random.default_rng(0)
    g = random.normal(size=(40, 5))
    loss = ((np.eye(5)[g.argmax(axis=1)] - g) ** 2).sum(axis=1)
    for share in (0.5, 0.7, 0.9):
        found = ThresholdSelection().select(g, log_softmax(g, axis=1), share)
        np.testing.assert_array_equal(found.weights > 0, loss < share * loss.max())
        np.testing.assert_array_equal(found.codes, g.argmax(axis=1))
        assert found.threshold == pytest.approx(share * loss.max())
    assert len(ThresholdSelection().select(g, g, 1.0).chosen) == 40


def test_balanced_takes_a_share_of_every_class_and_weighs_classes_alike() -> None:
    random = np.random.default_rng(0)
    log_p = log_softmax(random.normal(size=(300, 4)) + np.array([1.5, 0, 0, -0.5]), axis=1)
    found = BalancedSelection(strength=0.0, largest_weight=np.inf).select(log_p, log_p, 0.5)
    counts = np.bincount(found.codes, minlength=4)
    np.testing.assert_array_equal(
        np.bincount(found.codes[found.chosen], minlength=4), np.ceil(0.5 * counts)
    )
    np.testing.assert_allclose(np.bincount(found.codes, found.weights), 300 / 4)
    for k in range(4):  # the most probable ones of each class
        own = np.flatnonzero(found.codes == k)
        taken = found.weights[own] > 0
        assert log_p[own[taken], k].min() >= log_p[own[~taken], k].max()


def test_balanced_caps_the_weight_of_a_row() -> None:
    log_p = log_softmax(np.eye(2)[[0] * 99 + [1]] * 9.0, axis=1)
    found = BalancedSelection(strength=0.0, largest_weight=3.0).select(log_p, log_p, 1.0)
    assert found.weights.max() == 3.0


def test_balanced_follows_a_prior_that_is_known() -> None:
    random = np.random.default_rng(0)
    log_p = log_softmax(random.normal(size=(1000, 3)), axis=1)
    found = BalancedSelection(prior=[0.6, 0.3, 0.1], strength=1.0).select(log_p, log_p, 1.0)
    shares = np.bincount(found.codes, minlength=3) / 1000
    assert shares[0] > shares[1] > shares[2]


def test_estimated_prior_follows_the_sizes_of_the_classes() -> None:
    random = np.random.default_rng(0)
    codes = random.choice(3, p=[0.7, 0.2, 0.1], size=2000)
    log_p = log_softmax(3 * np.eye(3)[codes] + random.normal(size=(2000, 3)), axis=1)
    np.testing.assert_allclose(estimate_prior(log_p, 0.0), [0.7, 0.2, 0.1], atol=0.06)
    found = BalancedSelection(prior="estimated").select(log_p, log_p, 1.0)
    assert (found.codes == codes).mean() > 0.85


def test_margin_ranks_by_the_distance_from_the_runner_up() -> None:
    log_p = np.log(
        np.array([[0.50, 0.49, 0.01], [0.45, 0.30, 0.25], [0.01, 0.98, 0.01], [0.1, 0.1, 0.8]])
    )
    found = BalancedSelection(prior=None, by="margin").select(log_p, log_p, 0.5)
    np.testing.assert_array_equal(found.chosen, [1, 2, 3])
    found = BalancedSelection(prior=None).select(log_p, log_p, 0.5)
    np.testing.assert_array_equal(found.chosen, [0, 2, 3])


def test_agreement_drops_rows_on_which_the_partner_differs(toy: Toy) -> None:
    X, y = toy.transductive()
    pool = X[len(toy.train) :]
    partner = PrototypeRidge(toy.semantics).fit(X, y).predict_proba(pool)
    model = SelfPaced(ESZSL(toy.semantics), selection=AgreementSelection(partner)).fit(X, y)
    trusted = model.labelled_round_[len(toy.train) :] > 0
    assert 0 < trusted.sum() <= len(pool)
    with pytest.raises(ValueError, match="must have shape"):
        SelfPaced(ESZSL(toy.semantics), selection=AgreementSelection(partner[:3])).fit(X, y)


@pytest.mark.parametrize(
    "selection", ["balanced", "margin", "transport", BalancedSelection(prior=None)]
)
def test_every_strategy_teaches_every_kind_of_estimator(selection: object, toy: Toy) -> None:
    X, y = toy.transductive()
    rows = toy.X[toy.unseen], toy.y[toy.unseen]
    for base in (ESZSL(toy.semantics), PrototypeRidge(toy.semantics)):
        assert SelfPaced(base, selection=selection).fit(X, y).score(*rows) > 0.75


def test_prior_of_the_wrong_length() -> None:
    log_p = log_softmax(np.eye(3), axis=1)
    with pytest.raises(ValueError, match="3 positive numbers, one a candidate"):
        BalancedSelection(prior=[0.5, 0.5]).select(log_p, log_p, 1.0)


def test_taste_starts_from_aste() -> None:
    toy = make_toy()
    X, y = toy.transductive()
    taste = TASTE(toy.semantics, C=3.0, mu=0.2, shrinkage=None).fit(X, y)
    aste = ASTE(toy.semantics, C=3.0, mu=0.2).fit(X, y)
    np.testing.assert_allclose(taste.inductive_, aste.compatibility_, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_unlabelled_rows_help(seed: int) -> None:
    toy = make_toy(seed, seen=10, unseen=5, q=9, rows=40)
    X, y = toy.transductive()
    rows = toy.X[toy.unseen], toy.y[toy.unseen]
    for model in (TASTE(toy.semantics), SelfPaced(ESZSL(toy.semantics))):
        assert model.fit(X, y).score(*rows) >= ASTE(toy.semantics).fit(X, y).score(*rows) - 0.01


def test_row_order_does_not_matter(toy: Toy) -> None:
    X, y = toy.transductive()
    order = np.random.default_rng(0).permutation(len(X))
    want = TASTE(toy.semantics).fit(X, y).transduction_[order]
    got = TASTE(toy.semantics).fit(X[order], y[order]).transduction_
    np.testing.assert_array_equal(want, got)


@pytest.mark.parametrize("make", [TASTE, SelfPacedPrototypes])
def test_a_warning_names_the_line_that_called_fit(make: Any) -> None:
    toy = make_toy(seen=16, unseen=8, rows=40)
    X, y = toy.transductive()
    present = np.unique(toy.y[toy.unseen])[:3]
    rows = np.concatenate([np.ones(len(toy.train), bool), np.isin(toy.y[toy.unseen], present)])
    with pytest.warns(AdaptationWarning) as raised:
        make(toy.semantics).fit(X[rows], y[rows])
    named = {warning.filename for warning in raised if warning.category is AdaptationWarning}
    assert named == {__file__}


@pytest.mark.parametrize("make", [TASTE, SMS, MaxMarginSSL, lambda s: SelfPaced(ASTE(s))])
def test_an_uneven_pool_raises_a_warning_and_its_shares_are_learned(make: Any) -> None:
    toy = make_toy(seen=16, unseen=8, rows=40)
    X, y = toy.transductive()
    present = np.unique(toy.y[toy.unseen])[:3]
    rows = np.concatenate([np.ones(len(toy.train), bool), np.isin(toy.y[toy.unseen], present)])
    model = make(toy.semantics)
    name = type(model).__name__
    match = rf"{name}: The pool's classes look uneven .*follow the pool"
    with pytest.warns(AdaptationWarning, match=match):
        model.fit(X[rows], y[rows])
    assert model.review_.even < 0.01
    assert model.review_.evenness < 0.5
    absent = ~np.isin(model.classes_, present)
    assert model.review_.shares[absent].sum() < 0.1
    assert len(model.history_) > 0
    truth = np.concatenate([toy.y[toy.train], toy.y[toy.unseen]])[rows]
    pool = np.arange(rows.sum()) >= len(toy.train)
    assert (model.transduction_ == truth)[pool].mean() > 0.9


def test_the_review_is_of_the_default_selection_alone(toy: Toy) -> None:
    """Whoever names another strategy, gives a prior, or has seen candidates, has decided."""
    X, y = toy.transductive()
    model: Any = TASTE(toy.semantics).fit(X, y)
    assert model.review_.even > 0.9
    for params in (
        {"selection": "threshold"},
        {"selection": "margin"},
        {"selection": BalancedSelection(prior=None)},
        {"candidates": "all"},
    ):
        assert TASTE(toy.semantics, **params).fit(X, y).review_ is None
    few = make_toy(seen=5)
    assert TASTE(few.semantics).fit(*few.transductive()).review_ is None


def test_selection_leans_to_the_shares_of_the_review(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    select = BalancedSelection.select

    def noted(self: BalancedSelection, *given: Any) -> Selection:
        found.append(self.prior)
        return select(self, *given)

    monkeypatch.setattr(BalancedSelection, "select", noted)
    model: Any = TASTE(toy.semantics).fit(*toy.transductive())
    assert len(found) >= len(model.history_) > 0
    for prior in found[: len(model.history_)]:  # rehearsals follow
        np.testing.assert_array_equal(prior, model.review_.shares)


def test_fast_forms_agree_whichever_way_they_are_wrapped(toy: Toy) -> None:
    X, y = toy.transductive()
    inside = SelfPaced(FastTraining(PrototypeRidge(toy.semantics, lam=1.0))).fit(X, y)
    outside = FastTraining(SelfPaced(PrototypeRidge(toy.semantics, lam=1.0))).fit(X, y)
    assert (inside.transduction_ == outside.transduction_).mean() > 0.97


def test_generalised_pool(toy: Toy) -> None:
    """With candidates="all", rows of seen classes may be in the pool too."""
    X, y = toy.transductive()
    y = y.copy()
    y[::3] = None
    model = TASTE(toy.semantics, candidates="all").fit(X, y)
    truth = np.concatenate([toy.y[toy.train], toy.y[toy.unseen]])
    hidden = np.array([v is None for v in y])
    assert (model.transduction_[hidden] == truth[hidden]).mean() > 0.8


@pytest.mark.parametrize("make", [SMS, TASTE])
@pytest.mark.parametrize("value", ["auto", 0.0, 1.5])
def test_a_shrinkage_that_is_no_share_is_refused(make: Any, value: object, toy: Toy) -> None:
    """Once a text was compared with a number, and the message was Python's."""
    model = make(toy.semantics, shrinkage=value, selection=BalancedSelection())
    with pytest.raises(
        ValueError, match=r"shrinkage' parameter of \w+ must be None or a number in \(0, 1\]"
    ):
        model.fit(*toy.transductive())


def test_no_unlabelled_row_is_no_transduction(toy: Toy) -> None:
    model = TASTE(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    assert model.history_ == []
    np.testing.assert_array_equal(model.transduction_, toy.y[toy.train])


def test_rounds_are_exact_once_the_last_share_is_reached(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    solve = StructuralProblem.with_pseudo_labels

    def noted(self: StructuralProblem, rows: Rows, tol: float, last: bool) -> StructuralSolution:
        told.append(last)
        return solve(self, rows, tol, last)

    monkeypatch.setattr(StructuralProblem, "with_pseudo_labels", noted)
    model = TASTE(toy.semantics, selection=BalancedSelection()).fit(*toy.transductive())
    rounds = [round.threshold == 1 for round in model.history_]
    assert told[: len(rounds)] == rounds  # rehearsals follow
    assert told[:4] == [False, False, False, True]


class Nothing:
    """A strategy that trusts no row."""

    shares = (0.5, 1.0)

    def select(self, embedding: Any, log_p: Any, share: float) -> Selection:
        return Selection(embedding.argmax(axis=1), np.zeros(len(embedding)), share)


def test_a_gap_of_a_sample_is_not_given_as_a_certificate(
    toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start may be judged by a sample when rounds follow; here none of them learns anything."""
    monkeypatch.setattr(structural, "FEWEST_SAMPLE_ROWS", 10)
    model = TASTE(toy.semantics, C=1.0, mu=0.1, selection=Nothing(), tol=1.0).fit(*toy.transductive())
    assert [round.selected for round in model.history_][:2] == [0, 0]
    assert np.isnan(model.duality_gap_)
    assert np.isnan(model.relative_gap_)
