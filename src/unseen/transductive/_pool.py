"""What transductive classifiers share: labelled rows and an unlabelled pool in one X."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import log_softmax

from unseen.base import ZeroShotClassifier, bare, classes_with
from unseen.exceptions import AdaptationWarning
from unseen.inputs import UNLABELLED, has_label, labelled_rows
from unseen.rows.chunks import Chunks, kept, mapped, marked, summed, taken
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.rows.labelled import Rows
from unseen.statistics.review import Review
from unseen.statistics.sketch import review_pool
from unseen.transductive.rounds import Observer, PoolScores, Round
from unseen.transductive.selection import BalancedSelection, SelectionStrategy, strategy_of
from unseen.typing import Array, Codes

Compress = Callable[[Array, Array, Any], tuple[Array, Codes]]
"""Replaces the rows of classes by fewer, from the sums and weights of the classes and the type of a
row: fast training's class means."""


@dataclass(frozen=True)
class Split:
    """Training input, taken apart."""

    rows: Rows
    """The labelled rows."""
    pool: Any
    """The unlabelled rows."""
    labelled: Any
    """Which rows of X are which."""
    known: Known = NOTHING_KNOWN
    """Rows of the pool whose class a person knows."""
    observer: Observer | None = None
    """Called with the pool's probabilities after every round."""


class TransductiveClassifier(ZeroShotClassifier):
    """A classifier that learns from unlabelled rows too.

    Attributes
    ----------
    transduction_ : array of N labels
        The label of every row of X: as given, as known, or as found.
    history_ : list of Round
        One entry a self-paced round.
    labelled_round_ : array of shape (N,)
        The round that first trusted a row's pseudo-label: 0 for a given or known label, -1 for never.
    """

    takes_known: ClassVar[bool] = False
    """Whether ``fit`` learns from the ``known`` labels of rows of the pool."""
    takes_class_means: ClassVar[bool] = False
    """Whether labelled rows and, in every round, trusted rows can be replaced by class means."""

    transduction_: Any
    review_: Review | None
    history_: list[Round]
    labelled_round_: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        known: Mapping[int, Any] | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array of shape (N, p)
        y : array of N labels
            -1 (integers) or None/NaN (any other) marks an unlabelled row.
        sample_weight : array of N numbers, optional
            Used for labelled rows.
        known : mapping from row of the pool to class, optional
            What a person knows of the pool, the unlabelled rows counted from 0 in the order of X. The
            class is one of ``classes_``. A known row stays in the pool with that label, certain, and
            counts in every round as one row. Given in y as a labelled row instead, it would be all that
            is known of its class, in place of the class's semantics and of the pool.
        observer : callable, optional
            Called with the number of a round, 0 for the start, and a read-only copy of the pool's
            probabilities, (M, L), columns as in ``classes_``. Methods whose rounds have no
            probabilities do not call it, and no method does with an empty pool.
        """
        return self._fit_read(*self._read(X, y, sample_weight), None, known, observer)

    def _marks_unlabelled(self) -> bool:
        return True

    def _fit_read(
        self,
        X: Any,
        codes: Any,
        weights: Any,
        compress: Compress | None,
        known: Mapping[int, Any] | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Learn from rows that have been read; the labelled ones are compressed before all others."""
        if isinstance(X, Chunks) and (known is not None or observer is not None):
            raise ValueError(
                f"{type(self).__name__}.fit takes 'known' and 'observer' with rows in memory only, and "
                "X comes in chunks. Give np.asarray(X), or leave both out."
            )
        labelled = kept(has_label(codes))
        unlabelled = marked(mapped(np.logical_not, labelled))
        pool = taken(X, unlabelled)
        candidates, vectors = self._resolve()
        certain = self._read_known(known, len(pool), candidates)
        split = Split(labelled_rows(X, codes, weights), pool, labelled, certain, observer)
        first_round = self._fit_split(split, candidates, vectors, compress)
        if isinstance(X, Chunks):
            self._note_chunks(X, codes, unlabelled, candidates, vectors, first_round)
        else:
            self._note(split, candidates, vectors, first_round)
        return self

    def _read_known(self, known: Mapping[int, Any] | None, rows: int, candidates: Array) -> Known:
        """Check what is known of the pool; return rows and the places of their classes."""
        if known is not None and not isinstance(known, Mapping):
            raise ValueError(
                f"The 'known' argument of {type(self).__name__}.fit must be a mapping from row of the "
                f"pool to class. Got {type(known).__name__} instead."
            )
        if not known:
            return NOTHING_KNOWN
        if not self.takes_known:
            raise ValueError(
                f"{type(self).__name__} cannot learn from known rows of the pool. Leave 'known' out, "
                f"or fit one of {', '.join(classes_with('takes_known'))}."
            )
        return Known.of(known, rows, candidates)

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        """Learn from labelled rows alone: an empty pool."""
        nothing = np.empty((0, rows.X.shape[1]), dtype=rows.X.dtype)
        split = Split(rows, nothing, None)
        self._fit_split(split, *self._resolve(), None)

    @abstractmethod
    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Array:
        """Learn; set ``history_``; return the round that first trusted each row of the pool."""

    def _strategy(self, split: Split, candidates: Array, vectors: Array) -> SelectionStrategy:
        """Return how pseudo-labels are selected; set ``review_``.

        The default, "balanced", leans to class shares that follow a review of the pool: equal ones
        where it looks even, else those that it shows. Whoever names another strategy, or gives a prior,
        has decided.
        """
        self.review_ = None
        selection = getattr(self, "selection", None)
        strategy = strategy_of(selection, type(self).__name__)
        decided = np.isin(candidates, self.seen_classes_).any() or self._parameters()[0] is None
        if not isinstance(selection, str) or selection != "balanced" or decided:
            return strategy
        self.review_ = review_pool(split.rows, split.pool, self._seen_vectors(), vectors)
        if self.review_ is None:
            return strategy
        for alarm in self.review_.alarms.values():
            warnings.warn(f"{type(self).__name__}: {alarm}", AdaptationWarning, stacklevel=6)
        return BalancedSelection(prior=self.review_.shares)

    def _own(self, candidates: Array) -> Array:
        """Return the place of each candidate among the seen classes, -1 for an unseen one."""
        place = {label: k for k, label in enumerate(self.seen_classes_.tolist())}
        return np.array([place.get(label, -1) for label in candidates.tolist()], dtype=np.intp)

    def _scored(self, pool: Any, vectors: Array, scale: float | None = None) -> PoolScores:
        """Return the pool's scores and log-probabilities; ``scale``: the temperature at unit spread."""
        scores = kept(self._rows_scores(pool, vectors))
        if scale is not None:
            self.temperature_ = scale * spread(scores)
        return scores, kept(log_probabilities(scores, self.temperature_))

    def _note(self, split: Split, candidates: Array, vectors: Array, first_round: Array) -> None:
        labels = np.empty(len(split.labelled), dtype=np.result_type(self.seen_classes_, candidates))
        labels[split.labelled] = self.seen_classes_[split.rows.codes]
        if len(split.pool):
            codes = self._scores(split.pool, vectors).argmax(axis=1)
            labels[~split.labelled] = candidates[split.known.clamp_labels(codes)]
        self.transduction_ = labels
        self.labelled_round_ = np.zeros(len(labels), dtype=np.intp)
        rounds = _or_never(first_round)
        rounds[split.known.rows] = 0
        self.labelled_round_[~split.labelled] = rounds

    def _note_chunks(
        self,
        X: Chunks,
        codes: Chunks,
        unlabelled: Any,
        candidates: Array,
        vectors: Array,
        first_round: Any,
    ) -> None:
        """Label the rows of each chunk, where it is."""
        dtype = np.result_type(self.seen_classes_, candidates)
        given = bare(self), vectors, self.seen_classes_.astype(dtype), candidates.astype(dtype)
        labels = X.mapped(_labels, codes, given=given, out=np.zeros(1, dtype))
        self.transduction_ = labels.result()
        if isinstance(first_round, Chunks):
            trusted = mapped(_or_never, first_round).put_back(*unlabelled, 0)
        else:
            trusted = codes.constant(0)
        self.labelled_round_ = trusted.result()


def _labels(
    X: Array, codes: Codes, model: Any, vectors: Array, classes: Array, candidates: Array
) -> Array:
    """Return the labels of a chunk: as given, or as found."""
    known = codes != UNLABELLED
    labels = np.empty(len(codes), dtype=candidates.dtype)
    labels[known] = classes[codes[known]]
    if not known.all():
        labels[~known] = candidates[model._scores(X[~known], vectors).argmax(axis=1)]
    return labels


def _or_never(first_round: Array) -> Array:
    return np.where(first_round > 0, first_round, -1)


def log_probabilities(scores: Any, temperature: float) -> Any:
    """Return the logarithm of softmax(scores / temperature)."""
    return mapped(_log_softmax, scores, given=(temperature,))


def _log_softmax(scores: Array, temperature: float) -> Array:
    return np.asarray(log_softmax(scores / temperature, axis=1))


def spread(scores: Any) -> float:
    """Return the mean standard deviation of a row's scores."""
    (total,) = summed(_deviations, scores)
    return max(float(total) / max(len(scores), 1), float(np.finfo(np.float32).tiny))


def _deviations(scores: Array) -> tuple[float]:
    return (float(scores.std(axis=1, dtype=float).sum()),)
