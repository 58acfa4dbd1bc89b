"""CalibratedStacking: one offset for all unseen classes, so that seen ones do not draw every row."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from unseen.advice import Advice
from unseen.base import ZeroShotClassifier
from unseen.inductive.wrapping import WrappingClassifier
from unseen.inputs import whole_fit
from unseen.rows.labelled import Rows, by_content, places_in_class
from unseen.rows.passes import spread
from unseen.semantics import place_among
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, CandidateClasses, Codes

REHEARSALS, HELD_SHARE = 4, 1 / 3
"""Rehearsals, and the share of the seen classes that each holds out."""

HELD_OUT_ROWS = 5
"""Of the classes that are not held out, one row in so many is kept for testing."""

MOST_ROWS = 40
"""The most rows of a class that a rehearsal uses."""

OFFSETS = np.linspace(-0.5, 3.0, 71)
"""Offsets that are tried, in units of the spread of a row's scores."""

FEWEST_CLASSES = 6
"""Seen classes below which none can be held out."""


class CalibratedStacking(WrappingClassifier):
    """Add an offset to the scores of unseen classes: seen and unseen classes together.

        score of class k = sₖ(x) + bias·[k is unseen]

    s are the scores of the estimator. A model that was trained on seen classes scores them higher than
    others, so that with ``candidates="all"`` nearly every row goes to one of them. The offset is that
    with the highest mean harmonic mean in rehearsals: some seen classes are held out and play the
    unseen ones, and held-out rows of the others are tested beside them.

    W.-L. Chao, S. Changpinyo, B. Gong and F. Sha, "An empirical study and analysis of generalized
    zero-shot learning for object recognition in the wild", ECCV 2016. Deviation: the offset is in units
    of the spread of a row's scores, so that it carries over from rehearsals to the last fit.

    Parameters
    ----------
    estimator : estimator of this library
        It is cloned, never fitted itself.
    semantics, candidates : optional
        As for every estimator; ``candidates`` is "all" if it is not given.
    bias : "auto" or float
        The offset, in units of the spread of a row's scores.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    bias_ : float
        The offset in use, in the units of the scores.

    Examples
    --------
    >>> from unseen import ESZSL, CalibratedStacking
    >>> from unseen.datasets import load_letters_to_digits
    >>> data = load_letters_to_digits()
    >>> model = CalibratedStacking(ESZSL(data.semantics))
    >>> model.fit(data.X[data.train], data.y[data.train]).bias_ > 0
    True
    """

    advice = Advice(
        cost="rehearsals: a few fits of what it wraps",
        take="rows of seen and unseen classes come mixed, and seen classes win too often",
        leave="candidates are the unseen classes alone: the offset then changes nothing",
    )

    bias_: float

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        bias: object = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator
        self.bias = bias

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn from the labelled rows, and choose the offset in rehearsals."""
        with whole_fit(self, X):
            rows = self._read(X, y, sample_weight).labelled()
            given = self._given_bias()
            self.estimator_ = self._fitted(rows, self.seen_classes_)
            self._take_calibration(self.estimator_)
            _, vectors = self._resolve()
            unit = spread(self.estimator_._rows_scores(rows.thinned(MOST_ROWS).X, vectors))
            self.bias_ = unit * (self._rehearsed_bias(rows) if given is None else given)
        return self

    def _given_bias(self) -> float | None:
        if isinstance(self.bias, str) and self.bias == "auto":
            return None
        if isinstance(self.bias, Real) and np.isfinite(float(self.bias)):
            return float(self.bias)
        self._refuse("bias", "'auto' or a number")

    def _fitted(self, rows: Rows, classes: Array) -> ZeroShotClassifier:
        """Fit a clone on rows of these classes; it answers among the candidates."""
        return self._clone().fit(rows.X, classes[rows.codes], rows.weights)

    def _rehearsed_bias(self, rows: Rows) -> float:
        """Return the offset with the highest mean harmonic mean."""
        vectors = self._seen_vectors()
        if len(vectors) < FEWEST_CLASSES or self._parameters()[0] is None:
            raise ValueError(
                f"CalibratedStacking chooses its bias by holding out seen classes, and needs semantics "
                f"and labelled rows of at least {FEWEST_CLASSES}. Got {len(vectors)}. Give the 'bias'."
            )
        sample = rows.thinned(MOST_ROWS)
        curves = []
        for number in range(REHEARSALS):
            order = by_content(vectors, number)
            curves.append(self._curve(sample, order[: max(2, int(len(vectors) * HELD_SHARE))]))
        mean = np.round(np.mean(curves, axis=0), 9)
        return float(OFFSETS[int(mean.argmax())]) if mean.any() else 0.0

    def _curve(self, sample: Rows, held: Codes) -> Array:
        """Return the harmonic mean for every offset when these classes are held out."""
        classes = self.seen_classes_
        unseen = np.isin(sample.codes, held)
        # The second of each five: a class with one row keeps it, and one with two is tested on one.
        test = unseen | (places_in_class(sample.X, sample.codes) % HELD_OUT_ROWS == 1)
        model = self._clone(classes.tolist())
        train = sample.take(np.flatnonzero(~test))
        model.fit(train.X, classes[train.codes], train.weights)
        judged = sample.take(np.flatnonzero(test))
        scores = np.asarray(model._candidate_scores(judged.X))
        columns = place_among(classes, model.classes_)
        trial = _Trial.of(scores, columns[judged.codes], np.isin(model.classes_, classes[held]))
        return np.array([trial.harmonic_mean(offset) for offset in OFFSETS])

    def _scores(self, X: Array, vectors: Array) -> Array:
        scores = super()._scores(X, vectors)
        return np.asarray(scores + self._offsets(vectors).astype(scores.dtype))

    def _offsets(self, vectors: Array) -> Array:
        seen = {row.tobytes() for row in np.ascontiguousarray(self._seen_vectors(), dtype=float)}
        rows = np.ascontiguousarray(vectors, dtype=float)
        return np.array([0.0 if row.tobytes() in seen else self.bias_ for row in rows])

    def _scorer(self, vectors: Array) -> Scorer:
        raise NotImplementedError


class _Trial(NamedTuple):
    """Rows of held-out classes beside rows of the others."""

    best_seen: Codes
    best_unseen: Codes
    lead: Array
    """How far the best seen class is ahead of the best unseen one, in units of spread."""
    true: Codes
    is_unseen: Array
    """Which classes were held out."""

    @classmethod
    def of(cls, scores: Array, true: Codes, is_unseen: Array) -> _Trial:
        seen, unseen = np.where(is_unseen, -np.inf, scores), np.where(is_unseen, scores, -np.inf)
        lead = (seen.max(axis=1) - unseen.max(axis=1)) / max(spread(scores), 1e-300)
        return cls(seen.argmax(axis=1), unseen.argmax(axis=1), lead, true, is_unseen)

    def harmonic_mean(self, offset: float) -> float:
        """Return the harmonic mean of both per-class accuracies."""
        right = np.where(self.lead > offset, self.best_seen, self.best_unseen) == self.true
        rows = np.bincount(self.true, minlength=len(self.is_unseen))
        hits = np.bincount(self.true, right, len(self.is_unseen))
        shares = hits / np.maximum(rows, 1)
        tested = [(rows > 0) & kind for kind in (self.is_unseen, ~self.is_unseen)]
        if not tested[1].any():  # every seen class has one row: none is left to test on
            return 0.0
        parts = [float(shares[kind].mean()) for kind in tested]
        return 2 * parts[0] * parts[1] / max(sum(parts), 1e-300)
