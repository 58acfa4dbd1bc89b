"""The estimator contract: what all zero-shot classifiers of this library have in common.

A classifier learns from labelled rows of *seen* classes and from ``semantics``, a vector for every
class. It answers among ``candidates``, by default the classes that ``fit`` never saw. Both
parameters may change after ``fit``: only the scores over the classes are computed anew.
"""

from __future__ import annotations

import logging
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from unseen import inputs, refusals
from unseen.advice import Advice
from unseen.array_likes import warn_of_other_order
from unseen.citation import Citation
from unseen.model_export import ExportableModel, bare
from unseen.published import PublishedForm
from unseen.rows import kernels
from unseen.rows.labelled import Rows
from unseen.rows.passes import mapped, result, spread
from unseen.semantics import ClassTable, place_among, read_labels
from unseen.statistics import held_out
from unseen.typing import Array, CandidateClasses, Codes, RowValues
from unseen.unsure_answers import UnsureAnswers

logger = logging.getLogger(__name__)


class ZeroShotClassifier(
    PublishedForm,
    ExportableModel,
    inputs.InputChecks,
    UnsureAnswers,
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

    citation: ClassVar[Citation | None] = None
    """The paper of the method; a class that has its own is listed by :mod:`unseen.methods`."""
    advice: ClassVar[Advice | None] = None
    """What a fit costs, when to take the method and when not."""
    takes_chunks: ClassVar[bool] = False
    """Whether ``fit`` sees rows through passes only, and so takes rows that are not in memory."""
    takes_class_means: ClassVar[bool] = True
    """Whether :class:`~unseen.FastTraining` may give it class means in place of rows."""
    needs_labelled_rows: ClassVar[bool] = True
    """Whether ``fit`` needs labelled rows of two classes."""
    learns_from_pool: ClassVar[bool] = False
    """Whether ``fit`` learns from unlabelled rows; -1 in y then always marks one."""

    _shows_bad_values: ClassVar[bool] = False
    """Whether NaN or infinity in a row always shows in its scores: X is then read once."""
    rehearses_in_directions: ClassVar[bool] = False
    """Whether answers do not depend on coordinates: rehearsals then use principal directions."""
    _calibration_rows: ClassVar[int] = 30  # a class, where a temperature is fitted without folds

    seen_classes_: Array
    n_features_in_: int
    temperature_: float
    calibration_: str
    _calibrates: bool = True  # not in rehearsals and folds: only the order of scores counts there
    name_doubt_: float = 0.0  # how often a whole class has the wrong name, by rehearsals

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
            rows = self._read(X, y, sample_weight).labelled()
            self._learn(rows)
            self._rehearse(rows)
        return self

    def decision_function(self, X: object) -> Any:
        """Return the scores of the candidates as in ``classes_``; of two, the second less the first."""
        return result(mapped(kernels.decision, self._candidate_scores(X)))

    def predict(self, X: object) -> Any:
        """Return the candidate with the highest score for each row."""
        return result(mapped(kernels.best_class, self._candidate_scores(X), given=(self.classes_,)))

    def predict_proba(self, X: object) -> Any:
        """Return probabilities; ``calibration_`` says on what they were fitted."""
        scores, given = self._candidate_scores(X), (self.temperature_, self.name_doubt_)
        return result(mapped(kernels.softmax, scores, given=given))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the mean per-class top-1 accuracy; some class of y must be a candidate."""
        warn_of_other_order(X, y, stacklevel=3)
        scores = self._candidate_scores(X)
        classes, codes = read_labels(inputs.aligned(scores, y, "y"), self._marks_unlabelled())
        weights = inputs.aligned(scores, sample_weight, "sample_weight")
        asked = self._parameters()[1], type(self).__name__
        code_of = refusals.scored_codes(classes, self.classes_, *asked)
        right = mapped(np.equal, mapped(kernels.best_class, scores, given=(code_of,)), codes)
        return float(np.nanmean(Rows(right, codes, weights).labelled().shares_right(len(classes))))

    @property
    def classes_(self) -> Array:
        """The candidates, in the order of the columns of ``decision_function``."""
        if not hasattr(self, "seen_classes_"):
            raise AttributeError(f"{type(self).__name__} has no 'classes_' before fit.")
        return self._resolve()[0]

    def _read(self, X: object, y: object, sample_weight: object = None) -> Rows:
        """Check training input and note the seen classes; codes are -1 for unlabelled rows."""
        owner, needs_labels = type(self).__name__, self.needs_labelled_rows
        marks = self._marks_unlabelled(), self._takes_chunks()
        rows, classes = inputs.read_training(self, X, y, sample_weight, *marks)
        if needs_labels and len(classes) < 2:
            refusals.refuse_few_classes(classes, rows.X.shape[1], self._parameters()[0], owner)
        self.seen_classes_ = classes if len(classes) else self._table().classes[:0]
        inputs.check_label_type(classes, self._table())
        vectors = self._seen_vectors() if needs_labels else None
        inputs.check_training(rows, self._table(), vectors, owner)
        return rows

    def _takes_chunks(self) -> bool:
        """Tell whether this estimator, with its parameters, sees rows through passes only."""
        return self.takes_chunks

    def _parameters(self) -> tuple[object, object]:
        """Return the semantics and the candidates in force; a meta-estimator may look inside."""
        return self.semantics, self.candidates

    def _marks_unlabelled(self) -> bool:
        """Tell whether -1 marks an unlabelled row; for an ordinary linear classifier it is a class."""
        return self.learns_from_pool or self._parameters()[0] is not None

    def _table(self) -> ClassTable:
        semantics = self._parameters()[0]
        return ClassTable.one_hot(self.seen_classes_) if semantics is None else ClassTable.of(semantics)

    def _seen_vectors(self) -> Array:
        table = self._table()
        return table.vectors[table.positions(self.seen_classes_)]

    def _places_among_seen(self, classes: Array) -> Codes:
        """Return the place of each class among the seen ones, -1 for an unseen one."""
        return place_among(classes, self.seen_classes_)

    def _resolve(self) -> tuple[Array, Array]:
        """Return the candidate classes and their vectors."""
        semantics, wanted = self._parameters()
        if semantics is None and isinstance(wanted, str) and wanted in ("unseen", "all"):
            wanted = "seen"  # one-hot: there is no unseen class to name
        return self._table().candidates(wanted, self.seen_classes_, type(self).__name__)

    def _candidate_scores(self, X: object) -> Any:
        """Return the scores of rows in memory, or in chunks of rows that are not."""
        check_is_fitted(self)
        X = inputs.read_rows(self, X, finite=not self._shows_bad_values)
        candidates, vectors = self._resolve()
        inputs.check_scikit_learn_scorer(candidates, self._parameters()[1], type(self).__name__)
        self._check_width(vectors)
        return self._rows_scores(X, vectors)

    def _rows_scores(self, X: Any, vectors: Array) -> Any:
        """Return ``_scores`` of rows that have been read; they are finite."""
        if isinstance(X, np.ndarray):
            return _scores_of(X, self, vectors)
        return mapped(_scores_of, X, given=(bare(self), vectors))

    def _check_width(self, vectors: Array) -> None:
        """Refuse semantics of another width than those that ``fit`` used."""
        if vectors.shape[1] != self._semantic_width():
            refusals.refuse_width(vectors.shape[1], self._semantic_width(), type(self).__name__)

    def _label_embedding(self, X: object) -> Any:
        """Return g(x) of Eq. (16): scores that were regressed on one-hot labels, or probabilities."""
        return mapped(kernels.softmax, self._candidate_scores(X), given=(self.temperature_,))

    def _learn(self, rows: Rows, held: Rows | None = None) -> Self:
        """Learn from labelled rows of the noted classes, and calibrate."""
        vectors = self._seen_vectors()
        temperature = self._fit(rows, vectors, held)
        self._calibrate(rows, vectors, temperature if self._calibrates else temperature or 1.0)
        return self

    def _calibrate(self, rows: Rows, vectors: Array, temperature: float | None = None) -> None:
        """Keep the temperature that folds gave, or fit one on the training rows."""
        self.calibration_ = "class-wise folds: scores of held-out seen classes"
        if temperature is None:
            X, *labels = rows.thinned(self._calibration_rows)
            temperature = held_out.fit_temperature(self._scores(X, vectors), *labels)
            self.calibration_ = "training rows among the seen classes: optimistic"
        self.temperature_ = temperature

    def _rehearse(self, rows: Rows, pool: RowValues | None = None) -> None:
        """Calibrate probabilities and prediction sets in rehearsals, where classes can be held out.

        ``rows`` are the labelled rows, ``pool`` those that the fit learned from without labels.
        """
        self.set_masses_, self.name_doubt_ = None, 0.0
        if not (self._calibrates and self._can_rehearse()):
            return
        try:
            candidates = self._resolve()[1]
        except ValueError:  # no candidate yet: one may be added after the fit
            return
        plan = held_out.plan_rehearsals(
            rows, pool, self._seen_vectors(), len(candidates), self.rehearses_in_directions
        )
        answers = [a for rehearsal in plan.rehearsals if (a := self._answer(rehearsal)) is not None]
        if not answers:
            return
        rehearsed = held_out.Rehearsed.of(answers, plan.as_pool)
        temperature = rehearsed.temperature * spread(self._rows_scores(plan.compared, candidates))
        if 0 < temperature < np.inf:
            self.temperature_, self.name_doubt_ = temperature, rehearsed.doubt
            self.set_masses_, self.calibration_ = rehearsed.masses, rehearsed.note

    def _answer(self, rehearsal: held_out.Rehearsal) -> held_out.Answers | None:
        """Fit a clone without the held-out classes; return its answers on these, None if it fails."""
        held, judged = self.seen_classes_[rehearsal.held], rehearsal.judged
        settings = self._settings_to_rehearse(*rehearsal.shares)
        copy = clone(self).set_params(candidates=held.tolist(), **settings)
        copy._calibrates = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                copy.fit(*rehearsal.training_input(self.seen_classes_))
                scores = np.asarray(copy._candidate_scores(judged.X))
                compared = scores if rehearsal.as_pool else copy._candidate_scores(rehearsal.learned.X)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            logger.debug("a rehearsal of %s was left out: %s", type(self).__name__, error)
            return None
        true = place_among(held, copy.classes_)[judged.codes]
        return held_out.Answers(scores, true, spread(compared))

    def _settings_to_rehearse(self, rows: float, classes: float) -> Mapping[str, object]:
        """Return the parameters of a rehearsal with these shares of the labelled rows and classes."""
        return {}

    def _can_rehearse(self) -> bool:
        """Tell whether classes can be held out: they have semantics, and answers need their labels."""
        return self._rehearses and self._parameters()[0] is not None and self.needs_labelled_rows

    def _fit_rows(self, rows: Rows, classes: Array, held: Rows | None = None) -> Self:
        """Fit on rows that another estimator has read; ``classes`` are those the codes point at."""
        self.seen_classes_, self.n_features_in_ = classes, rows.X.shape[1]
        return self._learn(rows, held)

    def _chosen(self) -> dict[str, float]:
        """Return the parameters that ``fit`` chose, to be given by hand to another fit."""
        return {}


def _scores_of(X: Array, model: ZeroShotClassifier, vectors: Array) -> Array:
    scores = model._scores(X, vectors)
    return inputs.finite_scores(scores, X, vectors, type(model).__name__, model.temperature_)
