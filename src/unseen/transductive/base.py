"""What transductive classifiers share: labelled rows and an unlabelled pool in one X."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from unseen.base import UNLABELLED, ZeroShotClassifier, labelled_rows, run_of
from unseen.exceptions import AdaptationWarning
from unseen.numerics.folds import Rows
from unseen.numerics.judge import Judgement, judge
from unseen.numerics.rows import Codes
from unseen.transductive.rounds import PoolScores, Round

Array = npt.NDArray[Any]
Compress = Callable[[Array, Codes, int, Array | None], tuple[Array, Codes]]
"""Replaces rows by fewer rows of the same classes: fast training's class means."""


@dataclass(frozen=True)
class Split:
    """Training input, taken apart."""

    rows: Rows
    """The labelled rows."""
    pool: Array
    """The unlabelled rows."""
    labelled: npt.NDArray[np.bool_]
    """Which rows of X are which."""


class TransductiveClassifier(ZeroShotClassifier):
    """A classifier that learns from unlabelled rows too.

    Attributes
    ----------
    transduction_ : array of N labels
        The label of every row of X: as given, or as found.
    history_ : list of Round
        One entry a self-paced round.
    labelled_round_ : array of shape (N,)
        The round that first trusted a row's pseudo-label: 0 for a given label, -1 for never.
    """

    transduction_: Array
    judgement_: Judgement | None
    history_: list[Round]
    labelled_round_: npt.NDArray[np.intp]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array of shape (N, p)
        y : array of N labels
            -1 (integers) or None/NaN (any other) marks an unlabelled row.
        sample_weight : array of N numbers, optional
            Used for labelled rows.
        """
        return self._fit_transductive(X, y, sample_weight, None)

    def _marks_unlabelled(self) -> bool:
        return True

    def _fit_transductive(self, X: Any, y: Any, sample_weight: Any, compress: Compress | None) -> Self:
        X, codes, weights = self._read(X, y, sample_weight)
        labelled = codes != UNLABELLED
        split = Split(labelled_rows(X, codes, weights), X[run_of(~labelled)], labelled)
        candidates, vectors = self._resolve()
        first_round = self._fit_split(split, candidates, vectors, compress)
        self._note(split, candidates, vectors, first_round)
        return self

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        """Learn from labelled rows alone: an empty pool."""
        split = Split(rows, rows.X[:0], np.ones(len(rows.X), dtype=bool))
        self._fit_split(split, *self._resolve(), None)

    @abstractmethod
    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Array:
        """Learn; set ``history_``; return the round that first trusted each row of the pool."""

    def _leaves_alone(self, split: Split, candidates: Array, vectors: Array) -> bool:
        """Tell whether a pool should not teach balanced rounds; warn if so and set ``judgement_``.

        Only the default strategy is judged: whoever names another, or gives a prior, has decided.
        """
        self.judgement_ = None
        known = np.isin(candidates, self.seen_classes_).any() or self._parameters()[0] is None
        if getattr(self, "selection", None) != "balanced" or known:
            return False
        self.judgement_ = judge(split.rows, split.pool, self._seen_vectors(), vectors)
        if self.judgement_ is None or self.judgement_.adapt:
            return False
        warnings.warn(
            f"{type(self).__name__} left the pool alone, and its answer is the inductive one: "
            f"{self.judgement_.reason}. Name the classes that are in the pool with candidates=[...], "
            "or give selection=BalancedSelection(prior=...) to adapt all the same.",
            AdaptationWarning,
            stacklevel=6,
        )
        return True

    def _own(self, candidates: Array) -> Array:
        """Return the place of each candidate among the seen classes, -1 for an unseen one."""
        place = {label: k for k, label in enumerate(self.seen_classes_.tolist())}
        return np.array([place.get(label, -1) for label in candidates.tolist()], dtype=np.intp)

    def _scored(self, pool: Array, vectors: Array, scale: float | None = None) -> PoolScores:
        """Return the pool's scores and log-probabilities; ``scale``: the temperature at unit spread."""
        scores = self._scores(pool, vectors)
        if scale is not None:
            self.temperature_ = scale * spread(scores)
        return scores, log_softmax(scores / self.temperature_, axis=1)

    def _note(self, split: Split, candidates: Array, vectors: Array, first_round: Array) -> None:
        labels = np.empty(len(split.labelled), dtype=np.result_type(self.seen_classes_, candidates))
        labels[split.labelled] = self.seen_classes_[split.rows.codes]
        if len(split.pool):
            labels[~split.labelled] = candidates[self._scores(split.pool, vectors).argmax(axis=1)]
        self.transduction_ = labels
        self.labelled_round_ = np.zeros(len(labels), dtype=np.intp)
        self.labelled_round_[~split.labelled] = np.where(first_round > 0, first_round, -1)


def spread(scores: Array) -> float:
    """Return the mean standard deviation of a row's scores."""
    return max(float(scores.std(axis=1, dtype=float).mean()), float(np.finfo(np.float32).tiny))
