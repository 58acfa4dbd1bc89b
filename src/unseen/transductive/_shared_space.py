"""What methods for items and class texts in one space share: no labelled row is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unseen.guards import WholeFit
from unseen.inputs import read_rows
from unseen.statistics.shared_model import cosines
from unseen.transductive._pool import Split, TransductiveClassifier
from unseen.transductive.rounds import Observer
from unseen.typing import Array

SENTENCE_SCALE = 20.0
"""τ for sentence encoders; CLIP's is 100."""


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

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "all",
        scale: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.scale = scale

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        known: Mapping[int, Any] | None = None,
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
        with WholeFit(self):
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

    def _note(self, split: Split, first_round: Array) -> None:
        super()._note(split, first_round)
        self.start_ = self.transduction_.copy()
        if len(split.pool):
            best = self._first_scores(split.pool, split.vectors).argmax(axis=1)
            self.start_[~split.labelled] = split.candidates[best]

    def _scale(self) -> float:
        """Return τ."""
        value = self._number("scale")
        if value == 0:
            self._refuse("scale", "'auto' or a number > 0")
        return SENTENCE_SCALE if value is None else value

    def _first_scores(self, X: Array, vectors: Array) -> Array:
        """Return τ·cos, (N, L)."""
        return np.asarray(cosines(X, vectors) * X.dtype.type(self._scale()))

    def _read_new(self, X: Any) -> Array:
        """Check rows that a fitted estimator is asked about."""
        check_is_fitted(self)
        return np.asarray(read_rows(self, X))

    def _semantic_width(self) -> int:
        return self._width
