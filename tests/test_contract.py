"""The zero-shot contract, over every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from estimators import ESTIMATORS, TRANSDUCTIVE, fitted, name_of
from toys import Toy
from unseen import ClassTable

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
transductive = pytest.mark.parametrize("estimator", TRANSDUCTIVE, ids=name_of)


@every
def test_recognises_classes_that_fit_never_saw(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    assert set(model.classes_) == set(np.unique(toy.y[toy.unseen]))
    # The paper's threshold rule may collapse; it need only stay above chance (1/4).
    floor = 0.3 if getattr(estimator, "selection", "") == "threshold" else 0.75
    # SSE writes a class as a mixture of seen ones; random vectors lie outside of their hull.
    # IAP writes it as a mixture of the attributes of seen ones.
    # SemanticManifold reaches a class through near seen ones alone; random vectors have none near.
    floor = {"SSE": 0.6, "IAP": 0.7, "SemanticManifold": 0.5}.get(name_of(estimator), floor)
    assert model.score(toy.X[toy.unseen], toy.y[toy.unseen]) > floor


@every
def test_candidates_and_semantics_may_change_after_fit(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    unseen = model.classes_
    assert len(model.set_params(candidates="seen").classes_) == 12
    assert len(model.set_params(candidates="all").classes_) == 16
    two = list(unseen[:2])
    model.set_params(candidates=two)
    assert list(model.classes_) == two
    assert model.decision_function(toy.X[:5]).shape == (5,)
    assert model.predict_proba(toy.X[:5]).shape == (5, 2)
    larger = ClassTable.of(toy.semantics).with_classes({"newcomer": np.ones(8)})
    model.set_params(semantics=larger, candidates="unseen")
    assert "newcomer" in model.classes_
    assert model.decision_function(toy.X[:5]).shape == (5, 5)


@every
def test_permuting_the_classes_permutes_the_scores(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    scores, classes = model.decision_function(toy.X), model.classes_
    turned = dict(reversed(list(toy.semantics.items())))
    model.set_params(semantics=turned)
    order = [list(model.classes_).index(c) for c in classes]
    np.testing.assert_allclose(model.decision_function(toy.X)[:, order], scores, rtol=1e-9)


@every
def test_class_order_at_fit_does_not_matter(estimator: Any, toy: Toy) -> None:
    turned = dict(reversed(list(toy.semantics.items())))
    model, other = fitted(estimator, toy), fitted(estimator, toy, semantics=turned)
    rows = toy.X[toy.unseen]
    agreement = (model.predict(rows) == other.predict(rows)).mean()
    assert agreement > 0.98


@every
def test_dtype_and_memory_layout_do_not_matter(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    model = fitted(estimator, toy)
    want = model.predict_proba(toy.X)
    got = clone(model).fit(np.asfortranarray(X), y).predict_proba(toy.X)
    np.testing.assert_allclose(got, want, atol=1e-6)
    single = clone(model).fit(X.astype(np.float32), y)
    narrow = toy.X.astype(np.float32)
    assert single.decision_function(narrow).dtype == np.float32
    np.testing.assert_allclose(single.predict_proba(narrow), want, atol=0.02)


@every
def test_predicting_is_pure(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    X = toy.X.copy()
    first = model.predict_proba(X)
    model.predict(X[:3])
    np.testing.assert_array_equal(model.predict_proba(X), first)
    np.testing.assert_array_equal(X, toy.X)
    np.testing.assert_allclose(model.predict_proba(X[5:9]), first[5:9], atol=1e-9)


@every
def test_threads_change_nothing_beyond_rounding(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)  # with one thread
    with threadpool_limits(1):
        one = model.decision_function(toy.X)
    with threadpool_limits(2):
        two = clone(model).fit(*toy.transductive()).decision_function(toy.X)
    np.testing.assert_allclose(one, two, atol=1e-8 * max(1.0, np.abs(one).max()))


@every
def test_probabilities_are_a_calibrated_softmax(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    P = model.predict_proba(toy.X[toy.unseen])
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    assert model.temperature_ > 0
    assert any(word in model.calibration_ for word in ("rehearsals", "folds", "training rows"))


@every
def test_semantics_as_a_frame(estimator: Any, toy: Toy) -> None:
    frame = pd.DataFrame.from_dict(toy.semantics, orient="index")
    want = fitted(estimator, toy).predict(toy.X)
    np.testing.assert_array_equal(fitted(estimator, toy, semantics=frame).predict(toy.X), want)


@transductive
def test_unlabelled_marks(estimator: Any, toy: Toy) -> None:
    """-1 among integers, None or NaN among anything else."""
    X, y = toy.transductive()
    names = list(toy.semantics)
    integers = np.array([-1 if v is None else names.index(v) for v in y])
    by_code = {k: toy.semantics[name] for k, name in enumerate(names)}
    want = fitted(estimator, toy).transduction_
    model = clone(estimator).set_params(semantics=by_code)
    np.testing.assert_array_equal(np.array(names)[model.fit(X, integers).transduction_], want)
    floats = np.where(integers < 0, np.nan, integers.astype(float))
    np.testing.assert_array_equal(np.array(names)[model.fit(X, floats).transduction_], want)
    numpy_strings = np.array([None if v is None else np.str_(v) for v in y], dtype=object)
    model.set_params(semantics=toy.semantics)
    np.testing.assert_array_equal(model.fit(X, numpy_strings).transduction_, want)
    nan = np.array([np.nan if v is None else v for v in y], dtype=object)
    np.testing.assert_array_equal(
        clone(estimator).set_params(semantics=toy.semantics).fit(X, nan).transduction_, want
    )


@transductive
def test_transduction_and_history(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    X, y = toy.transductive()
    given = np.array([v is not None for v in y])
    np.testing.assert_array_equal(model.transduction_[given], y[given].astype(str))
    np.testing.assert_array_equal(model.transduction_[~given], model.predict(X[~given]))
    assert [r.round for r in model.history_] == list(range(1, len(model.history_) + 1))
    selected = [r.selected for r in model.history_[:4]]
    assert selected == sorted(selected)
    assert selected[-1] == (~given).sum()
    assert all(r.classes_covered == 4 for r in model.history_)
    assert (model.labelled_round_[given] == 0).all()
    assert (model.labelled_round_[~given] >= 1).all()


@every
def test_wrapping_leaves_the_wrapped_estimator_alone(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    inner = getattr(model, "estimator", None)
    assert inner is None or not hasattr(inner, "seen_classes_")
