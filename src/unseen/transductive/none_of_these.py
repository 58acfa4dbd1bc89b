"""NoneOfThese: any estimator, with "unknown" as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from unseen.advice import Advice
from unseen.inductive.wrapping import WrappingClassifier, wrapped
from unseen.inputs import whole_fit
from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive._strangers import StrangerAnswers
from unseen.transductive.rounds import Observer
from unseen.typing import CandidateClasses, Label, RowValues


class NoneOfThese(StrangerAnswers, WrappingClassifier):
    """Let an estimator answer that a row belongs to no candidate.

    The estimator is fitted; then rows of the pool are looked for that a seen class explains better than
    every candidate does, that are far from all candidates, or that a class without a name takes; a
    transductive estimator is fitted again without them. How far is far, and how likely such a row is a
    stranger, is learned in rehearsals on held-out seen classes (:mod:`unseen.statistics.strangers`).

    Parameters
    ----------
    estimator : estimator of this library
        It is cloned, never fitted itself.
    semantics, candidates : optional
        As for every estimator; None means those of ``estimator``.
    strangers : {"auto"} or float
        "auto" calls rows strangers where at most one in ten of those called should be none, and else
        none of them. A number is the share of strangers in the pool: so many rows are called.
    unknown : label, optional
        The answer for strangers; None: "unknown", or -1 where classes are integers.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    transduction_ : array of N labels
    stranger_proba_ : array of shape (N,)
        The probability of each row of X to belong to no candidate; 0 for labelled rows.
    strangers_ : StrangerModel

    Examples
    --------
    >>> from unseen import ESZSL, NoneOfThese
    >>> from unseen.datasets import load_letters_to_digits
    >>> data = load_letters_to_digits()
    >>> rows = np.concatenate([data.train, data.test_unseen])
    >>> y = data.y[rows].astype(object)
    >>> y[len(data.train) :] = None
    >>> model = NoneOfThese(ESZSL(data.semantics)).fit(data.X[rows], y)
    >>> float((model.transduction_ == "unknown").mean()) < 0.01
    True
    """

    advice = Advice(
        cost="that of what it wraps, and one pass over the pool",
        take="rows of the pool may belong to no candidate",
        leave="strangers are whole classes close to the candidates: they are recognised badly",
    )

    learns_from_pool = True

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = None,
        strangers: str | float = "auto",
        unknown: object = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator
        self.strangers = strangers
        self.unknown = unknown

    def fit(
        self,
        X: object,
        y: Any = None,
        sample_weight: Any = None,
        *,
        known: Mapping[int, object] | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Learn from labelled rows and a pool, in which some rows may belong to no candidate.

        Parameters are those of the ``fit`` of a transductive estimator.
        """
        with whole_fit(self, X):
            read, codes, _ = self._read(X, y, sample_weight)
            labels = np.full(len(codes), None, dtype=object)
            labels[codes >= 0] = self.seen_classes_[codes[codes >= 0]]
            self._fit_apart(self._fit_inside, read, labels, sample_weight, known, observer)
        return self

    def _fits_without_called(self) -> bool:
        return bool(wrapped(self).learns_from_pool)

    def _fit_inside(
        self,
        X: RowValues,
        y: object,
        weights: RowValues,
        known: Mapping[int, Label] | None,
        observer: Observer | None,
    ) -> None:
        model = self._clone()
        if isinstance(model, TransductiveClassifier):
            model.fit(X, y, weights, known=known, observer=observer)
        else:
            model.fit(X, y, weights)
        self.estimator_ = model
        self._take_calibration(model)
