"""RKT: relational knowledge transfer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.rows.passes import class_sums
from unseen.solvers.dictionary import sparse_codes
from unseen.statistics.visual_space import prototype_scores
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.transductive.selection import BalancedSelection
from unseen.typing import Array, CandidateClasses


class RKT(PointClassifier):
    """Unseen classes are sparse combinations of seen ones, by semantics; virtual rows carry them over.

        relation   min over αᵢ  ½‖aᵢ − Σₖ αᵢₖ aₖ‖² + β‖αᵢ‖₁
        transfer   virtual rows of class i: normal, with mean Σₖ αᵢₖ mₖ and the seen covariance Σ
        pool       bᵢ = ( v Σₖ αᵢₖ mₖ + Σₘ uₘᵢ zₘ ) / ( v + Σₘ uₘᵢ )

    aᵢ is the vector of unseen class i, aₖ and mₖ vector and mean of seen class k (all centred), Σ the
    within-class covariance. A classifier learned from virtual rows alone is, in the limit of many of
    them, linear discriminant analysis: the nearest mean in whitened space. That is the start. In the
    rounds, u are trusted rows of the pool that join v virtual ones.

    D. Wang, Y. Li, Y. Lin and Y. Zhuang, "Relational knowledge transfer for zero-shot learning", AAAI
    2016. Deviations:

    - The original does not look at the pool: the start (``rounds=0``) is its idea, the rounds are the
      self-paced strategy of this library. It is here because "Wang et al." of Table III of the paper on
      TASTE may mean it.
    - The limit of many virtual rows takes the place of a sample and of a regression to semantics.
    - Coefficients may be negative, as there; β is a share of the largest correlation. The original's
      noise is the same in all directions.
    - A class that is no candidate at ``fit`` and comes later is placed by ridge regression.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    penalty : float
        β.
    virtual : float
        v, as a share of the mean class size of the pool.
    rounds : int
        At most; 0 is the original, without the pool.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.
    center : bool
        Whether vectors and means of classes are taken from the mean of the seen ones before they are
        related.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
    relations_ : array of shape (L, K)
        α; one-hot for a candidate with labelled rows.
    points_, start_ : array of shape (L, d)

    Examples
    --------
    >>> from unseen import RKT
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> RKT(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        sets("rounds", 0, PAPER, "The original does not look at the pool."),
        holds(PAPER, "Sparse relations between classes, carried over to virtual rows."),
        sets(
            "shrinkage",
            None,
            CODE,
            "YanaLee/Relational-Knowledge-Transfer-for-ZSL, generateKRTdata: features as they are.",
        ),
        sets("center", False, CODE, "The same: class vectors and means as they are."),
        holds(
            CODE,
            "β is 0.5 on AwA and 0.05 on CUB, in the units of their vectors; here it is a share of the "
            "largest product of two vectors.",
        ),
        holds(
            CODE,
            "1,500 (AwA) or 100 (CUB) virtual rows a class are mixtures of class means with normal "
            "noise of 0.1, and ESZSL learns from them; the nearest mean, without noise, answers here.",
        ),
    )

    citation = Citation(
        "Wang, Li, Lin and Zhuang",
        "Relational knowledge transfer for zero-shot learning",
        "AAAI",
        2016,
    )

    advice = Advice(
        cost="one lasso for each unseen class; a pass over the pool in each round",
        take="seconds matter and unseen classes resemble seen ones",
        leave="you compare with the paper: as published it does not use the pool",
    )

    relations_: Array
    takes_known: ClassVar[bool] = True
    _not_negative: ClassVar[tuple[str, ...]] = ("penalty", "virtual")

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        penalty: float = 0.03,
        virtual: float = 0.3,
        rounds: int = 8,
        shrinkage: float | str | None = "auto",
        center: bool = True,
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.penalty = penalty
        self.virtual = virtual
        self.center = center

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"penalty": (0.01, 0.03, 0.1), "virtual": (0.1, 0.3, 1.0)}

    def _start(self, vectors: Array, own: Array) -> Array:
        K, free = len(self._seen_points), own < 0
        self.relations_ = np.zeros((len(own), K))
        self.relations_[~free, own[~free]] = 1
        if self._map is not None and free.any():
            seen = self._seen_vectors()
            center = seen.mean(axis=0) if self.center else 0.0
            A, B = vectors[free] - center, seen - center
            largest = float(np.abs(A @ B.T).max(axis=1).mean())
            self.relations_[free] = sparse_codes(A, B, self.penalty * largest)
        points = self.relations_ @ self._seen_points.astype(float)
        if not self.center:  # mixtures are of features as they are, and the space has another origin
            zero = self._space.of_means(np.zeros((1, len(self._space.center))))
            points = points + (1 - self.relations_.sum(axis=1, keepdims=True)) * zero
        return np.asarray(points)

    def _move(self, problem: PoolProblem) -> Array:
        points, L = problem.start, len(problem.start)
        labels = problem.labels(points)
        v = self.virtual * len(problem.Z) / L
        strategy = BalancedSelection()
        shares = strategy.shares + (1.0,) * max(0, self.rounds - len(strategy.shares))
        for share in shares[: self.rounds]:
            S = prototype_scores(problem.Z, points.astype(problem.Z.dtype)).astype(float)
            log_p = problem.known.clamp_log_probabilities(log_softmax(S, axis=1))
            selection = strategy.select(S, log_p, share).with_known(problem.known)
            chosen, codes = selection.chosen, selection.codes[selection.chosen]
            sums = class_sums(problem.Z[chosen], codes, L).T
            counts = np.bincount(codes, minlength=L)[:, None]
            moved = (v * problem.start + sums) / np.maximum(v + counts, 1e-12)
            free = problem.free & (v + counts[:, 0] > 0)
            points = points.copy()
            points[free] = moved[free]
            loss = float(-S[np.arange(len(S)), labels].mean())
            labels, settled = self._relabel(problem, points, labels, selection.weights > 0, loss)
            if share == 1.0 and settled:
                break
        return points
