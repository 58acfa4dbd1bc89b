"""The estimator contract: what every zero-shot classifier of this library does alike.

A classifier learns from labelled rows of *seen* classes and from ``semantics``, a vector for every
class. It answers among ``candidates``, by default the classes that ``fit`` never saw. Both
parameters may change after ``fit``: only the scores over the classes are computed anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from inspect import isabstract
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from unseen.inputs import (
    UNLABELLED,
    aligned,
    all_finite,
    checked_chunks,
    labelled_rows,
    read_labels,
    weighed_chunks,
)
from unseen.rows.chunks import Chunks, argmax, chunked, mapped, summed
from unseen.rows.labelled import Rows
from unseen.semantics import ClassTable
from unseen.statistics.evaluation import fit_temperature, per_class_accuracy
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, Codes

CALIBRATED = 30
"""Rows a class on which a temperature is fitted where no class could be held out."""


class ZeroShotClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of every classifier. A subclass writes ``_fit`` and ``_scores``.

    Attributes
    ----------
    seen_classes_ : array
        The classes that ``fit`` saw labelled, sorted.
    classes_ : array
        The candidates, in the order of the columns of ``decision_function``. It follows the
        parameters ``semantics`` and ``candidates`` when they change.
    temperature_ : float
        ``predict_proba`` is softmax(scores / temperature_).
    calibration_ : str
        On what the temperature was fitted.
    """

    _write_file: ClassVar[Callable[[Any, str | PathLike[str]], None]]
    """Set by :mod:`unseen.persistence`: estimators know no files."""
    takes_chunks: ClassVar[bool] = False
    """Whether ``fit`` sees rows through passes only, and so takes rows that are not in memory."""
    takes_class_means: ClassVar[bool] = True
    """Whether :class:`~unseen.FastTraining` may give it class means in place of rows."""

    seen_classes_: Array
    n_features_in_: int
    temperature_: float
    calibration_: str

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array | None = "unseen",
    ) -> None:
        self.semantics = semantics
        self.candidates = candidates

    @abstractmethod
    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        """Learn from labelled rows. ``vectors[k]`` describes the class with code k.

        ``held`` are rows of the same classes on which parameters are judged in class-wise folds, when
        those to learn from are too few for that (visual patterns).
        """

    @abstractmethod
    def _scores(self, X: Array, vectors: Array) -> Array:
        """Return one score a row and class, (N, L); ``vectors`` (L, q) describes the classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the labelled rows.

        Parameters
        ----------
        X : array of shape (N, p)
        y : array of N labels
            -1 (integers) or None/NaN (any other) marks an unlabelled row, which is left out.
        sample_weight : array of N numbers, optional
        """
        X, codes, weights = self._read(X, y, sample_weight)
        self._fit(labelled_rows(X, codes, weights), self._seen_vectors())
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the candidates, columns as in ``classes_``.

        With exactly two candidates, as scikit-learn asks, the difference of their scores: positive
        for ``classes_[1]``.
        """
        return _result(mapped(_decision, self._candidate_scores(X)))

    def predict(self, X: Any) -> Any:
        """Return the candidate with the highest score for each row."""
        scores = self._candidate_scores(X)
        return _result(mapped(_best_class, scores, given=(self.classes_,)))

    def predict_proba(self, X: Any) -> Any:
        """Return softmax(scores / temperature_); ``calibration_`` says on what it was fitted."""
        scores = self._candidate_scores(X)
        return _result(mapped(_probabilities, scores, given=(self.temperature_,)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean per-class top-1 accuracy: every class counts alike."""
        chunks = chunked(X)
        if chunks is not None:
            return self._score_chunks(chunks, y, sample_weight)
        predicted = self.predict(X)
        classes, codes = read_labels(y, self._marks_unlabelled())
        check_consistent_length(X, codes)
        labelled = codes != UNLABELLED
        hits = classes[codes[labelled]] == predicted[labelled]
        weights = None if sample_weight is None else np.asarray(sample_weight)[labelled]
        return float(np.nanmean(per_class_accuracy(codes[labelled], hits, len(classes), weights)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, which :func:`unseen.load` reads.

        The file holds numbers and texts, never code. An old file is replaced only when the new one is
        complete. See the guide for what is in it.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.safetensors``.
        """
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
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        chunks = self._training_chunks(X)
        if chunks is not None:
            return self._read_chunks(chunks, y, sample_weight)
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=False)
        if not all_finite(X):
            check_array(X, dtype=None, estimator=self, input_name="X")  # says what is wrong
        classes, codes = read_labels(y, self._marks_unlabelled())
        check_consistent_length(X, codes)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
            used = np.unique(codes[(weights > 0) & (codes != UNLABELLED)])
            recode = np.full(len(classes) + 1, UNLABELLED)
            recode[used] = np.arange(len(used))
            classes, codes = classes[used], recode[codes]
        self._note_classes(classes)
        return X, codes, weights

    def _note_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labelled rows of at least two classes. Got "
                f"{len(classes)} class: {classes.tolist()}. Label rows of another class."
            )
        self.seen_classes_ = classes
        self._table().positions(classes)

    def _training_chunks(self, X: Any) -> Chunks | None:
        """Return rows that are not in memory as chunks, if this estimator can learn from them."""
        chunks = chunked(X)
        if chunks is None or self._takes_chunks():
            return chunks
        if isinstance(X, np.ndarray):  # a memory map is an array to those that need all rows at once
            return None
        raise ValueError(
            f"{type(self).__name__} needs all rows in memory, and X is not: it comes in chunks. Fit "
            f"one of {', '.join(classes_with('takes_chunks'))} (FastTraining around any inductive "
            "estimator), or give np.asarray(X)."
        )

    def _takes_chunks(self) -> bool:
        """Tell whether this estimator, with its parameters, sees rows through passes only."""
        return self.takes_chunks

    def _read_chunks(self, X: Chunks, y: Any, sample_weight: Any) -> tuple[Chunks, Chunks, Any]:
        """Validate training input in chunks: the labels now, the features whenever they are read."""
        X = checked_chunks(X, None, type(self).__name__)
        self.n_features_in_ = X.shape[1]
        classes, codes = read_labels(aligned(X, y, "y"), self._marks_unlabelled())
        weights = None
        if sample_weight is not None:
            weights, codes, classes = weighed_chunks(X, codes, classes, sample_weight)
        self._note_classes(classes)
        return X, codes, weights

    def _parameters(self) -> tuple[object, Any]:
        """Return the semantics and the candidates in force; a meta-estimator may look inside."""
        return self.semantics, self.candidates

    def _marks_unlabelled(self) -> bool:
        """Tell whether -1 marks an unlabelled row; to an ordinary linear classifier it is a class."""
        return self._parameters()[0] is not None

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
        table = self._table()
        semantics, wanted = self._parameters()
        if isinstance(wanted, str):
            if wanted not in ("unseen", "seen", "all"):
                raise ValueError(
                    f"The 'candidates' parameter of {type(self).__name__} must be 'unseen', "
                    f"'seen', 'all' or a list of classes. Got {wanted!r} instead."
                )
            seen = np.isin(table.classes, self.seen_classes_)
            keep = {"unseen": ~seen, "seen": seen, "all": np.ones_like(seen)}[wanted]
            if semantics is None:  # one-hot: there is no unseen class to name
                keep = seen
            rows = np.flatnonzero(keep)
        else:
            rows = table.positions(np.asarray(wanted).tolist())
            if len(set(rows.tolist())) < len(rows):
                raise ValueError("The 'candidates' parameter names a class twice. Name each once.")
        if len(rows) == 0:
            raise ValueError(
                f"There are no candidates: candidates={wanted!r}, and fit saw "
                f"{len(self.seen_classes_)} of the {len(table)} classes of semantics. Add the "
                "unseen classes to semantics, or set candidates='seen' or 'all'."
            )
        return table.classes[rows], table.vectors[rows]

    def _candidate_scores(self, X: Any) -> Any:
        check_is_fitted(self)
        chunks = chunked(X)
        if chunks is not None:
            return self._scores_of_chunks(chunks)
        known: dict[str, Any] = {"dtype": [np.float64, np.float32], "reset": False}
        shown = self._shows_bad_values()
        X = validate_data(self, X, **known, ensure_all_finite=not shown)
        _, vectors = self._resolve()
        self._check_width(vectors)
        scores = self._scores(X, vectors)
        if shown and not np.isfinite(scores).all():
            validate_data(self, X, **known)  # says what is wrong, if it is in X
        return scores

    def _shows_bad_values(self) -> bool:
        """Tell whether NaN or infinity in a row always shows in its scores: X is then read once."""
        return False

    def _scores_of_chunks(self, X: Chunks) -> Chunks:
        X = checked_chunks(X, self.n_features_in_, type(self).__name__)
        _, vectors = self._resolve()
        self._check_width(vectors)
        scores: Chunks = self._rows_scores(X, vectors)
        return scores

    def _rows_scores(self, X: Any, vectors: Array) -> Any:
        """Return ``_scores`` of rows in memory, or in chunks of rows that are not."""
        if not isinstance(X, Chunks):
            return self._scores(X, vectors)
        return X.mapped(_scores_of, given=(bare(self), vectors))

    def _score_chunks(self, X: Chunks, y: Any, sample_weight: Any) -> float:
        """Count what is right in each chunk, where it is."""
        classes, codes = read_labels(aligned(X, y, "y"), self._marks_unlabelled())
        weights = None if sample_weight is None else aligned(X, sample_weight, "sample_weight")
        place = {label: k for k, label in enumerate(classes.tolist())}
        code_of = np.array([place.get(label, UNLABELLED) for label in self.classes_.tolist()])
        best = argmax(self._candidate_scores(X))
        right, all_ = summed(_hits, best, codes, weights, given=(code_of, len(classes)))
        return float((right[all_ > 0] / all_[all_ > 0]).mean())

    def _check_width(self, vectors: Array) -> None:
        width = self._semantic_width()
        if vectors.shape[1] != width:
            raise ValueError(
                f"semantics now has {vectors.shape[1]} columns, but {type(self).__name__} was "
                f"fitted with {width}. Give vectors of the same kind, or fit again."
            )

    @abstractmethod
    def _semantic_width(self) -> int:
        """Return q, the length of the semantic vectors that ``fit`` used."""

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

    def _label_embedding(self, X: Any) -> Any:
        """Return g(x) over the candidates: what Eq. (16) compares with the one-hot prediction.

        Models whose scores are regressed on one-hot labels return their scores; the others return
        their probabilities, which live in the same space.
        """
        return mapped(_probabilities, self._candidate_scores(X), given=(self.temperature_,))

    def _number(self, name: str) -> float | None:
        """Return a parameter that was given by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 <= float(value) < np.inf:
            return float(value)
        self._refuse(name, "'auto' or a number >= 0")

    def _switch(self, name: str) -> bool | None:
        """Return a parameter that is on or off by hand, or None for "auto"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        self._refuse(name, "'auto', True or False")

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        """Say what a parameter must be."""
        raise ValueError(
            f"The '{name}' parameter of {type(self).__name__} must be {wanted}. "
            f"Got {getattr(self, name)!r} instead."
        )

    def _fit_rows(self, rows: Rows, classes: Array, held: Rows | None = None) -> Self:
        """Fit on rows that another estimator has read; ``classes`` are those the codes point at."""
        self.seen_classes_ = classes
        self.n_features_in_ = rows.X.shape[1]
        self._fit(rows, self._seen_vectors(), held)
        return self

    def _chosen(self) -> dict[str, float]:
        """Return the parameters that ``fit`` chose, to be given by hand to another fit."""
        return {}

    def _calibrate(self, rows: Rows, vectors: Array, temperature: float | None = None) -> None:
        """Keep the temperature that folds gave, or fit one on the training rows."""
        if temperature is None:
            X, codes, weights = rows.thinned(CALIBRATED)
            scores = self._scores(X, vectors)
            temperature = fit_temperature(scores, codes, len(vectors), weights)
            self.calibration_ = "training rows among the seen classes: optimistic"
        else:
            self.calibration_ = "class-wise folds: scores of held-out seen classes"
        self.temperature_ = temperature


# Below: what is done to one chunk of rows, wherever it is.


def _result(values: Any) -> Any:
    """Return what a user gets: an array, or a Dask array of a Dask array."""
    return values.result() if isinstance(values, Chunks) else values


def classes_with(attribute: str, base: type | None = None) -> list[str]:
    """Return the names of the library's estimators, of one kind, whose class attribute is true."""
    found: set[str] = set()
    waiting: list[type] = [ZeroShotClassifier if base is None else base]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        own = cls.__module__.startswith("unseen.") and not isabstract(cls)
        if own and getattr(cls, attribute, False) is True:
            found.add(cls.__name__)
    return sorted(found)


def bare(model: Any) -> Any:
    """Return a copy of a fitted model without what it noted of its training rows, to be sent."""
    own = copy(model)
    for name in ("transduction_", "labelled_round_"):
        vars(own).pop(name, None)
    if hasattr(own, "estimator_"):
        own.estimator_ = bare(own.estimator_)
    return own


def _scores_of(X: Array, model: ZeroShotClassifier, vectors: Array) -> Array:
    return model._scores(X, vectors)


def _decision(scores: Array) -> Array:
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def _best_class(scores: Array, classes: Array) -> Array:
    return np.asarray(classes[scores.argmax(axis=1)])


def _probabilities(scores: Array, temperature: float) -> Array:
    return np.asarray(softmax(scores / temperature, axis=1))


def _hits(
    best: Codes, codes: Codes, weights: Array | None, code_of: Array, classes: int
) -> tuple[Array, Array]:
    known = codes != UNLABELLED
    own = codes[known]
    weight = np.ones(len(own)) if weights is None else weights[known]
    right = weight * (code_of[best[known]] == own)
    return np.bincount(own, right, classes), np.bincount(own, weight, classes)
