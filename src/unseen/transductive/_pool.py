"""What transductive classifiers share: labelled rows and an unlabelled pool in one X."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.inputs import whole_fit
from unseen.model_export import bare
from unseen.rows.chunks import Chunks
from unseen.rows.known import Known
from unseen.rows.labelled import Rows
from unseen.rows.passes import in_chunks, mapped
from unseen.statistics.review import Review
from unseen.transductive.rounds import Observer, Round
from unseen.transductive.selection import BalancedSelection
from unseen.typing import UNLABELLED, Array, Codes, DType, Label, RowValues

Compress = Callable[[Array, Array, DType], tuple[Array, Codes]]
"""Fast training: computes class means, to be used in place of rows, from class sums, class weights and
the type of a row."""


@dataclass(frozen=True)
class Split:
    """Labelled rows, the pool, and the classes of a fit."""

    rows: Rows
    """The labelled rows."""
    pool: Any
    """The unlabelled rows."""
    labelled: Any
    """Marks the labelled rows of X; None if there is no pool."""
    seen: Array
    """The vectors of the seen classes, (K, q)."""
    candidates: Array
    vectors: Array
    """The vectors of the candidates, (L, q)."""
    own: Codes
    """(L,) the place of each candidate among the seen classes, -1 for an unseen one."""
    described: bool
    """Whether classes have semantics, or each is its own attribute."""
    reviewable: bool
    """Whether the pool can be reviewed: all candidates are unseen and have semantics."""
    known: Known | None = None
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

    learns_from_pool = True
    takes_known: ClassVar[bool] = False
    """Whether ``fit`` learns from the ``known`` labels of rows of the pool."""
    takes_class_means: ClassVar[bool] = False
    """Whether labelled rows and, in every round, trusted rows can be replaced by class means."""
    without_pool: ClassVar[Mapping[str, object]] = {}
    """Parameters with which the method answers without its pool; empty where it keeps its start."""

    strangers: object = None
    """The parameter of methods that find rows of no candidate; None: they do not look for any."""
    transduction_: Any
    review_: Review | None
    history_: list[Round]
    labelled_round_: Any

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        known: Mapping[int, Label] | None = None,
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
            probabilities, (M, L), columns as in ``classes_``, before they are calibrated. Methods whose
            rounds have no probabilities do not call it, and no method does with an empty pool.
        """
        if self.strangers is not None:
            self._fit_beside_strangers(X, y, sample_weight, known, observer)
            return self
        with whole_fit(self, X):
            split = self._fit_read(self._read(X, y, sample_weight), None, known, observer)
            self._rehearse(split.rows, split.pool)
        return self

    def _fit_beside_strangers(
        self,
        X: object,
        y: object,
        weights: object,
        known: Mapping[int, Label] | None,
        observer: Observer | None,
    ) -> None:
        """Learn from a pool with rows of no candidate; methods with ``strangers`` write this."""
        raise NotImplementedError

    def _fit_read(
        self,
        read: Rows,
        compress: Compress | None,
        known: Mapping[int, Label] | None = None,
        observer: Observer | None = None,
    ) -> Split:
        """Learn from rows that have been read; the labelled ones are compressed before all others."""
        parts, chunks = read.divided(), read.in_chunks
        if chunks and (known is not None or observer is not None):
            raise ValueError(
                f"{type(self).__name__}.fit takes 'known' and 'observer' with rows in memory only, and "
                "X comes in chunks. Give np.asarray(X), or leave both out."
            )
        split = self._split(parts.rows, parts.pool, parts.labelled)
        certain = self._read_known(known, len(parts.pool), split.candidates)
        split = replace(split, known=certain, observer=observer)
        first_round = self._fit_split(split, compress)
        if chunks:
            self._note_chunks(read.X, read.codes, parts.unlabelled, split, first_round)
        else:
            self._note(split, first_round)
        return split

    def _split(self, rows: Rows, pool: object, labelled: object) -> Split:
        """Check the parameters, and gather what a method needs to know of rows and classes."""
        self._check_parameters()
        candidates, vectors = self._resolve()
        described = self._parameters()[0] is not None
        own = self._places_among_seen(candidates)
        reviewable = described and not (own >= 0).any()
        classes = self._seen_vectors(), candidates, vectors, own, described, bool(reviewable)
        return Split(rows, pool, labelled, *classes)

    def _read_known(
        self, known: Mapping[int, Label] | None, rows: int, candidates: Array
    ) -> Known | None:
        """Check what is known of the pool; return rows and the places of their classes."""
        if known is not None and not isinstance(known, Mapping):
            raise ValueError(
                f"The 'known' argument of {type(self).__name__}.fit must be a mapping from row of the "
                f"pool to class. Got {type(known).__name__} instead."
            )
        if not known:
            return None
        if not self.takes_known:
            raise ValueError(
                f"{type(self).__name__} cannot learn from known rows of the pool. Leave 'known' out, "
                "or fit a method that can: unseen.methods.select(takes_known=True) lists them."
            )
        return Known.of(known, rows, candidates)

    def _learn(self, rows: Rows, held: Rows | None = None) -> Self:
        """Learn from labelled rows alone: an empty pool."""
        nothing = np.empty((0, rows.X.shape[1]), dtype=rows.X.dtype)
        self._fit_split(self._split(rows, nothing, None), None)
        return self

    def _settings_to_rehearse(self, rows: float, classes: float) -> Mapping[str, object]:
        """Skip the review in rehearsals, whose classes are of similar size."""
        selection = self.get_params(deep=False).get("selection")
        balanced = isinstance(selection, str) and selection == "balanced"
        return {"selection": BalancedSelection()} if balanced else {}

    @abstractmethod
    def _fit_split(self, split: Split, compress: Compress | None) -> RowValues:
        """Learn; set ``history_``; return the round that first trusted each row of the pool."""

    def _pool_codes(self, split: Split) -> Codes:
        """Return the place of the answer for each row of the pool among the candidates."""
        return np.asarray(self._rows_scores(split.pool, split.vectors).argmax(axis=1))

    def _note(self, split: Split, first_round: RowValues) -> None:
        candidates, known = split.candidates, split.known
        labels = np.empty(len(split.labelled), dtype=np.result_type(self.seen_classes_, candidates))
        labels[split.labelled] = self.seen_classes_[split.rows.codes]
        rounds = np.asarray(first_round)
        rounds = np.where(rounds > 0, rounds, -1)
        if len(split.pool):
            codes = self._pool_codes(split)
            if known is not None:
                codes, rounds[known.rows] = known.clamp_labels(codes), 0
            labels[~split.labelled] = candidates[codes]
        self.transduction_ = labels
        self.labelled_round_ = np.zeros(len(labels), dtype=np.intp)
        self.labelled_round_[~split.labelled] = rounds

    def _note_chunks(
        self, X: Chunks, codes: Chunks, unlabelled: Any, split: Split, first_round: object
    ) -> None:
        """Label the rows of each chunk, where it is."""
        dtype = np.result_type(self.seen_classes_, split.candidates)
        classes = self.seen_classes_.astype(dtype), split.candidates.astype(dtype)
        given = bare(self), split.vectors, *classes
        labels = X.mapped(_labels, codes, given=given, out=np.zeros(1, dtype))
        self.transduction_ = labels.result()
        if in_chunks(first_round):
            trusted = mapped(_never_as_minus_one, first_round).put_back(*unlabelled, 0)
        else:
            trusted = codes.constant(0)
        self.labelled_round_ = trusted.result()


def _never_as_minus_one(first_round: Array) -> Array:
    return np.where(first_round > 0, first_round, -1)


def _labels(
    X: Array, codes: Codes, model: ZeroShotClassifier, vectors: Array, classes: Array, candidates: Array
) -> Array:
    """Return the labels of a chunk: as given, or as found."""
    known = codes != UNLABELLED
    labels = np.empty(len(codes), dtype=candidates.dtype)
    labels[known] = classes[codes[known]]
    if not known.all():
        labels[~known] = candidates[model._rows_scores(X[~known], vectors).argmax(axis=1)]
    return labels
