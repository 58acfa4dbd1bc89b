"""What methods for items and class texts in one space share: no labelled row is needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from unseen.inputs import read_rows, whole_fit
from unseen.rows.passes import score_blocks
from unseen.statistics.entropy import largest
from unseen.statistics.shared_model import cosines
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.transductive.prototype_classifier import Places, class_keys
from unseen.transductive.rounds import Observer, Round, show_round
from unseen.typing import Array, CandidateClasses, Codes, Label, Mask, RowValues

SENTENCE_SCALE = 20.0
"""τ for sentence encoders; CLIP's is 100."""

CLIP_SCALE = 100.0
"""τ of CLIP, its ``logit_scale``."""

TRUSTED = 0.5
"""A row counts as trusted when it is likelier to belong to its class than to all others."""


@dataclass(frozen=True)
class SharedRound(Round):
    """One line of ``history_``; ``threshold`` is the probability from which a row is trusted."""

    FILE_KEY = "shared-space-round"

    moved: float = float("nan")
    """The share of label mass that changed its class."""

    @classmethod
    def of(cls, number: int, codes: Codes, before: Codes, trusted: Mask, moved: float) -> SharedRound:
        """Note a round: the pool's labels after it and before it, and which rows it trusts."""
        covered, changed = len(np.unique(codes[trusted])), float((codes != before).mean())
        return cls(number, TRUSTED, int(trusted.sum()), covered, float("nan"), changed, moved)


class SharedSpaceClassifier(TransductiveClassifier):
    """A classifier of rows by class vectors of the same space, such as embeddings of class texts.

    ``fit(X)`` needs no label. The first answer is the class with the largest cosine. A subclass writes
    ``_fit_split``, ``_scores`` and, where the pool is answered in another way than new rows,
    ``_pool_codes``.

    Attributes
    ----------
    start_ : array of N labels
        The first answer, by cosine; labelled rows as they are.
    """

    needs_labelled_rows: ClassVar[bool] = False

    start_: Array
    _width: int
    _fitted_keys: list[bytes]

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        scale: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.scale = scale

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        known: Mapping[int, Label] | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Learn from unlabelled rows, and from labelled ones if there are any.

        Parameters
        ----------
        X : array of shape (N, p)
            Embeddings, as wide as the class vectors.
        y : array of N labels, optional
            -1 (integers) or None/NaN (any other) marks an unlabelled row. By default all rows are.
        sample_weight : array of N numbers, optional
            Used for labelled rows.
        known, observer : optional
            As in the ``fit`` of every transductive estimator.
        """
        with whole_fit(self, X):
            if self.semantics is None:
                raise ValueError(
                    f"{type(self).__name__} compares rows with class vectors, and 'semantics' is None. "
                    "Give the embedding of a text for every class."
                )
            return super().fit(X, y, sample_weight, known=known, observer=observer)

    def _split(self, rows: Any, pool: Any, labelled: Any) -> Split:
        split = super()._split(rows, pool, labelled)
        self._width = int(split.vectors.shape[1])
        if rows.X.shape[1] != self._width:
            raise ValueError(
                f"{type(self).__name__} needs features and semantics of one space, and X has "
                f"{rows.X.shape[1]} columns where semantics has {self._width}. Embed rows and class "
                "texts by the same model, or give labelled rows to another method."
            )
        self.temperature_ = 1.0
        self.calibration_ = "none: probabilities have the entropy of the first answer"
        return split

    def _note(self, split: Split, first_round: RowValues) -> None:
        super()._note(split, first_round)
        self.start_ = self.transduction_.copy()
        self.start_[~split.labelled] = split.candidates[self._start_codes(split)]

    def _start_codes(self, split: Split) -> Codes:
        """Return the place of the nearest candidate by cosine for each row of the pool."""
        best = np.empty(len(split.pool), dtype=np.intp)
        for rows in score_blocks(len(best), len(split.vectors)):
            best[rows] = self._first_scores(split.pool[rows], split.vectors).argmax(axis=1)
        return best

    def _scale(self) -> float:
        """Return τ."""
        value = self._number("scale")
        if value == 0:
            self._refuse("scale", "'auto' or a number > 0")
        return SENTENCE_SCALE if value is None else value

    def _check_parameters(self) -> None:
        self._scale()
        super()._check_parameters()

    def _first_scores(self, X: Array, vectors: Array) -> Array:
        """Return τ·cos, (N, L)."""
        return np.asarray(cosines(X, vectors) * X.dtype.type(self._scale()))

    def _read_new(self, X: object) -> Array:
        """Check rows that a fitted estimator is asked about."""
        check_is_fitted(self)
        return np.asarray(read_rows(self, X))

    def _nothing_found(self, split: Split) -> Codes:
        """Note the classes of a fit that begins; return the round of each row of the pool: never."""
        self._fitted_keys = class_keys(split.vectors)
        self._codes, self.confidence_ = np.empty(0, dtype=np.intp), np.empty(0)
        return np.zeros(len(split.pool), dtype=np.intp)

    def _fitted_places(self, vectors: Array) -> Codes:
        """Return the place of each class among the candidates of ``fit``, -1 for another one."""
        fitted = Places(self._fitted_keys)
        places = [fitted.take(key) for key in class_keys(vectors)]
        return np.array([-1 if place is None else place for place in places], dtype=np.intp)

    def _semantic_width(self) -> int:
        return self._width


class SoftLabelClassifier(SharedSpaceClassifier):
    """A method of this kind whose rounds are soft labels of the pool; it learns from no label.

    A subclass writes ``_label_rounds`` and ``_scores``.

    Attributes
    ----------
    confidence_ : array of shape (M,)
        The soft label of the answer for each unlabelled row.
    history_ : list of SharedRound
    """

    confidence_: Array

    @abstractmethod
    def _label_rounds(self, pool: Array, vectors: Array) -> Iterator[sparse.csr_matrix]:
        """Yield the start and the soft labels after each round; keep what answers new rows."""

    @abstractmethod
    def _forget(self) -> None:
        """Set what answers new rows as it is without a pool."""

    def _fit_split(self, split: Split, compress: Compress | None) -> Codes:
        self._forget()
        self.history_ = []
        first_round = self._nothing_found(split)
        if not len(split.pool):
            return first_round
        before: sparse.csr_matrix | None = None
        for number, labels in enumerate(self._label_rounds(split.pool, split.vectors)):
            if split.observer is not None:
                show_round(split.observer, number, labels.toarray())
            codes, confidence = largest(labels)
            if before is not None:
                trusted = confidence >= TRUSTED
                first_round[trusted & (first_round == 0)] = number
                moved = float(abs(labels - before).sum()) / 2 / len(codes)
                self.history_.append(SharedRound.of(number, codes, self._codes, trusted, moved))
            before, self._codes, self.confidence_ = labels, codes, confidence
        return first_round

    def _pool_codes(self, split: Split) -> Codes:
        return self._codes
