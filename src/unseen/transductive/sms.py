"""SMS: shared model space, with pseudo-labels for the pool."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.bilinear import BilinearClassifier, semantic_ridge
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.passes import (
    class_sums,
)
from unseen.solvers.moments import Moments, Ridge, one_domain
from unseen.solvers.structural import covariance_metric, ridge_by, two_domains
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.transductive.rounds import PoolScorer, SelfPacedRounds
from unseen.transductive.selection import BalancedSelection, reviewed_strategy
from unseen.transductive.taste import ROUND_C
from unseen.typing import Array, CandidateClasses


class SMS(TransductiveClassifier, BilinearClassifier):
    """Class models of seen and unseen classes share one space, and the pool helps to learn it.

        min over V, B  ‖XₛVAₛ − Yₛ‖² + ω Σₘ uₘ ‖xₘVAₜ − bₘ‖² + C/2 (‖VAₛ‖² + ‖VAₜ‖²) + μ ridge on A

    The model of a class with vector a is w = Va, so that V is the space of models that all classes
    share. Xₛ, Yₛ and Aₛ are labelled rows, one-hot labels and semantics of seen classes, Aₜ semantics
    of the candidates, bₘ the one-hot pseudo-label of row m of the pool and uₘ whether it is trusted.
    Rounds alternate: B and u from V, V from B in closed form (two generalised eigenproblems, or
    conjugate gradients).

    Y. Guo, G. Ding, X. Jin and J. Wang, "Transductive zero-shot recognition via shared model space
    learning", AAAI 2016. Deviations:

    - The rounds are those of :class:`~unseen.TASTE`, with its ``selection``: with all rows and no
      balance, classes with large patterns draw the pool to themselves. How the original keeps its
      labels from that, and its weights, are not verified.
    - As for TASTE, the regulariser of the rounds measures V by the within-class covariance of the seen
      rows, shrunk (``shrinkage=None``: plain norm); C is fixed there unless it is given.
    - The start is :class:`~unseen.ESZSL`.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: self-training.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    C, mu : float or "auto"
        Regulariser and semantic ridge; "auto" chooses on class-wise folds.
    selection : {"balanced", "threshold"} or selection strategy
    shrinkage : float in (0, 1] or None
    settle : int
        Rounds after the last, until no prediction changes.
    pool_weight : float or "auto"
        ω.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
    compatibility_, inductive_ : array of shape (p, q)
        V after the rounds, and before the first.
    C_, mu_ : float
    review_ : Review or None
        What rehearsals on seen classes said of the pool.

    Examples
    --------
    >>> from unseen import SMS
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> SMS(semantics).fit(X, ["cat", "cat", "dog", "dog", None]).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "One space of models for seen and unseen classes, labels of the pool in turn."),
        sets("shrinkage", None, UNVERIFIED, "The plain norm."),
        sets(
            "selection",
            BalancedSelection(shares=(1.0,), prior=None),
            UNVERIFIED,
            "All rows of the pool in every round, no balance.",
        ),
        sets("pool_weight", 1.0, UNVERIFIED, "Its weights could not be read."),
        sets(
            "settle",
            10,
            UNVERIFIED,
            "Rounds until labels stay as they are; the original's number of rounds could not be read.",
        ),
    )

    citation = Citation(
        "Guo, Ding, Jin and Wang",
        "Transductive zero-shot recognition via shared model space learning",
        "AAAI",
        2016,
    )

    advice = Advice(
        cost="that of TASTE",
        take="you want TASTE's rounds from ESZSL's squared loss, on features as they are",
        leave="you need a certificate: TASTE has one",
    )

    inductive_: Array
    C_: float
    mu_: float
    takes_known: ClassVar[bool] = True

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        C: float | str = "auto",
        mu: float | str = "auto",
        selection: object = "balanced",
        shrinkage: float | None = 0.2,
        settle: int = 2,
        pool_weight: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.C = C
        self.mu = mu
        self.selection = selection
        self.shrinkage = shrinkage
        self.settle = settle
        self.pool_weight = pool_weight

    @classmethod
    def search_space(cls) -> dict[str, tuple[object, ...]]:
        """Return a small grid for class-wise folds."""
        return {"shrinkage": (0.1, 0.2, 0.5), "selection": ("balanced", "transport")}

    def _fit_split(self, split: Split, compress: Compress | None) -> Array:
        shrinkage = self._share("shrinkage")
        A, B, dtype, pool = split.seen.T, split.vectors.T, split.rows.X.dtype, split.pool
        # The review comes first, so that its sample and the p × p sums are not in memory at once.
        strategy, self.review_ = reviewed_strategy(self.selection, split, type(self).__name__)
        C, mu = self._number("C"), self._number("mu")
        choice = self._choose_ridges(split.rows, A, C, mu)
        sums, self.C_, self.mu_ = choice.sums, choice.C, choice.mu
        H = semantic_ridge(A, self.mu_)
        V = one_domain(Ridge(sums.second, self.C_), H)(2 * sums.labels @ A.T)
        self.compatibility_ = self.inductive_ = V.astype(dtype)
        self._calibrate(split.rows, A.T, choice.temperature)
        self.history_ = []
        if not len(pool):
            return np.zeros(len(pool), dtype=np.intp)
        if C is None and split.described:
            self.C_ = 2 * ROUND_C * sums.scale
        metric = covariance_metric(sums, shrinkage)
        G, H2 = ridge_by(metric, sums.second, self.C_), semantic_ridge(B, self.mu_)
        by_hand = self._number("pool_weight")  # "auto": the pool weighs as much as the labelled rows
        omega = float(sums.counts.sum()) / len(pool) if by_hand is None else by_hand
        labels = sums.labels
        del choice, sums, V  # p × q and p × p are large: drop what the rounds do not need
        scored_pool = PoolScorer(self, pool, split.vectors)
        rounds = SelfPacedRounds(scored_pool, strategy, self.settle, split.known, split.observer)
        for selection in rounds:
            rows = selection.chosen
            X, codes, weights = pool[rows], selection.codes[rows], omega * selection.weights[rows]
            R = 2 * labels @ A.T + 2 * class_sums(X, codes, B.shape[1], weights) @ B.T
            G2 = ridge_by(metric, Moments(X, weights), self.C_)
            del X
            self.compatibility_ = two_domains(G, H, G2, H2)(R).astype(dtype)
            del G2  # release these rows before the next are gathered
        self.history_ = rounds.history
        return np.asarray(rounds.first_round)

    def _chosen(self) -> dict[str, float]:
        return {"C": self.C_, "mu": self.mu_}
