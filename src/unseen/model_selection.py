"""Model selection for zero-shot learning: whole classes are held out, as the unseen ones will be.

Folds over rows would test on classes that training saw, which is not the question. Here some seen
classes play the unseen ones. No label of a truly unseen class is needed, and none is ever read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unseen.inputs import whole_fit
from unseen.rows.labelled import class_folds
from unseen.semantics import ClassTable, read_labels
from unseen.typing import UNLABELLED, Array

Rows = npt.NDArray[np.intp]
logger = logging.getLogger(__name__)


class ClassWiseKFold(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn splitter that holds out whole classes.

    Every labelled row is in exactly one test fold. Unlabelled rows (-1 for integers, None or NaN for
    any other label) are in no fold at all, neither to train nor to test.

    Parameters
    ----------
    n_splits : int
        At most half the number of classes: with one held-out class every answer is right.
    random_state : int
        Deals the classes into folds.

    Examples
    --------
    >>> y = ["ant", "ant", "bee", "cat", "cat", "dog", None]
    >>> for train, test in ClassWiseKFold(2).split(None, y):
    ...     print(train, test)
    [2 5] [0 1 3 4]
    [0 1 3 4] [2 5]
    """

    def __init__(self, n_splits: int = 5, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(self, X: object, y: object, groups: object = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows to train on and the rows of the held-out classes, fold by fold."""
        if y is None:
            raise ValueError("ClassWiseKFold deals classes into folds, so it needs y. Got None.")
        classes, codes = read_labels(y)
        wanted = self.n_splits
        if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)) or wanted < 2:
            raise ValueError(
                "The 'n_splits' parameter of ClassWiseKFold must be an integer >= 2. "
                f"Got {wanted!r} instead."
            )
        if len(classes) < 2 * wanted:
            raise ValueError(
                f"ClassWiseKFold(n_splits={wanted}) needs {2 * wanted} classes, two to a fold. y has "
                f"{len(classes)}. Ask for fewer folds, or label rows of more classes."
            )
        for part in class_folds(np.arange(len(classes))[:, None], int(wanted), self.random_state):
            held_out = np.isin(codes, part)
            kept = (codes != UNLABELLED) & ~held_out
            yield np.flatnonzero(kept), np.flatnonzero(held_out)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of folds."""
        return self.n_splits


def among_held_out(estimator: object, y: object) -> Any:
    """Return a clone that answers among held-out classes alone: what a search should score.

    With the semantics of all classes, ``candidates="unseen"`` in a fold means the held-out classes
    *and* the truly unseen ones. The clone knows the vectors of the classes of ``y`` only, so the
    question in a fold is the one of the final test, with no trace of the unseen classes in it.

    Parameters
    ----------
    estimator : estimator, meta-estimator or Pipeline
        Every parameter called ``semantics``, however deep, is cut down to the classes of ``y``;
        every one called ``candidates`` becomes "unseen".
    y : array of N labels

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from unseen import ESZSL
    >>> semantics = {"ant": [0, 1], "bee": [1, 0], "cat": [1, 1], "dog": [2, 1], "elk": [3, 0]}
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]], ["ant", "bee", "cat", "dog"]
    >>> model = among_held_out(ESZSL(semantics, gamma=1.0), y)
    >>> search = GridSearchCV(model, {"lam": [0.1, 1.0]}, cv=ClassWiseKFold(2)).fit(X, y)
    >>> search.best_estimator_.set_params(semantics=semantics).classes_
    array(['elk'], dtype='<U3')
    """
    classes, _ = read_labels(y)
    model = clone(estimator)
    given = {k: v for k, v in model.get_params().items() if v is not None}
    tables = {k: v for k, v in given.items() if k.rsplit("__", 1)[-1] == "semantics"}
    if not tables:
        raise ValueError(
            f"{type(estimator).__name__} has no semantics, so it cannot name a class that it was not "
            "trained on. Give semantics: class -> vector."
        )
    changes: dict[str, object] = {k: ClassTable.of(v).restricted_to(classes) for k, v in tables.items()}
    changes |= {k: "unseen" for k in given if k.rsplit("__", 1)[-1] == "candidates"}
    return model.set_params(**changes)


class ClassWiseSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Try every combination of parameters on class-wise folds, and fit the best on all rows.

    In each fold the labels of some seen classes are hidden and their rows stay in ``X``, unlabelled;
    the score is taken on these rows, among these classes. An inductive estimator leaves the hidden
    rows out; a transductive one may learn from them, as it will from the rows of the unseen classes.
    Unlabelled rows of the caller take no part in the search, only in the last fit.

    Parameters
    ----------
    estimator : estimator of this library, or a Pipeline that ends in one
        It is cloned, never fitted itself.
    param_grid : dict or list of dicts
        As for :class:`sklearn.model_selection.GridSearchCV`.
    cv : int or splitter
        The number of class-wise folds, or a splitter that holds out whole classes.
    scoring : str or callable, optional
        As in scikit-learn; the estimator's own ``score``, per-class top-1, when not given.
    n_jobs : int, optional
        How many fits run at once.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted on all rows with ``best_params_``, with the semantics and candidates as given.
    best_params_ : dict
    best_score_ : float
        Mean over the folds. It was chosen as the largest, so it flatters: it is no test result.
    best_index_ : int
    cv_results_ : dict of arrays
        As scikit-learn's: ``params``, ``mean_test_score``, ``rank_test_score`` and others.

    Examples
    --------
    >>> from unseen import ESZSL
    >>> from unseen.datasets import load_letters_to_digits
    >>> data = load_letters_to_digits()
    >>> grid = {"gamma": [0.1, 10.0], "lam": [0.1, 10.0]}
    >>> search = ClassWiseSearch(ESZSL(data.semantics), grid, cv=3)
    >>> search = search.fit(data.X[data.train], data.y[data.train])
    >>> sorted(search.best_params_)
    ['gamma', 'lam']
    """

    def __init__(
        self,
        estimator: object,
        param_grid: Mapping[str, object] | Sequence[Mapping[str, object]],
        cv: int | ClassWiseKFold = 5,
        scoring: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Search, then fit the best on all rows."""
        with whole_fit(self, X):
            classes, codes = read_labels(y)
            check_consistent_length(X, codes)
            rows = np.flatnonzero(codes != UNLABELLED)
            labelled_rows, labels = _safe_indexing(X, rows), classes[codes[rows]]
            cv = ClassWiseKFold(int(self.cv)) if isinstance(self.cv, (int, np.integer)) else self.cv
            folds = [test for _, test in cv.split(labelled_rows, labels)]
            settings = list(ParameterGrid(self.param_grid))
            # Semantics may be in the grid too, so they are cut down after the parameters are set.
            models = [
                among_held_out(clone(self.estimator).set_params(**clone(s, safe=False)), labels)
                for s in settings
            ]
            tasks = (
                delayed(_trial)(m, labelled_rows, labels, test, self.scoring)
                for m in models
                for test in folds
            )
            scores = np.reshape(Parallel(n_jobs=self.n_jobs)(tasks), (len(settings), len(folds)))
            self.cv_results_ = _results(settings, scores)
            self.best_index_ = int(self.cv_results_["mean_test_score"].argmax())
            self.best_params_ = settings[self.best_index_]
            self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
            logger.info("class-wise search: %s of %s settings", self.best_params_, len(settings))
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            self.best_estimator_ = best.fit(X, y)
        return self

    @property
    def classes_(self) -> Array:
        """The candidates of the best estimator."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.classes_)

    def predict(self, X: object) -> Array:
        """Predict with the best estimator."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: object) -> Array:
        """Return the probabilities of the best estimator."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def decision_function(self, X: object) -> Array:
        """Return the scores of the best estimator."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the best estimator's per-class accuracy, or what ``scoring`` says."""
        check_is_fitted(self)
        extra = {} if sample_weight is None else {"sample_weight": sample_weight}
        scorer = check_scoring(self.best_estimator_, self.scoring)
        return float(scorer(self.best_estimator_, X, y, **extra))


def _trial(model: Any, X: Any, labels: Array, test: Rows, scoring: object) -> float:
    """Hide the labels of the held-out rows, fit, and score these rows."""
    hidden = labels.astype(object)
    hidden[test] = None
    model = clone(model)
    if scoring is None:  # the accuracy of answers, which no calibration changes
        (model[-1] if isinstance(model, Pipeline) else model)._calibrates = False
    model.fit(X, hidden)
    return float(check_scoring(model, scoring)(model, _safe_indexing(X, test), labels[test]))


def _results(settings: list[dict[str, object]], scores: Array) -> dict[str, Any]:
    mean = scores.mean(axis=1)
    return {
        "params": settings,
        **{f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + (mean[None, :] > mean[:, None]).sum(axis=1),
    }
