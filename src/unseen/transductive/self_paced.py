"""SelfPaced: SPASS, the self-paced selective strategy, around any estimator."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from unseen.advice import Advice
from unseen.inductive.wrapping import WrappingClassifier, wrapped
from unseen.rows import kernels
from unseen.rows.labelled import Rows
from unseen.rows.passes import (
    class_weights,
    joined,
    kept,
    log_probabilities,
    mapped,
)
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.transductive.rounds import PoolScores, SelfPacedRounds
from unseen.transductive.selection import reviewed_strategy
from unseen.typing import Array, CandidateClasses, Codes, RowValues


class SelfPaced(WrappingClassifier, TransductiveClassifier):
    """Teach an inductive estimator with its own trusted predictions, from easy to hard.

    Each round predicts the unlabelled rows, selects some of them with their predicted class, and fits a
    clone of the estimator on the labelled and the selected rows.

    The strategy is SPASS of Y. Yu, Z. Ji, J. Guo and Y. Pang, "Transductive zero-shot learning with
    adaptive structural embedding", Section III-B. Deviations: ``selection="balanced"``, the default,
    takes the place of the paper's one threshold, which collapses on real data and is kept as
    ``selection="threshold"``; it leans to equal class shares where a review by rehearsals on seen
    classes finds the pool even, else to the shares that the pool shows.

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
    review_ : Review or None
        What rehearsals on seen classes said of the pool.

    Examples
    --------
    >>> from unseen import ESZSL, SelfPaced
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> model = SelfPaced(ESZSL(semantics)).fit(X, ["cat", "cat", "dog", "dog", None])
    >>> model.transduction_[-1]
    np.str_('fox')
    """

    advice = Advice(
        cost="one fit of what it wraps in each round",
        take="your own estimator should learn from the pool",
        leave=(
            "what you would wrap is ASTE or a prototype method: TASTE and SelfPacedPrototypes do it "
            "better"
        ),
    )

    takes_chunks = True

    takes_known: ClassVar[bool] = True
    takes_class_means: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = None,
        selection: object = "balanced",
        settle: int = 0,
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator
        self.selection = selection
        self.settle = settle

    def _fit_split(self, split: Split, compress: Compress | None) -> RowValues:
        strategy, self.review_ = reviewed_strategy(self.selection, split, type(self).__name__)
        candidates = split.candidates
        classes = np.concatenate([self.seen_classes_, np.setdiff1d(candidates, self.seen_classes_)])
        place = {label: code for code, label in enumerate(classes.tolist())}
        code_of = np.array([place[label] for label in candidates.tolist()])
        self.estimator_ = clone(wrapped(self))
        self._teach(split.rows, self.seen_classes_, candidates, compress)
        if not len(split.pool):
            self.history_ = []
            return np.zeros(0, dtype=np.intp)
        scored_pool = partial(self._pool_scores, split.pool)
        rounds = SelfPacedRounds(scored_pool, strategy, self.settle, split.known, split.observer)
        for selection in rounds:
            more = selection.of(split.pool).recoded(code_of)
            self._teach(_with_rows(split.rows, more), classes, candidates, compress)
        self.history_ = rounds.history
        return rounds.first_round

    def _teach(self, rows: Rows, classes: Array, candidates: Array, compress: Compress | None) -> None:
        """Fit a clone; after the first, with the parameters and the temperature that it chose."""
        before = self.estimator_
        model = clone(before)
        first = not hasattr(before, "temperature_")
        if first:
            model.set_params(semantics=self._parameters()[0], candidates=candidates)
        else:
            model.set_params(**before._chosen())
        used = np.flatnonzero(class_weights(rows.codes, len(classes)))
        rows, held = rows._replace(codes=mapped(kernels.place_among, rows.codes, given=(used,))), None
        if compress is not None:
            held, rows = rows, Rows(*compress(*rows.totals(len(used)), rows.X.dtype))
        model._fit_rows(rows, classes[used], held)
        if not first and before._chosen():
            model.temperature_, model.calibration_ = before.temperature_, before.calibration_
        self._adopt(model)

    def _pool_scores(self, pool: object) -> PoolScores:
        scores = self.estimator_._candidate_scores(pool)
        embedding = kept(self.estimator_._label_embedding(pool))
        return embedding, kept(log_probabilities(scores, self.temperature_))

    def _takes_chunks(self) -> bool:
        return bool(wrapped(self)._takes_chunks())


def _with_rows(rows: Rows, more: Rows) -> Rows:
    """Return labelled rows and then others, all with weights."""
    dtype = rows.X.dtype
    first, second = (
        part._replace(weights=mapped(_weights_or_ones, part.codes, part.weights, given=(dtype,)))
        for part in (rows, more)
    )
    return Rows(*(joined(a, b) for a, b in zip(first, second, strict=True)))


def _weights_or_ones(codes: Codes, weights: Array | None, dtype: npt.DTypeLike) -> Array:
    """Return the weights, or one for each row."""
    return np.ones(len(codes), dtype) if weights is None else weights.astype(dtype)
