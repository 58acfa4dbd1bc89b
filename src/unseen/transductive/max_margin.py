"""MaxMarginSSL: one max-margin problem over labelled classes and clusters of the pool."""

from __future__ import annotations

from itertools import repeat
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from unseen.advice import Advice
from unseen.base import ZeroShotClassifier
from unseen.citation import Citation
from unseen.inductive.bilinear import BilinearClassifier, semantic_coordinates
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.kernels import scaled
from unseen.rows.labelled import Rows
from unseen.rows.passes import (
    blocks,
)
from unseen.solvers.gradient_descent import descend, lipschitz
from unseen.solvers.losses import structured_hinge
from unseen.statistics.scorer import Scorer, SignedRoot, UnitLength
from unseen.statistics.visual_space import SCALED_ROWS, to_be_powered
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.transductive.rounds import PoolScorer, PoolScores, SelfPacedRounds
from unseen.transductive.selection import reviewed_strategy
from unseen.typing import Array, CandidateClasses, Codes, RandomState

BATCH = 50


class MaxMarginSSL(TransductiveClassifier, BilinearClassifier):
    """A max-margin classifier over seen classes and, with labels that it finds, over the pool.

        min over V, B  Σₙ max over seen k [ 1(k ≠ yₙ) + F(xₙ, k) − F(xₙ, yₙ) ]
                     + ω Σₘ uₘ max over candidates k [ 1(k ≠ bₘ) + F(xₘ, k) − F(xₘ, bₘ) ]
        subject to   class shares of B,   with F(x, k) = xᵀVaₖ

    n runs over labelled rows, m over the pool; bₘ is the pseudo-label of row m, of which every class
    gets a like share, uₘ whether it is trusted, and aₖ the vector of class k. Rounds alternate between
    B and u (an assignment by optimal transport) and V (averaged descent from its last value).

    X. Li and Y. Guo, "Max-margin zero-shot learning for multi-class classification", AISTATS 2015, and
    X. Li, Y. Guo and D. Schuurmans, "Semi-supervised zero-shot classification with label representation
    learning", ICCV 2015. Deviations:

    - The label embedding is the given semantics; the originals also learn or refine it, in a dual form.
    - Few passes of averaged descent take the place of a regulariser and of their solver, as in
      :class:`~unseen.SJE`, which is the start.
    - Rows are signed roots of the features at unit length, as the methods with one point a class have
      them; ``normalise=False`` leaves them as they are. Without it, rounds lose on AwA1's features.
    - Pseudo-labels come from easy to hard, by the shared self-paced rounds. The exact form of the
      originals' class-balance constraint is not verified.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: self-training.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    selection : {"balanced", "transport", "threshold"} or selection strategy
    learning_rate : float
        The step size, in units of the inverse curvature of the loss.
    epochs : int
        Passes over the data, for the start and for each round.
    pool_weight : float
        ω, in units that give the pool as much weight as the labelled rows.
    normalise : bool or "auto"
        Take signed roots of the features and give rows unit length; "auto": from 64 columns on.
    random_state : int, RandomState or None

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
    compatibility_, inductive_ : array of shape (p, q)
        V after the rounds, and before the first.
    review_ : Review or None
        What rehearsals on seen classes said of the pool.

    Examples
    --------
    >>> from unseen import MaxMarginSSL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> model = MaxMarginSSL(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog", None])
    >>> model.transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "A max-margin loss on labelled rows and on pseudo-labels of the pool, together."),
        sets("normalise", False, UNVERIFIED, "Features as they are."),
        sets(
            "selection",
            "transport",
            UNVERIFIED,
            "A class-balance constraint; its exact form was not read.",
        ),
    )

    citation = Citation(
        "Li and Guo",
        "Max-margin zero-shot learning for multi-class classification",
        "AISTATS",
        2015,
        table_name="Li & Guo",
    )

    advice = Advice(
        cost="a few passes over labelled rows and pool in each round",
        take="you want a max-margin loss on the pool as well",
        leave="you need the same answer on every machine: it is a stochastic descent",
    )

    inductive_: Array
    takes_known: ClassVar[bool] = True

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        selection: Any = "balanced",
        learning_rate: float = 1.0,
        epochs: int = 5,
        pool_weight: float = 1.0,
        normalise: bool | str = "auto",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.selection = selection
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.pool_weight = pool_weight
        self.normalise = normalise
        self.random_state = random_state

    def _normalise_by_hand(self) -> bool | None:
        value = self.normalise
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        self._refuse("normalise", "'auto', True or False")

    @classmethod
    def search_space(cls) -> dict[str, tuple[object, ...]]:
        """Return a small grid for class-wise folds."""
        return {"pool_weight": (0.3, 1.0, 3.0), "selection": ("balanced", "transport")}

    def _fit_split(self, split: Split, compress: Compress | None) -> Array:
        by_hand = self._normalise_by_hand()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        seen, vectors, pool = split.seen, split.vectors, split.pool
        labelled, codes, weights = split.rows
        N, K, p, dtype = len(labelled), len(seen), labelled.shape[1], labelled.dtype
        self._powered = to_be_powered(p) if by_hand is None else by_hand
        strategy, self.review_ = reviewed_strategy(self.selection, split, type(self).__name__)
        coordinates, E = semantic_coordinates(np.concatenate([seen, vectors]).T)
        random = np.random.default_rng(seed)
        zero = np.zeros((p, len(coordinates)), dtype=dtype)
        rows = Rows(self._gathered(labelled), codes, weights)
        V = self._descend(rows, coordinates[:, :K], zero, K, random)
        del rows  # one copy of the rows at a time
        self.inductive_ = self.compatibility_ = (V @ E.T).astype(dtype)
        self._calibrate(split.rows, seen)
        self.history_ = []
        if not len(pool):
            return np.zeros(len(pool), dtype=np.intp)
        X = self._gathered(labelled, pool)
        weights = np.ones(N) if weights is None else weights
        scored_pool = _Probabilities(self, pool, vectors)
        rounds = SelfPacedRounds(scored_pool, strategy, known=split.known, observer=split.observer)
        for selection in rounds:
            omega = self.pool_weight * float(weights.sum()) / max(float(selection.weights.sum()), 1e-12)
            joined = Rows(
                X,
                np.concatenate([codes, K + selection.codes]),
                # A row of weight 0 is never drawn.
                np.concatenate([weights, omega * selection.weights]),
            )
            V = self._descend(joined, coordinates, V, K, random)
            self.compatibility_ = (V @ E.T).astype(dtype)
        self.history_ = rounds.history
        return np.asarray(rounds.first_round)

    def _gathered(self, *parts: Array) -> Array:
        """Return rows in one array, powered if they are to be: the only copy of them."""
        X = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=parts[0].dtype)
        begin = 0
        for part in parts:
            for rows in blocks(len(part), SCALED_ROWS):
                X[begin : begin + len(part)][rows] = self._prepared(part[rows])
            begin += len(part)
        return X

    def _prepared(self, X: Array) -> Array:
        return scaled(X, "root") if self._powered else X

    def _scores(self, X: Array, vectors: Array) -> Array:
        if not self._powered:
            return super()._scores(X, vectors)
        scores = np.empty((len(X), len(vectors)), dtype=X.dtype)
        for rows in blocks(len(X), SCALED_ROWS):
            scores[rows] = super()._scores(self._prepared(X[rows]), vectors)
        return scores

    def _scorer(self, vectors: Array) -> Scorer:
        scorer = super()._scorer(vectors)
        return scorer.after(SignedRoot(), UnitLength()) if self._powered else scorer

    def _descend(self, rows: Rows, A: Array, V: Array, K: int, random: np.random.Generator) -> Array:
        """Descend from V; codes below K compete among the first K classes, others among the rest."""
        X, codes, weights = rows
        used = len(X) if weights is None else int(np.count_nonzero(weights))
        steps = max(self.epochs * used // BATCH, 50 * self.epochs)
        step = self.learning_rate / lipschitz(X, A)
        return descend(
            X,
            codes,
            A,
            lambda scores, codes_drawn: two_group_hinge(scores, codes_drawn, K),
            V,
            repeat(step, steps),
            batch=BATCH,
            random=random,
            weights=weights,
        )

    def _label_embedding(self, X: object) -> Any:
        return ZeroShotClassifier._label_embedding(self, X)


def two_group_hinge(scores: Array, codes: Codes, first: int) -> tuple[Array, Array]:
    """Return the structured hinge in which a class competes with those of its own group only."""
    group = np.arange(scores.shape[1]) < first
    other = group[None, :] != (codes < first)[:, None]
    lowest = np.finfo(scores.dtype).min / 4
    return structured_hinge(np.where(other, lowest, scores), codes)


class _Probabilities(PoolScorer):
    """Gives probabilities in the place of scores, which are not regressed on labels here."""

    def __call__(self) -> PoolScores:
        _, log_p = super().__call__()
        return np.exp(log_p), log_p
