"""SelfPaced: SPASS, the self-paced selective strategy, around any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import clone

from unseen.base import ZeroShotClassifier
from unseen.inductive.wrapping import wrapped, wrapped_parameters
from unseen.transductive.base import Compress, Split, TransductiveClassifier
from unseen.transductive.rounds import PoolScores, run_rounds
from unseen.transductive.selection import Selection, strategy_of

Array = npt.NDArray[Any]


class SelfPaced(TransductiveClassifier):
    """Teach an inductive estimator with its own trusted predictions, from easy to hard.

    Each round predicts the unlabelled rows, selects some of them with their predicted class, and fits a
    clone of the estimator on the labelled and the selected rows.

    The strategy is SPASS of Y. Yu, Z. Ji, J. Guo and Y. Pang, "Transductive zero-shot learning with
    adaptive structural embedding", Section III-B. Deviations: ``selection="balanced"``, the default,
    takes the place of the paper's one threshold, which collapses on real data and is kept as
    ``selection="threshold"``.

    Parameters
    ----------
    estimator : estimator of this library
        What to teach. It is cloned, never fitted itself.
    semantics, candidates : optional
        As for every estimator; None means those of ``estimator``.
    selection : {"balanced", "threshold"} or selection strategy
    settle : int
        Rounds after the last, until no prediction changes.

    Attributes
    ----------
    estimator_ : estimator
        The model after the last round; it labels new rows.
    transduction_ : array of N labels
    history_ : list of Round

    Examples
    --------
    >>> from unseen import ESZSL, SelfPaced
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> model = SelfPaced(ESZSL(semantics)).fit(X, ["cat", "cat", "dog", "dog", None])
    >>> model.transduction_[-1]
    np.str_('fox')
    """

    estimator_: ZeroShotClassifier

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array | None = None,
        selection: Any = "balanced",
        settle: int = 0,
    ) -> None:
        self.semantics = semantics
        self.candidates = candidates
        self.estimator = estimator
        self.selection = selection
        self.settle = settle

    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Array:
        strategy = strategy_of(self.selection, type(self).__name__)
        labels = self.seen_classes_[split.codes]
        if split.weights is None and not len(split.pool):
            weights = None
        else:
            weights = np.ones(len(labels)) if split.weights is None else split.weights

        def learn(selection: Selection | None) -> PoolScores:
            X, y, w = split.X, labels, split.weights
            if selection is not None:
                chosen = selection.chosen
                X = np.concatenate([X, split.pool[chosen]])
                y = np.concatenate([y, candidates[selection.codes[chosen]]])
                w = np.concatenate([weights, selection.weights[chosen]])
            self.estimator_ = self._fit_clone(X, y, w, candidates, compress)
            return self._pool_scores(split.pool)

        start = learn(None)
        if not len(split.pool):
            self.history_ = []
            return np.zeros(0, dtype=np.intp)
        self.history_, first_round = run_rounds(start, learn, strategy, self.settle)
        return first_round

    def _fit_clone(
        self, X: Array, y: Array, weights: Array | None, candidates: Array, compress: Any
    ) -> ZeroShotClassifier:
        model = clone(wrapped(self))
        model.set_params(semantics=self._parameters()[0], candidates=candidates)
        if compress is not None:
            classes, codes = np.unique(y, return_inverse=True)
            X, kept = compress(X, codes, len(classes), weights)
            y, weights = classes[kept], None
        model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
        self.temperature_, self.calibration_ = model.temperature_, model.calibration_
        return model

    def _pool_scores(self, pool: Array) -> PoolScores:
        if not len(pool):
            return np.zeros((0, 1)), np.zeros((0, 1))
        scores = self.estimator_._candidate_scores(pool)
        embedding = self.estimator_._label_embedding(pool)
        return embedding, log_softmax(scores / self.temperature_, axis=1)

    def _parameters(self) -> tuple[object, Any]:
        return wrapped_parameters(self)

    def _scores(self, X: Array, vectors: Array) -> Array:
        return self.estimator_._scores(X, vectors)

    def _label_embedding(self, X: Any) -> Array:
        return self.estimator_._label_embedding(X)

    def _semantic_width(self) -> int:
        return self.estimator_._semantic_width()
