"""Class-wise folds and the search: whole classes are held out, and no test label is ever read."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from unseen import ASTE, ESZSL, TASTE, ClassTable, FastTraining, SelfPaced
from unseen.model_selection import ClassWiseKFold, ClassWiseSearch, among_held_out

SEEN = [f"seen{i:02}" for i in range(12)]
UNSEEN = ["new0", "new1", "new2"]


@pytest.fixture(scope="module")
def world():
    """Rows, labels and semantics of 12 seen and 3 unseen classes; unseen rows come last."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(15, 6))
    y = np.repeat(SEEN + UNSEEN, 8)
    clean = np.repeat(vectors @ rng.normal(size=(6, 10)), 8, axis=0)
    X = (clean + 0.5 * rng.normal(size=clean.shape)).astype(np.float32)
    return X, y, ClassTable(SEEN + UNSEEN, vectors)


def labels_of(kind):
    if kind == "strings":
        return np.array([*("abcdef" * 3), None, None], dtype=object), [18, 19]
    if kind == "floats":
        return np.array([*np.repeat(np.arange(6.0), 3), np.nan]), [18]
    return np.array([*np.repeat(np.arange(6), 3), -1, -1]), [18, 19]


@pytest.mark.parametrize("kind", ["strings", "integers", "floats"])
@pytest.mark.parametrize("n_splits", [2, 3])
def test_folds_hold_out_whole_classes(kind, n_splits):
    y, unlabelled = labels_of(kind)
    folds = list(ClassWiseKFold(n_splits).split(None, y))
    assert len(folds) == ClassWiseKFold(n_splits).get_n_splits() == n_splits
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested) == list(range(18))
    for train, test in folds:
        assert not set(y[train]) & set(y[test])
        assert len(set(y[test])) >= 2
        assert not set(unlabelled) & (set(train) | set(test))
        assert len(train) + len(test) == 18


def test_folds_are_repeatable_and_follow_the_seed():
    y = np.repeat(np.arange(20), 2)

    def parts(seed):
        return [tuple(test) for _, test in ClassWiseKFold(5, seed).split(None, y)]

    assert parts(1) == parts(1)
    assert parts(1) != parts(2)
    assert clone(ClassWiseKFold(3, 7)).get_params() == {"n_splits": 3, "random_state": 7}


def test_folds_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match=r"needs 6 classes, two to a fold\. y has 5"):
        list(ClassWiseKFold(3).split(None, np.arange(5).repeat(4)))
    with pytest.raises(ValueError, match="'n_splits' parameter of ClassWiseKFold must be"):
        list(ClassWiseKFold(1).split(None, np.arange(5).repeat(4)))
    with pytest.raises(ValueError, match="needs y"):
        list(ClassWiseKFold(2).split(np.eye(3), None))


def test_scikit_learn_takes_the_splitter(world):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    model = ESZSL(semantics, gamma=1.0, lam=1.0)
    harder = cross_val_score(model, X[own], y[own], cv=ClassWiseKFold(4))
    easier = cross_val_score(among_held_out(model, y[own]), X[own], y[own], cv=ClassWiseKFold(4))
    assert (harder <= easier).all()  # the truly unseen classes distract, unless they are cut out
    search = GridSearchCV(among_held_out(model, y[own]), {"lam": [0.1, 1.0]}, cv=ClassWiseKFold(4))
    search.fit(X[own], y[own])
    assert search.best_estimator_.set_params(semantics=semantics).classes_.tolist() == sorted(UNSEEN)


def test_search_agrees_with_grid_search(world):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    grid = {"gamma": [0.01, 1.0, 100.0], "lam": [0.01, 1.0, 100.0]}
    ours = ClassWiseSearch(ESZSL(semantics), grid, cv=4).fit(X[own], y[own])
    theirs = GridSearchCV(among_held_out(ESZSL(semantics), y[own]), grid, cv=ClassWiseKFold(4))
    theirs.fit(X[own], y[own])
    for key in ("mean_test_score", "std_test_score", "rank_test_score", "split0_test_score"):
        np.testing.assert_allclose(ours.cv_results_[key], theirs.cv_results_[key])
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda m: m, "C"),
        (FastTraining, "estimator__C"),
        (SelfPaced, "estimator__C"),
        (lambda m: make_pipeline(Normalizer(), m), "aste__C"),
        (lambda m: FastTraining(SelfPaced(m)), "estimator__estimator__C"),
    ],
)
def test_search_reaches_into_whatever_wraps_the_estimator(world, wrap, name):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    search = ClassWiseSearch(wrap(ASTE(semantics, mu=0.1)), {name: [0.1, 10.0]}, cv=3)
    search.fit(X[own], y[own])
    assert search.classes_.tolist() == sorted(UNSEEN)
    assert search.predict(X[~own]).shape == (24,)
    assert search.predict_proba(X[~own]).shape == search.decision_function(X[~own]).shape == (24, 3)
    assert search.score(X[~own], y[~own]) == search.best_estimator_.score(X[~own], y[~own])


def test_candidates_and_semantics_may_be_anything_the_estimator_takes(world):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    other = ClassTable(semantics.classes, semantics.vectors[:, :2])
    model = ESZSL(semantics, candidates=UNSEEN, gamma=1.0, lam=1.0)
    search = ClassWiseSearch(model, {"semantics": [other, semantics]}, cv=3, n_jobs=2)
    search.fit(X[own], y[own])
    assert search.best_params_["semantics"] is semantics
    assert search.classes_.tolist() == UNSEEN
    assert model.semantics is semantics
    assert not hasattr(model, "seen_classes_")


def test_integer_labels_and_a_pool(world):
    X, y, semantics = world
    numbers = {name: i for i, name in enumerate(semantics)}
    table = ClassTable(np.arange(15), semantics.vectors)
    codes = np.array([numbers[v] if v in SEEN else -1 for v in y])
    search = ClassWiseSearch(TASTE(table, C=1.0), {"mu": [0.1, 1.0]}, cv=3).fit(X, codes)
    assert search.best_estimator_.transduction_.shape == y.shape
    assert set(search.best_estimator_.transduction_[codes == -1]) <= {12, 13, 14}


def test_search_without_semantics_says_so(world):
    X, y, _ = world
    with pytest.raises(ValueError, match="ESZSL has no semantics"):
        ClassWiseSearch(ESZSL(), {"gamma": [1.0]}, cv=3).fit(X, y)


class Poison:
    """A label that may be carried about but not looked at."""

    def _refuse(self, *_):
        raise AssertionError("a test label was read")

    __eq__ = __ne__ = __lt__ = __gt__ = __hash__ = __str__ = __repr__ = __bool__ = _refuse
    __len__ = __iter__ = __float__ = __int__ = __index__ = __array__ = _refuse


class Spy(ESZSL):
    """Keeps what the search shows it: hidden labels, semantics, and what it scores."""

    seen_by_fit: list = []  # noqa: RUF012
    scored: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        if isinstance(self.candidates, str):  # a fit's own rehearsals are not the folds'
            self.seen_by_fit.append((len(X), list(y), list(self._table())))
        return super().fit(X, y, sample_weight)

    def score(self, X, y, sample_weight=None):
        self.scored.append((self.seen_classes_, list(y), self.classes_.tolist()))
        return super().score(X, y, sample_weight)


@pytest.mark.parametrize("model", [ASTE, TASTE])
def test_no_test_label_is_read(world, model):
    X, y, semantics = world
    labels = y.astype(object)
    test = np.flatnonzero(np.isin(y, UNSEEN))
    for row in test:
        labels[row] = Poison()
    with pytest.raises(AssertionError, match="was read"):
        np.unique(labels)  # the poison works
    given = np.full(len(labels), None, dtype=object)
    train = np.setdiff1d(np.arange(len(labels)), test)
    given[train] = labels[train]
    search = ClassWiseSearch(model(semantics, mu=0.1), {"C": [0.1, 10.0]}, cv=3).fit(X, given)
    assert set(search.predict(X[test])) <= set(UNSEEN)


def test_folds_see_neither_held_out_labels_nor_unseen_classes(world):
    X, y, semantics = world
    given = np.where(np.isin(y, SEEN), y, None)
    Spy.seen_by_fit, Spy.scored = [], []
    ClassWiseSearch(Spy(semantics, gamma=1.0), {"lam": [0.1, 1.0]}, cv=3).fit(X, given)
    *folds, last = Spy.seen_by_fit
    assert len(folds) == len(Spy.scored) == 6
    for (rows, labels, table), (trained, held_out, candidates) in zip(folds, Spy.scored, strict=True):
        assert rows == 12 * 8  # no row of an unseen class
        assert set(table) == set(SEEN)  # nor its semantics
        assert labels.count(None) == len(held_out)
        assert set(held_out) == set(candidates) == set(SEEN) - set(trained)
    assert last[0] == len(X)
    assert set(last[2]) == set(SEEN + UNSEEN)


@pytest.mark.parametrize(
    "wrap", [lambda model: model, lambda model: make_pipeline(Normalizer(), model)]
)
def test_folds_are_not_rehearsed(wrap, monkeypatch):
    """Calibration does not change which answers are right; only the last fit, on all rows, has it."""
    rng = np.random.default_rng(0)
    table = ClassTable(np.arange(45), rng.normal(size=(45, 6)))  # so many that a fold could rehearse
    y = np.repeat(np.arange(45), 8)
    X = table.vectors[y] @ rng.normal(size=(6, 10)) + 0.5 * rng.normal(size=(len(y), 10))
    given = np.where(y < 40, y, -1)
    rehearsed = []
    plain = ESZSL._answer
    monkeypatch.setattr(ESZSL, "_answer", lambda *a: rehearsed.append(1) or plain(*a))

    def count(run):
        rehearsed.clear()
        run()
        return len(rehearsed)

    model = wrap(ESZSL(table, lam=1.0))
    name = "gamma" if isinstance(model, ESZSL) else "eszsl__gamma"
    grid = {name: [0.1, 1.0]}
    last = count(lambda: clone(model).set_params(**{name: 1.0}).fit(X, given))
    half = np.where(y % 2, -1, given)
    of_a_fold = count(lambda: clone(model).set_params(**{name: 1.0}).fit(X, half))
    assert last > 0
    assert of_a_fold > 0  # nothing hinders a fold but the search
    assert count(lambda: ClassWiseSearch(model, grid, cv=2).fit(X, given)) == last
    # A score of one's own may look at probabilities: then the folds have them calibrated.
    search = ClassWiseSearch(model, grid, cv=2, scoring="accuracy")
    assert count(lambda: search.fit(X, given)) > last


def test_defaults_of_folds_and_search(world):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    assert ClassWiseKFold().get_params() == {"n_splits": 5, "random_state": 0}
    assert ClassWiseSearch(ESZSL(semantics), {}).get_params(deep=False)["cv"] == 5
    search = ClassWiseSearch(ESZSL(semantics, lam=1.0), {"gamma": [1.0]}, cv=np.int64(3))
    search.fit(X[own], y[own])
    given = ClassWiseSearch(ESZSL(semantics, lam=1.0), {"gamma": [1.0]}, cv=ClassWiseKFold(3, 0))
    given.fit(X[own], y[own])
    assert {k for k in search.cv_results_ if k.startswith("split")} == {
        f"split{f}_test_score" for f in range(3)
    }
    assert search.best_score_ == given.best_score_
    other = ClassWiseSearch(ESZSL(semantics, lam=1.0), {"gamma": [1.0]}, cv=ClassWiseKFold(4, 0))
    assert "split3_test_score" in other.fit(X[own], y[own]).cv_results_


@pytest.mark.parametrize("wanted", [True, 1, 0, -2, 2.0, "2", None])
def test_a_number_of_folds_that_is_none_is_refused(wanted):
    with pytest.raises(ValueError, match=r"must be an integer >= 2\. Got "):
        list(ClassWiseKFold(wanted).split(None, np.arange(8)))


def test_two_classes_to_a_fold_are_enough():
    for wanted in (2, np.int32(2)):
        folds = list(ClassWiseKFold(wanted).split(None, np.arange(4)))
        assert [len(test) for _, test in folds] == [2, 2]


def test_a_clone_among_held_out_classes_knows_them_alone(world):
    _, y, semantics = world
    own = y[np.isin(y, SEEN)]
    model = among_held_out(ESZSL(semantics, candidates=UNSEEN), own)
    assert list(model.semantics) == SEEN
    assert model.candidates == "unseen"
    inner = among_held_out(FastTraining(SelfPaced(ESZSL(semantics, candidates="all"))), own)
    deepest = inner.estimator.estimator
    assert (list(deepest.semantics), deepest.candidates) == (SEEN, "unseen")
    assert inner.semantics is None  # what was not given is not made up


def test_weights_and_scoring_reach_the_score(world):
    X, y, semantics = world
    own = np.isin(y, SEEN)
    noisy = X[~own] + 3 * np.random.default_rng(0).normal(size=X[~own].shape).astype(np.float32)
    search = ClassWiseSearch(ESZSL(semantics, lam=1.0), {"gamma": [1.0]}, cv=3).fit(X[own], y[own])
    right = search.predict(noisy) == y[~own]
    assert 0 < right.sum() < len(right)
    assert search.score(noisy, y[~own], sample_weight=right.astype(float)) == 1
    assert search.score(noisy, y[~own]) < 1

    def count(model, X, y):
        return float(len(y))

    counted = ClassWiseSearch(ESZSL(semantics, lam=1.0), {"gamma": [1.0]}, cv=3, scoring=count)
    assert counted.fit(X[own], y[own]).score(noisy, y[~own]) == len(noisy)
    assert counted.best_score_ == 32  # four classes of eight rows in a fold
