"""Bad input: a ValueError that says what, where and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from estimators import ESTIMATORS, fitted, name_of
from toys import Toy
from unseen import ASTE, ESZSL, SJE, TASTE, ClassTable, PrototypeRidge, SelfPaced
from unseen.inputs import all_finite

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)


def with_semantics(estimator: Any, toy: Toy) -> Any:
    return clone(estimator).set_params(semantics=toy.semantics)


@every
def test_nan_in_features(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        with_semantics(estimator, toy).fit(X, y)


def test_large_numbers_are_not_taken_for_infinity(toy: Toy) -> None:
    """Their sum is infinite in single precision, they are not."""
    X, y = toy.X.astype(np.float32), toy.y
    X[:, :3] = np.finfo(np.float32).max
    assert not all_finite(X)
    with pytest.raises(ValueError, match=r"X are too large for ESZSL.*3.4e\+38 \(row 0\)"):
        ESZSL(toy.semantics).fit(X, y)


@every
def test_empty_features(estimator: Any, toy: Toy) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        with_semantics(estimator, toy).fit(np.empty((0, 20)), [])


@every
def test_wrong_width_at_predict(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    with pytest.raises(ValueError, match=r"19 features.*expecting 20"):
        model.predict(toy.X[:, :19])


@every
def test_a_label_without_semantics(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    y = y.copy()
    y[0] = "unicorn"
    with pytest.raises(ValueError, match=r"no vector for 1 class.*unicorn.*Add their vectors"):
        with_semantics(estimator, toy).fit(X, y)


@every
def test_one_seen_class(estimator: Any, toy: Toy) -> None:
    with pytest.raises(ValueError, match=r"at least two classes.*Got 1 class"):
        with_semantics(estimator, toy).fit(toy.X[:30], toy.y[:30])


@every
def test_no_candidates(estimator: Any, toy: Toy) -> None:
    seen = {c: toy.semantics[c] for c in np.unique(toy.y[toy.train]).tolist()}
    model = clone(estimator).set_params(semantics=seen)
    with pytest.raises(ValueError, match=r"no candidates.*candidates='seen' or 'all'"):
        model.fit(toy.X[toy.train], toy.y[toy.train]).predict(toy.X[:2])


@every
def test_lengths_differ(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        with_semantics(estimator, toy).fit(X, y[:-1])


def test_semantics_of_the_wrong_type(toy: Toy) -> None:
    with pytest.raises(ValueError, match=r"must be a mapping or a DataFrame.*Got list"):
        ESZSL(semantics=[1, 2]).fit(toy.X, toy.y)


def test_semantics_of_different_widths() -> None:
    with pytest.raises(ValueError, match=r"differ in width: 'a'.*'b'"):
        ClassTable.of({"a": [1, 2], "b": [1, 2, 3]})


def test_duplicate_classes() -> None:
    with pytest.raises(ValueError, match="'a' more than once"):
        ClassTable(["a", "b", "a"], np.eye(3))


def test_nan_in_semantics() -> None:
    with pytest.raises(ValueError, match="NaN or infinity: class b, column 1"):
        ClassTable(["a", "b"], [[1, 2], [3, np.nan]])


def test_minus_one_is_not_a_class() -> None:
    with pytest.raises(ValueError, match="class -1, which marks an unlabelled row"):
        ClassTable([-1, 1], np.eye(2))


def test_duplicate_candidates(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    with pytest.raises(ValueError, match="names a class twice"):
        model.set_params(candidates=["class 13", "class 13"]).predict(toy.X)


def test_unknown_candidate(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    with pytest.raises(ValueError, match=r"no vector.*unicorn"):
        model.set_params(candidates=["unicorn"]).predict(toy.X)
    with pytest.raises(ValueError, match="must be 'unseen', 'seen', 'all' or a list"):
        model.set_params(candidates="some").predict(toy.X)
    with pytest.raises(ValueError, match=r"must be 'unseen', 'seen', 'all' or a list.*Got 1.0"):
        model.set_params(candidates=1.0).predict(toy.X)


def test_semantics_of_another_width_after_fit(toy: Toy) -> None:
    model = ASTE(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    with pytest.raises(ValueError, match=r"now has 3 columns.*fitted with 8"):
        model.set_params(semantics={"a": [1, 2, 3], "b": [3, 2, 1]}).predict(toy.X)


def test_labels_of_mixed_types(toy: Toy) -> None:
    y = toy.y.astype(object)
    y[0] = 7
    with pytest.raises(ValueError, match=r"Unknown label type.*int, str"):
        ESZSL(toy.semantics).fit(toy.X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ASTE(C=-1), "'C' parameter of ASTE must be 'auto' or a number >= 0. Got -1"),
        (ASTE(mu="big"), "'mu' parameter of ASTE"),
        (ASTE(solver="magic"), "'solver' parameter of ASTE must be 'exact' or 'sgd'"),
        (ESZSL(gamma=np.inf), "'gamma' parameter of ESZSL"),
        (PrototypeRidge(lam=-2), "'lam' parameter of PrototypeRidge"),
        (TASTE(shrinkage=2), "'shrinkage' parameter of TASTE"),
        (TASTE(selection="best"), "'selection' parameter of TASTE must be"),
        (SelfPaced(SJE(), selection=3), "'selection' parameter of SelfPaced must be"),
    ],
)
def test_parameters(model: Any, message: str, toy: Toy) -> None:
    with pytest.raises(ValueError, match=message):
        model.set_params(semantics=toy.semantics).fit(*toy.transductive())
