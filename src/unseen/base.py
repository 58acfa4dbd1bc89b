"""The estimator contract: what every zero-shot classifier of this library does alike.

A classifier learns from labelled rows of *seen* classes and from ``semantics``, a vector for every
class. It answers among ``candidates``, by default the classes that ``fit`` never saw. Both
parameters may change after ``fit``: only the scores over the classes are computed anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from importlib import import_module
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unseen import inputs, refusals
from unseen.array_likes import warn_of_other_order
from unseen.citation import Citation
from unseen.published import PublishedForm
from unseen.rehearsals import RehearsedAnswers
from unseen.rows import kernels
from unseen.rows.labelled import Rows
from unseen.rows.passes import aligned, argmax, in_chunks, mapped, result, summed
from unseen.semantics import ClassTable
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, CandidateClasses

NOTED = ("transduction_", "labelled_round_")
"""What a fitted model notes of its training rows: no worker needs it."""


class ZeroShotClassifier(
    PublishedForm,
    inputs.InputChecks,
    RehearsedAnswers,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base of every classifier. A subclass writes ``_fit``, ``_scores`` and ``_semantic_width``.

    Attributes
    ----------
    seen_classes_ : array
        The classes that ``fit`` saw labelled, sorted.
    classes_ : array
        The candidates, in the order of the columns of ``decision_function``. It follows the
        parameters ``semantics`` and ``candidates`` when they change.
    temperature_ : float
        ``predict_proba`` is ``(1 − name_doubt_)·softmax(scores / temperature_) + name_doubt_/L``.
    calibration_ : str
        On what the temperature was fitted.
    """

    _write_file: ClassVar[Callable[[Any, str | PathLike[str]], None]]
    """Set by :mod:`unseen.persistence`: estimators know no files."""
    citation: ClassVar[Citation | None] = None
    """The paper of the method; a class that has its own is listed by :mod:`unseen.methods`."""
    takes_chunks: ClassVar[bool] = False
    """Whether ``fit`` sees rows through passes only, and so takes rows that are not in memory."""
    takes_class_means: ClassVar[bool] = True
    """Whether :class:`~unseen.FastTraining` may give it class means in place of rows."""
    needs_labelled_rows: ClassVar[bool] = True
    """Whether ``fit`` needs labelled rows of two classes."""
    learns_from_pool: ClassVar[bool] = False
    """Whether ``fit`` learns from unlabelled rows; -1 in y then always marks one."""

    seen_classes_: Array
    n_features_in_: int
    temperature_: float
    name_doubt_: float = 0.0  # how often a whole class bears the wrong name, where rehearsals tell

    def __init__(self, semantics: object = None, candidates: CandidateClasses = "unseen") -> None:
        self.semantics = semantics
        self.candidates = candidates

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        """Learn from labelled rows. ``vectors[k]`` describes the class with code k.

        ``held`` are rows of the same classes on which parameters are judged in class-wise folds, when
        those to learn from are too few for that (visual patterns). Returns the temperature that
        class-wise folds gave, None if there were none.
        """
        raise NotImplementedError

    @abstractmethod
    def _scores(self, X: Array, vectors: Array) -> Array:
        """Return one score a row and class, (N, L); ``vectors`` (L, q) describes the classes."""

    @abstractmethod
    def _semantic_width(self) -> int:
        """Return q, the length of the semantic vectors that ``fit`` used."""

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn from the labelled rows.

        Parameters
        ----------
        X : array of shape (N, p)
        y : array of N labels
            -1 (integers) or None/NaN (any other) marks an unlabelled row, which is left out.
        sample_weight : array of N numbers, optional
        """
        with inputs.whole_fit(self, X):
            rows = inputs.labelled_rows(*self._read(X, y, sample_weight))
            self._learn(rows)
            self._rehearse(rows)
        return self

    def decision_function(self, X: object) -> Any:
        """Return the scores of the candidates, columns as in ``classes_``.

        With exactly two candidates, as scikit-learn asks, the difference of their scores: positive
        for ``classes_[1]``.
        """
        return result(mapped(kernels.decision, self._candidate_scores(X)))

    def predict(self, X: object) -> Any:
        """Return the candidate with the highest score for each row."""
        scores = self._candidate_scores(X)
        return result(mapped(kernels.best_class, scores, given=(self.classes_,)))

    def predict_proba(self, X: object) -> Any:
        """Return probabilities; ``calibration_`` says on what they were fitted."""
        scores = self._candidate_scores(X)
        return result(mapped(kernels.softmax, scores, given=(self.temperature_, self.name_doubt_)))

    def score(self, X: object, y: Any, sample_weight: Any = None) -> float:
        """Return the mean per-class top-1 accuracy; some class of y must be a candidate."""
        if type(X) is not np.ndarray:
            warn_of_other_order(X, y, stacklevel=3)
        best = argmax(self._candidate_scores(X))
        classes, codes = inputs.read_labels(aligned(best, y, "y"), self._marks_unlabelled())
        weights = None if sample_weight is None else aligned(best, sample_weight, "sample_weight")
        wanted, owner = self._parameters()[1], type(self).__name__
        code_of = refusals.scored_codes(classes, self.classes_, wanted, owner)
        right, total = summed(kernels.hits, best, codes, weights, given=(code_of, len(classes)))
        return float((right[total > 0] / total[total > 0]).mean())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`unseen.load` reads.

        The file holds numbers and texts, never code. An old file is replaced only when the new one is
        complete. See the guide for what is in it.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.safetensors``.
        """
        if not hasattr(ZeroShotClassifier, "_write_file"):
            import_module("unseen.persistence")  # sets it: estimators themselves know no files
        type(self)._write_file(self, path)

    @property
    def classes_(self) -> Array:
        """The candidates, in the order of the columns of ``decision_function``."""
        if not hasattr(self, "seen_classes_"):
            raise AttributeError(f"{type(self).__name__} has no 'classes_' before fit.")
        return self._resolve()[0]

    # Below: what subclasses and meta-estimators use.

    def _read(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
        """Validate training input, note the seen classes; codes are -1 for unlabelled rows."""
        owner = type(self).__name__
        marks = self._marks_unlabelled(), self._takes_chunks()
        (X, codes, weights), classes = inputs.read_training(self, X, y, sample_weight, *marks)
        if self.needs_labelled_rows and len(classes) < 2:
            refusals.refuse_few_classes(classes, X.shape[1], self._parameters()[0], owner)
        self.seen_classes_ = classes if len(classes) else self._table().classes[:0]
        table = self._table()
        if len(classes) and (classes.dtype.kind in "US") != (table.classes.dtype.kind in "US"):
            refusals.refuse_label_type(classes, table.classes)
        if self.needs_labelled_rows:
            inputs.check_differences(X, codes, self._seen_vectors(), owner)
        inputs.check_range(table.vectors, owner, "semantics", table.classes)
        inputs.check_range(X, owner, "X")
        return X, codes, weights

    def _takes_chunks(self) -> bool:
        """Tell whether this estimator, with its parameters, sees rows through passes only."""
        return self.takes_chunks

    def _parameters(self) -> tuple[object, Any]:
        """Return the semantics and the candidates in force; a meta-estimator may look inside."""
        return self.semantics, self.candidates

    def _marks_unlabelled(self) -> bool:
        """Tell whether -1 marks an unlabelled row; to an ordinary linear classifier it is a class."""
        return self.learns_from_pool or self._parameters()[0] is not None

    def _table(self) -> ClassTable:
        semantics, _ = self._parameters()
        if semantics is None:
            return ClassTable.one_hot(self.seen_classes_)
        return ClassTable.of(semantics)

    def _seen_vectors(self) -> Array:
        table = self._table()
        return table.vectors[table.positions(self.seen_classes_)]

    def _resolve(self) -> tuple[Array, Array]:
        """Return the candidate classes and their vectors."""
        semantics, wanted = self._parameters()
        if semantics is None and isinstance(wanted, str) and wanted in ("unseen", "all"):
            wanted = "seen"  # one-hot: there is no unseen class to name
        return self._table().candidates(wanted, self.seen_classes_, type(self).__name__)

    def _candidate_scores(self, X: object) -> Any:
        """Return the scores of rows in memory, or in chunks of rows that are not."""
        check_is_fitted(self)
        X = inputs.read_rows(self, X, finite=not self._shows_bad_values())
        candidates, vectors = self._resolve()
        inputs.check_scikit_learn_scorer(candidates, self._parameters()[1], type(self).__name__)
        self._check_width(vectors)
        return self._rows_scores(X, vectors)

    def _shows_bad_values(self) -> bool:
        """Tell whether NaN or infinity in a row always shows in its scores: X is then read once."""
        return False

    def _rows_scores(self, X: Any, vectors: Array) -> Any:
        """Return ``_scores`` of rows that have been read; they are finite."""
        if not in_chunks(X):
            return _scores_of(X, self, vectors)
        return mapped(_scores_of, X, given=(bare(self), vectors))

    def _check_width(self, vectors: Array) -> None:
        """Refuse semantics of another width than those that ``fit`` used."""
        if vectors.shape[1] != self._semantic_width():
            refusals.refuse_width(vectors.shape[1], self._semantic_width(), type(self).__name__)

    def _scorer(self, vectors: Array) -> Scorer:
        """Return what ``_scores(X, vectors)`` computes, as a formula that can be written elsewhere.

        A model whose scores have another form leaves this as it is, and is not exported.
        """
        raise NotImplementedError

    def _formula(self, vectors: Array) -> Scorer:
        """Return ``_scorer``, unless a subclass has written ``_scores`` anew and left it behind."""
        for cls in type(self).__mro__:
            if "_scorer" in vars(cls):
                return self._scorer(vectors)
            if "_scores" in vars(cls):
                break
        raise NotImplementedError

    def _label_embedding(self, X: object) -> Any:
        """Return g(x) over the candidates: what Eq. (16) compares with the one-hot prediction.

        Models whose scores are regressed on one-hot labels return their scores; the others return
        their probabilities, which live in the same space.
        """
        return mapped(kernels.softmax, self._candidate_scores(X), given=(self.temperature_,))

    def _learn(self, rows: Rows, held: Rows | None = None) -> Self:
        """Learn from labelled rows of the noted classes, and calibrate."""
        vectors = self._seen_vectors()
        self._calibrate(rows, vectors, self._fit(rows, vectors, held))
        return self

    def _fit_rows(self, rows: Rows, classes: Array, held: Rows | None = None) -> Self:
        """Fit on rows that another estimator has read; ``classes`` are those the codes point at."""
        self.seen_classes_ = classes
        self.n_features_in_ = rows.X.shape[1]
        return self._learn(rows, held)

    def _chosen(self) -> dict[str, float]:
        """Return the parameters that ``fit`` chose, to be given by hand to another fit."""
        return {}


def bare(model: object) -> Any:
    """Return a copy of a fitted model without what it noted of its training rows, to be sent."""
    sent = copy(model)
    for name in NOTED:
        vars(sent).pop(name, None)
    if hasattr(sent, "estimator_"):
        sent.estimator_ = bare(sent.estimator_)
    return sent


def _scores_of(X: Array, model: ZeroShotClassifier, vectors: Array) -> Array:
    scores = model._scores(X, vectors)
    return inputs.finite_scores(scores, X, vectors, type(model).__name__, model.temperature_)
