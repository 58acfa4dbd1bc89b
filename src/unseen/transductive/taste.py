"""TASTE: transductive adaptive structural embedding, SPASS and ASTE together."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.aste import DESCENT
from unseen.inductive.bilinear import (
    BilinearClassifier,
    Choice,
    semantic_coordinates,
    semantic_ridge,
)
from unseen.published import PAPER, choices, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import constant
from unseen.solvers.moments import Sums
from unseen.solvers.structural import StructuralSolution
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.transductive._structural_descent import StructuralDescent
from unseen.transductive._structural_problem import Domain, StructuralProblem
from unseen.transductive.rounds import PoolScorer, SelfPacedRounds
from unseen.transductive.selection import Selection, reviewed_strategy
from unseen.typing import Array, CandidateClasses, RandomState, RowValues

ROUND_C = 0.3
"""C of the rounds, in units of the mean diagonal of 2XᵀX, when it is not given by hand. Inductive folds
cannot choose it: they prefer a strong regulariser, which shrinks all scores towards zero and lets
classes with large patterns draw the pool to themselves. 0.3 has the best mean over folds of seen
classes of CUB, AwA1 and letters that simulate transduction (tried: 0.01, 0.03, 0.1, 0.3, 1)."""


class TASTE(TransductiveClassifier, BilinearClassifier):
    """ASTE that also learns from trusted predictions of the unlabelled rows.

        min over V, u  Σₙ [ Δₙ + F(xₙ, f(xₙ)) − F(xₙ, yₙ) ]                     Eq. (17)–(20)
                     + ω Σₘ uₘ ‖f(xₘ) − AₜᵀVᵀxₘ‖²  +  C/2 (‖VAₛ‖² + ‖VAₜ‖²)

    n runs over labelled rows with semantics Aₛ (q×K), m over the pool with semantics Aₜ (q×L) of the
    candidates, f(xₘ) are pseudo-labels and uₘ says which of them are trusted. Rounds alternate between
    u, by a selection strategy, and V, by the exact solver of ASTE.

    Y. Yu, Z. Ji, J. Guo and Y. Pang, "Transductive zero-shot learning with adaptive structural
    embedding". Deviations, besides those of :class:`~unseen.ASTE`:

    - ``selection="balanced"`` by default: the paper's one threshold (``"threshold"``) collapses on
      real data.
    - The start is :class:`~unseen.ASTE` as it is. In the rounds the regulariser measures V by the
      within-class covariance of the seen rows, shrunk to its mean variance (``shrinkage=None`` gives
      the paper's plain norm), and "auto" means a fixed, moderate C. Fast training on wide rows
      knows that covariance in a small subspace about the class means.
    - Selection leans to equal class shares where a review by rehearsals on seen classes finds the
      pool even, else to the shares that the pool shows.
    - ``solver="sgd"`` is the paper's descent: every round goes on from the V of the round before with
      batches of labelled and trusted rows; its parameters are those of ASTE's.
    - ω gives the pool as much weight as the labelled rows (``pool_weight="auto"``); the paper writes
      no weight, ``pool_weight=1``.

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
    pool_weight : float or "auto"
    settle : int
        Rounds after the last, until no prediction changes.
    tol : float
        Relative duality gap of the last round's convex problem.
    solver : {"exact", "sgd"}
        With "sgd" the regulariser is the plain norm: ``shrinkage`` must be None.
    max_iter, step_scale, start_scale, init, random_state
        Parameters of the descent as in :class:`~unseen.ASTE`; ``max_iter`` are its rounds of 150 steps.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
    compatibility_ : array of shape (p, q)
    inductive_ : array of shape (p, q)
        V before the first round.
    duality_gap_, relative_gap_ : float
        The certificate of the last round, for its pseudo-labels; NaN if that round trusted no row.
    C_, mu_ : float
    review_ : Review or None
        What rehearsals on seen classes said of the pool.

    Examples
    --------
    >>> from unseen import TASTE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> TASTE(semantics).fit(X, ["cat", "cat", "dog", "dog", None]).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        *DESCENT,
        sets(
            "selection", "threshold", PAPER, "Eq. (22), with θ = (0.5, 0.7, 0.9, 1)·δ in Section V-A."
        ),
        sets("pool_weight", 1.0, PAPER, "Eq. (17) has no weight."),
        sets("shrinkage", None, PAPER, "Eq. (20): the plain norm."),
        sets("settle", 0, PAPER, "One round for each θ."),
    )

    citation = Citation(
        "Yu, Ji, Guo and Pang",
        "Transductive zero-shot learning with adaptive structural embedding",
        "TNNLS",
        2017,
    )

    advice = Advice(
        cost=(
            "that of ASTE, and in each round one pass over the trusted rows of the pool and one or "
            "two steps of the solver"
        ),
        take="you have the pool and want the paper's model, with a certificate for its last round",
        leave=(
            "class sizes of the pool may differ widely, or classes have only a few rows: the rounds "
            "lose accuracy there"
        ),
    )

    takes_chunks = True

    inductive_: Array
    duality_gap_: float
    relative_gap_: float
    objective_: float
    C_: float
    mu_: float
    takes_known: ClassVar[bool] = True
    takes_class_means: ClassVar[bool] = True

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        C: float | str = "auto",
        mu: float | str = "auto",
        selection: object = "balanced",
        shrinkage: float | None = 0.2,
        pool_weight: float | str = "auto",
        settle: int = 2,
        tol: float = 1e-3,
        solver: str = "exact",
        max_iter: int = 100,
        step_scale: float | str = "curvature",
        start_scale: float | str = "curvature",
        init: str = "normal",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.C = C
        self.mu = mu
        self.selection = selection
        self.shrinkage = shrinkage
        self.pool_weight = pool_weight
        self.settle = settle
        self.tol = tol
        self.solver = solver
        self.max_iter = max_iter
        self.step_scale = step_scale
        self.start_scale = start_scale
        self.init = init
        self.random_state = random_state

    def _fit_split(self, split: Split, compress: Compress | None) -> RowValues:
        strategy, self.review_ = reviewed_strategy(self.selection, split, type(self).__name__)
        problem = self._start(split, compress)
        if not len(split.pool):
            self.history_ = []
            return constant(split.pool, 0)
        scored_pool = PoolScorer(self, split.pool, split.vectors)
        rounds = SelfPacedRounds(scored_pool, strategy, self.settle, split.known, split.observer)
        for selection in rounds:
            trusted = self._trusted(split, selection, problem.total, compress)
            self._take(problem.with_pseudo_labels(trusted, self.tol, rounds.last), split.pool.dtype)
        self.history_ = rounds.history
        return rounds.first_round

    def _trusted(
        self, split: Split, selection: Selection, total: float, compress: Compress | None
    ) -> Rows:
        """Return the pool with pseudo-labels; weights are times ω ("auto": ``total`` / rows)."""
        if compress is not None:  # rows that are not trusted have weight 0 in the means
            pool = Rows(split.pool, selection.codes, selection.weights)
            means, codes = compress(*pool.totals(len(split.vectors)), split.pool.dtype)
            return Rows(means, codes, np.full(len(means), self._omega(total, len(means))))
        omega = self._omega(total, len(split.pool))
        return Rows(split.pool, selection.codes, selection.weights_times(omega))

    def _omega(self, total: float, rows: int) -> float:
        """Return ω for so many rows of the pool; ``total`` is the weight of the labelled rows."""
        by_hand = self._number("pool_weight")
        return total / rows if by_hand is None else by_hand

    def _start(self, split: Split, compress: Compress | None) -> StructuralProblem | StructuralDescent:
        """Solve ASTE on the labelled rows; return the problem that the rounds solve."""
        seen, rows, held, full = split.seen, split.rows, None, None
        rounds = len(split.pool) > 0
        if compress is not None:  # one pass for the means and for the covariance
            full = Sums.of(rows, len(seen))
            held, rows = rows, Rows(*compress(full.labels, full.counts, rows.X.dtype))
        C, mu = self._number("C"), self._number("mu")
        choice = self._choose_ridges(rows, seen.T, C, mu, held=held)
        if self.solver != "exact":
            return self._start_descent(split, rows, choice, held)
        problem = StructuralProblem(rows, *self._domains(split, choice.mu), choice.sums, choice.C)
        self._take(problem.labelled_only(self.tol, not rounds), split.rows.X.dtype)
        self.inductive_ = self.compatibility_
        self._calibrate(split.rows, seen, choice.temperature)
        self.C_, self.mu_ = choice.C, choice.mu
        shrinkage = self._share("shrinkage")
        if not rounds or (shrinkage is None and C is not None):
            return problem
        if C is None and split.described:
            self.C_ = ROUND_C * choice.unit
        problem.measure(self.C_, shrinkage, full)
        return problem

    def _domains(self, split: Split, mu: float) -> tuple[Domain, Domain, Array]:
        """Return the seen classes and the candidates in coordinates of their span, and its basis."""
        coordinates, span = semantic_coordinates(np.concatenate([split.seen, split.vectors]).T)
        A, B = np.split(coordinates, [len(split.seen)], axis=1)
        return Domain(A, semantic_ridge(A, mu)), Domain(B, semantic_ridge(B, mu)), span

    def _start_descent(
        self, split: Split, rows: Rows, choice: Choice, held: Rows | None
    ) -> StructuralDescent:
        """Descend on the labelled rows; the rounds go on from there."""
        if self.solver != "sgd":
            self._refuse("solver", "'exact' or 'sgd'")
        if self.shrinkage is not None:
            self._refuse("shrinkage", "None with solver='sgd'")
        self.C_, self.mu_ = choice.C, choice.mu
        problem = StructuralDescent(self, rows, split.seen.T, split.vectors.T, self.C_, self.mu_, held)
        self._take(problem.labelled_only(self.tol), split.rows.X.dtype)
        self.inductive_ = self.compatibility_
        self._calibrate(split.rows, split.seen, choice.temperature)
        return problem

    def _takes_chunks(self) -> bool:
        return self.solver == "exact"

    def _chosen(self) -> dict[str, float]:
        return {"C": self.C_, "mu": self.mu_}

    def _take(self, solution: StructuralSolution, dtype: npt.DTypeLike) -> None:
        self.compatibility_ = solution.compatibility.astype(dtype)
        self.objective_, self.n_iter_ = solution.objective, solution.n_iter
        gaps = (solution.gap, solution.relative_gap) if solution.certified else (np.nan, np.nan)
        self.duality_gap_, self.relative_gap_ = gaps
