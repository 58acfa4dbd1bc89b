"""Guards: what users will try gives an answer, or an error that says what to do."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from estimators import ESTIMATORS, fitted, name_of
from toys import Toy
from unseen import (
    ESZSL,
    TASTE,
    CosineZSL,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
    WithinClassWhitening,
    array_likes,
    metrics,
)
from unseen.base import ZeroShotClassifier
from unseen.exceptions import NonFiniteScores
from unseen.model_selection import ClassWiseKFold, ClassWiseSearch, among_held_out
from unseen.serving.keeper import Keeper

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)


def inductive(toy: Toy) -> tuple[Any, Any]:
    return toy.X[toy.train], toy.y[toy.train]


def is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


# Labels that are no candidates.


@every
def test_score_refuses_labels_of_which_none_is_a_candidate(estimator: Any, toy: Toy) -> None:
    model = fitted(estimator, toy)
    message = r"None of the 12 class\(es\) of y is a candidate.*'class 00'.*answers among 'class 12'"
    with pytest.raises(ValueError, match=message):
        model.score(*inductive(toy))
    assert model.set_params(candidates="seen").score(*inductive(toy)) > 0.1


def test_the_refusal_names_the_remedies(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    with pytest.raises(ValueError, match=r"candidates='seen' or 'all'.*among_held_out.*ClassWiseKFold"):
        model.score(*inductive(toy))


def test_score_warns_of_classes_that_are_no_candidates(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    alone = model.score(toy.X[toy.unseen], toy.y[toy.unseen])
    with pytest.warns(UserWarning, match="12 of the 16 classes of y are no candidates of ESZSL"):
        assert model.score(toy.X, toy.y) == pytest.approx(alone * 4 / 16)


def test_score_without_a_label(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    with pytest.raises(ValueError, match="y holds no label, so there is nothing to score"):
        model.score(toy.X, np.full(len(toy.X), None))


def test_labels_of_another_type_than_the_candidates(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    with pytest.raises(ValueError, match=r"y holds 1, 2, and ESZSL answers among 'class 12'"):
        model.score(toy.X[:4], [1, 2, 1, 2])


def test_cross_val_score_says_why_there_is_no_score(toy: Toy) -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*None of the 12 class.*among_held_out"):
        scores = cross_val_score(ESZSL(toy.semantics, gamma=1.0, lam=1.0), *inductive(toy), cv=folds)
    assert np.isnan(scores).all()
    with pytest.raises(ValueError, match="None of the 12"):
        cross_val_score(ESZSL(toy.semantics), *inductive(toy), cv=folds, error_score="raise")


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "neg_log_loss", "f1_macro"])
def test_scorers_of_scikit_learn_are_refused_too(scoring: str, toy: Toy) -> None:
    model = ESZSL(toy.semantics, gamma=1.0, lam=1.0)
    X, y = inductive(toy)
    with pytest.raises(
        ValueError, match=r"None of the 12 class\(es\) of y is a candidate.*among_held_out"
    ):
        cross_val_score(model, X, y, scoring=scoring, cv=KFold(2, shuffle=True), error_score="raise")
    with pytest.warns(UserWarning, match="None of the 12"):
        scores = cross_val_score(
            model, X, y, scoring=scoring, cv=KFold(2, shuffle=True, random_state=0)
        )
    assert np.isnan(scores).all()


def test_scorers_of_scikit_learn_score_candidates(toy: Toy) -> None:
    X, y = inductive(toy)
    for model in (ESZSL(toy.semantics, candidates="all"), ESZSL(toy.semantics, candidates="seen")):
        scores = cross_val_score(
            make_pipeline(StandardScaler(), model),
            *(X, y),
            scoring="accuracy",
            cv=KFold(2, shuffle=True, random_state=0),
        )
        assert (scores > 0.5).all()
    held = among_held_out(ESZSL(toy.semantics, gamma=1.0, lam=1.0), y)
    assert (cross_val_score(held, X, y, scoring="accuracy", cv=ClassWiseKFold(3)) > 0.5).all()


def test_grid_search_says_why_there_is_no_score(toy: Toy) -> None:
    X, y = inductive(toy)
    search = GridSearchCV(ESZSL(toy.semantics, gamma=1.0), {"lam": [0.1, 1.0]}, cv=KFold(2))
    search.set_params(cv=KFold(2, shuffle=True, random_state=0))
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*None of the 12 class.*ClassWiseKFold"):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    search.set_params(estimator=among_held_out(search.estimator, y), cv=ClassWiseKFold(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search.fit(X, y).best_score_ > 0.2


def test_metrics_warn_where_no_prediction_can_be_right() -> None:
    with pytest.warns(UserWarning, match=r"No prediction is a class of y_true.*'cat'.*'fox'"):
        assert metrics.per_class_accuracy(["cat", "dog"], ["fox", "elk"]) == 0
    with pytest.warns(UserWarning, match="candidates"):
        assert metrics.per_image_accuracy(["cat", "dog"], ["fox", "elk"]) == 0


# Answers are finite.


SCALES = [1e200, 1e30, 1e-30, 1e-200]


@every
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("part", ["X", "X in float32", "semantics"])
def test_probabilities_are_finite_or_refused(estimator: Any, part: str, scale: float, toy: Toy) -> None:
    X, y = toy.transductive()
    semantics = toy.semantics
    dtype = np.float32 if part == "X in float32" else np.float64
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == "semantics":
            semantics = {name: v * scale for name, v in semantics.items()}
        else:
            X = (X * scale).astype(dtype)
        model = clone(estimator).set_params(semantics=semantics)
        if not np.isfinite(X).all():
            return
        refused = ""
        try:
            model.fit(X, y)
        except ValueError as error:
            refused = str(error)
        if refused:
            assert "too large" in refused or "too small" in refused or "constant" in refused
            assert not is_fitted(model)
            return
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.decision_function(X)).all()


@every
def test_constant_rows(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    model = clone(estimator).set_params(semantics=toy.semantics)
    for value in (0.0, 1.0):
        with pytest.raises(ValueError, match="X is constant: all 360 labelled rows are the same"):
            model.fit(np.full_like(X, value), y)
    X = X.copy()
    X[: len(toy.train)] = 1
    with pytest.raises(ValueError, match="X is constant: all 360 labelled rows are the same"):
        model.fit(X, y)


@every
def test_a_constant_pool_has_finite_answers(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    X = X.copy()
    X[len(toy.train) :] = 1
    model = clone(estimator).set_params(semantics=toy.semantics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(model.fit(X, y).predict_proba(X)).all()


@every
def test_equal_class_vectors(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    for vector, named in ((np.ones(8), "the same vector to all 12"), (np.zeros(8), r"\(zero\) to all")):
        model = clone(estimator).set_params(semantics=dict.fromkeys(toy.semantics, vector))
        with pytest.raises(ValueError, match=f"semantics gives the same vector.*{named[-6:]}"):
            model.fit(X, y)


@every
def test_single_zero_or_repeated_vectors_have_finite_answers(estimator: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    for name, vector in (
        ("class 00", np.zeros(8)),
        ("class 12", np.zeros(8)),
        ("class 12", toy.semantics["class 13"]),
    ):
        model = clone(estimator).set_params(semantics=toy.semantics | {name: vector})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.isfinite(model.fit(X, y).predict_proba(X)).all()


def test_a_message_names_the_row_or_the_class_that_is_too_large(toy: Toy) -> None:
    X, y = inductive(toy)
    X = X.copy()
    X[7] *= 1e200
    with pytest.raises(ValueError, match=r"numbers of X are too large for ESZSL.*\(row 7\).*float64"):
        ESZSL(toy.semantics).fit(X, y)
    semantics = toy.semantics | {"class 03": toy.semantics["class 03"] * 1e200}
    with pytest.raises(ValueError, match=r"numbers of semantics are too large.*\(class class 03\)"):
        ESZSL(semantics).fit(*inductive(toy))


def test_numbers_that_get_out_of_hand_within_a_fit(toy: Toy) -> None:
    X, y = inductive(toy)
    model = PrototypeRidge(toy.semantics)
    with pytest.raises(ValueError, match=r"PrototypeRidge cannot learn from these.*StandardScaler"):
        model.fit(X * 1e100, y)
    assert not is_fitted(model)


def test_rows_without_a_finite_score_are_named(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    model.set_params(semantics={name: v * 1e10 for name, v in toy.semantics.items()})
    X = toy.X.copy()
    X[[3, 5]] *= 1e306
    with pytest.raises(NonFiniteScores, match=r"no finite score for 2 of 480 rows.*row 3") as caught:
        model.predict(X)
    assert caught.value.rows == (3, 5)
    assert pickle.loads(pickle.dumps(caught.value)).rows == (3, 5)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict_proba(X)


def test_a_served_batch_answers_the_rows_that_have_scores(toy: Toy, tmp_path: Path) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    model.set_params(semantics={name: v * 1e10 for name, v in toy.semantics.items()})
    model.save(tmp_path / "model.safetensors")
    X = toy.X[:6].copy()
    X[3] *= 1e306
    probabilities = Keeper(tmp_path / "model.safetensors").score(X).probabilities
    assert np.isnan(probabilities[3]).all()
    fine = [0, 1, 2, 4, 5]
    np.testing.assert_allclose(probabilities[fine], model.predict_proba(X[fine]))


def test_scores_that_overflow_when_divided_by_the_temperature(toy: Toy) -> None:
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    model.temperature_ = 1e-200
    with pytest.raises(NonFiniteScores, match="no finite score for 480 of 480 rows"):
        model.predict_proba(toy.X * 1e120)


# A fit is whole, or there is none.


@every
def test_an_interrupted_fit_leaves_an_unfitted_estimator(
    estimator: Any, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Any) -> Any:
        raise KeyboardInterrupt

    model = fitted(estimator, toy)
    before = model.get_params()
    with monkeypatch.context() as patch:
        patch.setattr(ZeroShotClassifier, "_seen_vectors", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(*toy.transductive())
    assert not is_fitted(model)
    assert not [name for name in vars(model) if name.endswith("_")]
    assert model.get_params().keys() == before.keys()
    with pytest.raises(NotFittedError):
        model.predict(toy.X)
    assert is_fitted(model.fit(*toy.transductive()))


@pytest.mark.parametrize("estimator", [TASTE(), SelfPacedPrototypes(), SelfPaced(ESZSL())], ids=name_of)
def test_an_observer_that_fails_half_way(estimator: Any, toy: Toy) -> None:
    def fail(number: int, probabilities: Any) -> None:
        if number == 1:
            raise RuntimeError("the window was closed")

    model = clone(estimator).set_params(semantics=toy.semantics).fit(*toy.transductive())
    with pytest.raises(RuntimeError, match="window was closed"):
        model.fit(*toy.transductive(), observer=fail)
    assert not is_fitted(model)


def test_refused_input_leaves_an_unfitted_estimator(toy: Toy) -> None:
    X, y = inductive(toy)
    model = ESZSL(toy.semantics).fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.full((len(X), 3), np.nan), y)
    assert not is_fitted(model)
    whitening = WithinClassWhitening().fit(X, y)
    with pytest.raises(ValueError, match="no labelled row"):
        whitening.fit(X[:, :3], np.full(len(y), None))
    assert not is_fitted(whitening)
    search = ClassWiseSearch(ESZSL(toy.semantics), {"lam": [1.0]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent"):
        search.fit(X[:5], y)
    assert not is_fitted(search)
    cosine = CosineZSL(toy.semantics).fit(toy.X[:, :8])
    with pytest.raises(ValueError, match="'semantics' is None"):
        cosine.set_params(semantics=None).fit(toy.X[:, :8])
    assert not is_fitted(cosine)


def test_settings_of_scikit_learn_outlive_a_failure(toy: Toy) -> None:
    model = ESZSL(toy.semantics)
    model._metadata_request = "set by set_fit_request"
    model.note = "a user's own attribute"
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(np.empty((0, 3)), [])
    assert model._metadata_request == "set by set_fit_request"
    assert model.note == "a user's own attribute"


# Labels in other forms.


def test_a_list_of_labels_is_not_changed_into_texts(toy: Toy) -> None:
    X, y = inductive(toy)
    with pytest.raises(ValueError, match=r"Unknown label type.*Got int, str\. Write all labels in one"):
        ESZSL(toy.semantics).fit(X, [7, *y[1:].tolist()])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
def test_missing_labels_in_a_list(missing: Any, toy: Toy) -> None:
    X, y = toy.transductive()
    labels = [missing if label is None else label for label in y.tolist()]
    want = TASTE(toy.semantics).fit(X, y).transduction_
    np.testing.assert_array_equal(TASTE(toy.semantics).fit(X, labels).transduction_, want)
    series = pd.Series(labels, dtype="string")
    np.testing.assert_array_equal(TASTE(toy.semantics).fit(X, series).transduction_, want)


def test_labels_in_forms_of_their_own(toy: Toy) -> None:
    X, y = inductive(toy)
    want = ESZSL(toy.semantics).fit(X, y).predict(toy.X)
    for labels in (y.tolist(), tuple(y.tolist()), pd.Series(y), pd.Series(y, dtype="category")):
        np.testing.assert_array_equal(ESZSL(toy.semantics).fit(X, labels).predict(toy.X), want)
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = ESZSL(toy.semantics).fit(X, y[:, None])
    np.testing.assert_array_equal(model.predict(toy.X), want)


def test_one_hot_labels(toy: Toy) -> None:
    X, y = inductive(toy)
    with pytest.raises(ValueError, match=r"shape \(360, 12\) instead.*names\[y.argmax\(axis=1\)\]"):
        ESZSL(toy.semantics).fit(X, (y[:, None] == np.unique(y)).astype(int))


def test_integer_labels_and_classes_named_by_strings(toy: Toy) -> None:
    X, y = inductive(toy)
    _, codes = np.unique(y, return_inverse=True)
    message = (
        r"y holds integers \(0, 1, 2, …\), but the classes of semantics are strings.*alike in both"
    )
    with pytest.raises(ValueError, match=message):
        ESZSL(toy.semantics).fit(X, codes)


def test_a_series_in_another_order_than_the_frame(toy: Toy) -> None:
    X, y = inductive(toy)
    frame, labels = pd.DataFrame(X), pd.Series(y)
    frame.columns = [f"f{k}" for k in range(X.shape[1])]
    shuffled = labels.sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match=r"same index in different orders.*give y.loc\[X.index\]"):
        ESZSL(toy.semantics, gamma=1.0, lam=1.0).fit(frame, shuffled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ESZSL(toy.semantics, candidates="seen").fit(frame, shuffled.loc[frame.index])
        want = ESZSL(toy.semantics, candidates="seen").fit(X, y)
    np.testing.assert_array_equal(model.predict(frame), want.predict(X))
    with pytest.warns(UserWarning, match="same index in different orders"):
        model.score(frame, shuffled)


# Features in other forms.


def test_a_frame_with_a_class_column(toy: Toy) -> None:
    X, y = inductive(toy)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]).assign(**{"class": y})
    message = r"1 column\(s\) that hold no numbers: 'class'.*X.drop\(columns=\['class'\]\).*belong in y"
    with pytest.raises(ValueError, match=message):
        ESZSL(toy.semantics).fit(frame, y)
    features = frame.drop(columns=["class"])
    model = ESZSL(toy.semantics).fit(features, frame["class"])
    np.testing.assert_array_equal(model.predict(features), ESZSL(toy.semantics).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="'class'"):
        model.predict(frame)
    ESZSL(toy.semantics).fit(features.astype(object), y)


@pytest.mark.parametrize("named", [True, False])
def test_a_frame_with_a_column_of_class_codes(named: bool, toy: Toy) -> None:
    X, y = inductive(toy)
    classes, codes = np.unique(y, return_inverse=True)
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]).assign(label=codes)
    by_code = {k: toy.semantics[name] for k, name in enumerate(classes.tolist())} | {99: np.ones(8)}
    model = ESZSL(toy.semantics if named else by_code, gamma=1.0, lam=1.0)
    with pytest.warns(UserWarning, match=r"column 'label' of X is the same as y.*X.drop"):
        model.fit(frame, y if named else codes)


def test_texts_in_place_of_vectors(toy: Toy) -> None:
    texts = [f"text {k}" for k in range(len(toy.y))]
    for X in (texts, np.array(texts), pd.Series(texts)):
        with pytest.raises(
            ValueError, match=r"X holds texts, and ESZSL needs numbers.*TfidfVectorizer"
        ):
            ESZSL(toy.semantics).fit(X, toy.y)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows(form: Any, toy: Toy) -> None:
    X, y = inductive(toy)
    X = np.where(X > 0, X, 0)
    with pytest.warns(
        UserWarning, match=r"sparse .* of 360 × 20; ESZSL makes it a dense array of 0.1 MB"
    ):
        model = ESZSL(toy.semantics).fit(form(X), y)
    want = ESZSL(toy.semantics).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(form(toy.X)), want.predict_proba(toy.X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (
            ESZSL(toy.semantics)
            .fit(form(X.astype(np.float32)), y)
            .decision_function(form(X.astype(np.float32)))
            .dtype
            == np.float32
        )
        bad = form(X)
        bad.data[0] = np.nan
        with pytest.raises(ValueError, match="contains NaN"):
            ESZSL(toy.semantics).fit(bad, y)


def test_sparse_rows_that_are_too_many(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.csr_array((np.ones(3), ([0, 7, 4999], [0, 5, 99_999])), shape=(5000, 100_000))
    message = r"sparse csr_array of 5,000 × 100,000.*would take 4.0 GB.*TruncatedSVD"
    with pytest.raises(ValueError, match=message):
        ESZSL(toy.semantics).fit(X, np.resize(toy.y, 5000))
    model = ESZSL(toy.semantics).fit(*inductive(toy))
    monkeypatch.setattr(array_likes, "MOST_DENSE_BYTES", 100)
    with pytest.raises(ValueError, match="give predict fewer rows at a time"):
        model.predict(sparse.csr_array(toy.X))
