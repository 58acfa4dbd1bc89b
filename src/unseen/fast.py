"""FastTraining: learn from the visual pattern of each class instead of from its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from unseen.advice import Advice
from unseen.base import ZeroShotClassifier
from unseen.inductive.wrapping import WrappingClassifier, wrapped
from unseen.inputs import aligned, read_rows, whole_fit
from unseen.model_export import bare
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_patterns, summed
from unseen.semantics import read_labels
from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive.rounds import Observer
from unseen.typing import Array, CandidateClasses, Codes, Label, RowValues

JUDGED = 30
"""Rows of a held-out class on which parameters are judged: the patterns alone would be too few."""


class FastTraining(WrappingClassifier):
    """The paper's FT strategy around an estimator: one training row a class, its mean.

    An inductive estimator is fitted on the means of the labelled rows. A transductive one replaces its
    labelled rows, and in every round its trusted rows, by their means: that is Fast-TASTE, and it also
    keeps large classes from outweighing small ones. Of the transductive estimators, TASTE and
    SelfPaced can (``takes_class_means``); around any other, ``fit`` raises a ValueError.

    Y. Yu, Z. Ji, J. Guo and Y. Pang, "Transductive zero-shot learning with adaptive structural
    embedding", Section IV. Deviation: the paper starts Fast-SJE and Fast-ASTE from ESZSL's solution to
    converge sooner; ASTE needs no start here, since it is solved exactly, and SJE starts at zero.

    Parameters
    ----------
    estimator : estimator of this library
        It is cloned, never fitted itself.
    semantics, candidates : optional
        As for every estimator; None means those of ``estimator``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted clone.
    patterns_ : array of shape (K, p)
        The visual patterns of ``seen_classes_``.
    transduction_, history_
        Those of ``estimator_``, if it is transductive.

    Examples
    --------
    >>> from unseen import ESZSL, FastTraining
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = FastTraining(ESZSL(semantics)).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.patterns_
    array([[0.95, 0.05], [0.05, 1.  ]])
    """

    advice = Advice(
        cost=(
            "one pass over the rows for the class means; what it wraps then learns from one row a class"
        ),
        take="there are millions of rows",
        leave="classes have several distinct appearances that a mean would blur",
    )

    takes_chunks = True

    patterns_: Array

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        known: Mapping[int, Label] | None = None,
        observer: Observer | None = None,
    ) -> Self:
        """Learn from class means.

        Unlabelled rows, ``known`` and ``observer`` are as in the ``fit`` of a transductive estimator;
        around an inductive one, both must be left out.
        """
        with whole_fit(self, X):
            self._check_estimator()
            transductive = isinstance(wrapped(self), TransductiveClassifier)
            if not transductive and (known is not None or observer is not None):
                raise ValueError(
                    f"{type(wrapped(self)).__name__} learns from no pool, so FastTraining around it "
                    "takes neither 'known' nor 'observer'. Leave them out, or wrap a transductive one."
                )
            read = self._read(X, y, sample_weight)
            if not transductive:
                return self._learn(read.labelled())
            model = self._clone()
            model.seen_classes_, model.n_features_in_ = self.seen_classes_, self.n_features_in_
            all_patterns: list[Array] = []

            def compress(sums: Array, counts: Array, dtype: npt.DTypeLike) -> tuple[Array, Codes]:
                patterns, present = class_patterns(sums, counts, dtype)
                all_patterns.append(patterns)
                return patterns, present

            model._fit_read(read, compress, known, observer)
            self.patterns_ = all_patterns[0]
            self.transduction_, self.history_ = model.transduction_, model.history_
            self.labelled_round_ = model.labelled_round_
            self._adopt(model)
        return self

    def training_errors(self, X: RowValues, y: object) -> tuple[float, float]:
        """Return ε and ε̄ of Eq. (26) and (27): the squared loss on the rows, and on their means.

        Both average within each class and then over the classes, so that ε̄ ≤ ε for any model with
        linear scores (Jensen's inequality, from Proposition 1).
        """
        X = read_rows(self, X)
        classes, codes = read_labels(aligned(X, y, "y"), self._marks_unlabelled())
        rows = Rows(X, codes).labelled()
        table = self._table()
        vectors = table.vectors[table.positions(classes)]
        given = bare(self), vectors
        lost, counts = summed(_losses, rows.X, rows.codes, given=given)
        means, present = class_patterns(*rows.totals(len(classes)), rows.X.dtype)
        of_means, _ = _losses(means, present, *given)
        return float((lost / counts).mean()), float(of_means.mean())

    def _learn(self, rows: Rows, held: Rows | None = None) -> Self:
        """Learn from the means of rows that have been read."""
        self._check_estimator()
        classes = len(self.seen_classes_)
        self.patterns_, present = class_patterns(*rows.totals(classes), rows.X.dtype)
        patterns = Rows(self.patterns_, present)
        self._adopt(self._clone()._fit_rows(patterns, self.seen_classes_, rows.thinned(JUDGED)))
        return self

    @property
    def takes_known(self) -> bool:
        """Whether ``fit`` learns from the ``known`` labels of rows of the pool."""
        return bool(getattr(wrapped(self), "takes_known", False))

    def _check_estimator(self) -> None:
        if not wrapped(self).takes_class_means:
            raise ValueError(
                f"{type(wrapped(self)).__name__} learns from all rows and cannot be given class means "
                "in their place, so it has no fast form. Fit it without FastTraining, or wrap a method "
                "that has one: unseen.methods.select(takes_class_means=True) lists them."
            )

    def _takes_chunks(self) -> bool:
        inner = wrapped(self)  # class means are in memory; an inductive estimator sees nothing else
        return not isinstance(inner, TransductiveClassifier) or inner._takes_chunks()

    def _chosen(self) -> dict[str, float]:
        return {f"estimator__{name}": v for name, v in self.estimator_._chosen().items()}

    def _marks_unlabelled(self) -> bool:
        return bool(wrapped(self)._marks_unlabelled())


def _losses(X: Array, codes: Codes, model: ZeroShotClassifier, vectors: Array) -> tuple[Array, Array]:
    """Return the squared loss of the rows of each class, summed, and how many they are."""
    error = model._scores(X, vectors) - np.eye(len(vectors), dtype=X.dtype)[codes]
    loss = np.einsum("ij,ij->i", error, error)
    return np.bincount(codes, loss, len(vectors)), np.bincount(codes, minlength=len(vectors))
