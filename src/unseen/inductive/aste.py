"""ASTE: adaptive structural embedding, by an exact solver or by the paper's descent."""

from __future__ import annotations

from functools import partial

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._paper_descent import (
    descent_coordinates,
    descent_generator,
    descent_schedule,
    descent_start,
)
from unseen.inductive.bilinear import (
    BilinearClassifier,
    Choice,
    in_own_span,
    semantic_coordinates,
)
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.gradient_descent import lipschitz
from unseen.solvers.losses import (
    adaptive_structural_cost,
    structural_objective,
    structured_hinge,
)
from unseen.solvers.scheduled_descent import scheduled_descent
from unseen.solvers.structural import frank_wolfe
from unseen.typing import Array, CandidateClasses, RandomState

DESCENT = choices(
    sets("solver", "sgd", PAPER, "Algorithm 1 and Eq. (14): descent in batches of 50."),
    holds(PAPER, "Step sizes 1, 0.1 and 0.01, 50 steps each as a round; a start from the normal law."),
    sets("C", 0.1, PAPER, "Section V-A fixes C = 0.1."),
    sets("mu", 0.0, PAPER, "Eq. (11) has no semantic ridge."),
    sets(
        "step_scale",
        "curvature",
        UNVERIFIED,
        "The printed steps diverge on every set tried here, "
        "and the paper does not say how its features were scaled; 'paper' takes them literally.",
    ),
    sets("start_scale", "curvature", UNVERIFIED, "The variance of the start is not stated."),
    sets("max_iter", 100, UNVERIFIED, "Algorithm 1 ends under a tolerance ε that is not stated."),
)
"""The settings of the paper that ASTE and TASTE share."""


class ASTE(BilinearClassifier):
    """A structural SVM with an adaptive margin.

        min over V  C/2 ‖VA‖² + Σₙ [ Δₙ + F(xₙ, f(xₙ)) − F(xₙ, yₙ) ]           Eq. (11)
        F(x, y) = xᵀVAy,  f(x) = argmax F(x, ·),  Δₙ = ‖AᵀVᵀxₙ − yₙ‖²

    X (N×p) are rows, yₙ one-hot labels, A (q×K) semantics of the seen classes, V (p×q) the
    compatibility. A row that is predicted right costs Δ, the more the less sure it is; one that is
    predicted wrong also pays the distance between the winner's score and its own.

    Y. Yu, Z. Ji, J. Guo and Y. Pang, "Transductive zero-shot learning with adaptive structural
    embedding". Deviations:

    - The paper calls the problem concave-convex and descends to a local minimum. It is convex, since
      F(x, f(x)) is a maximum of linear functions; ``solver="exact"`` solves it to a certified duality
      gap by Frank–Wolfe steps on the dual.
    - A semantic ridge μ, as ESZSL's λ, turns AAᵀ into AAᵀ + μI. ``mu=0`` gives Eq. (11) as
      printed, with the V of minimum norm where AAᵀ is singular.
    - C and μ are chosen on class-wise folds unless they are given; the paper fixes C = 0.1.
    - ``solver="sgd"`` is the paper's procedure: batches of 50, step sizes 1, 0.1, 0.01 with 50
      steps each as a round, a start from the normal distribution. By default its steps are divided by
      the curvature of the loss (as printed, 1 and 0.1 diverge on most features: ``step_scale="paper"``
      shows it), the start has the scale of one step and lies in the span of A (a component outside it
      never changes and spoils unseen classes: ``start_scale="paper"`` has it), and a number of rounds
      takes the place of the tolerance ε that the paper does not state (``epsilon`` sets one).
    - ``margin="fixed"``, for comparison, is the structural SVM that the adaptive margin replaces:
      maxₖ [ 1(k ≠ yₙ) + F(xₙ, k) − F(xₙ, yₙ) ]. Eq. (8) as printed charges a row that is right
      the constant 1, so that V = 0 would be optimal.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: an ordinary linear
        classifier.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    C : float or "auto"
        The weight of the regulariser. "auto" chooses on class-wise folds.
    mu : float or "auto"
        The semantic ridge.
    solver : {"exact", "sgd"}
    step_scale, start_scale : {"curvature", "paper"} or float
        Units of the descent's step sizes and of its start: the curvature of the loss, the paper's
        literally, or a factor and a standard deviation.
    init : {"normal", "eszsl"}
        Where the descent starts: at random, or at ESZSL's solution, as the paper's Fast-ASTE.
    epsilon : float, optional
        The descent stops after a round with an objective below; None runs ``max_iter`` rounds.
    margin : {"adaptive", "fixed"}
        Δ of Eq. (9), or 1; "fixed" needs ``solver="sgd"``.
    tol : float
        The relative duality gap at which the exact solver stops.
    max_iter : int
        Frank–Wolfe steps at most, or rounds of the descent.
    random_state : int, RandomState or None
        For the descent's start and batches.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)
    duality_gap_ : float
        How far the objective can be above the optimum; ``relative_gap_`` is its share of the
        objective. NaN for the descent, which has no certificate.
    objective_ : float
        Eq. (11) at the solution, with the semantic ridge.
    n_iter_ : int
    C_, mu_ : float
        The ridges in use.

    Examples
    --------
    >>> from unseen import ASTE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = ASTE(semantics).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="all").predict([[0.8, 0.9]])
    array(['fox'], dtype='<U3')
    >>> model.relative_gap_ <= 1e-3
    True
    """

    published = DESCENT

    citation = Citation(
        "Yu, Ji, Guo and Pang",
        "Transductive zero-shot learning with adaptive structural embedding",
        "TNNLS",
        2017,
    )

    advice = Advice(
        cost="that of ESZSL and one or two further passes; a duality gap certifies the optimum",
        take=(
            "you are not sure which inductive method to take, features are weak, or you need a "
            "certificate"
        ),
        leave=(
            "unlabelled rows of the unseen classes are at hand: TASTE and SelfPacedPrototypes end "
            "far higher"
        ),
    )

    takes_chunks = True

    duality_gap_: float
    relative_gap_: float
    objective_: float
    n_iter_: int
    C_: float
    mu_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        C: float | str = "auto",
        mu: float | str = "auto",
        solver: str = "exact",
        tol: float = 1e-3,
        max_iter: int = 100,
        random_state: RandomState = None,
        step_scale: float | str = "curvature",
        start_scale: float | str = "curvature",
        init: str = "normal",
        epsilon: float | None = None,
        margin: str = "adaptive",
    ) -> None:
        super().__init__(semantics, candidates)
        self.C = C
        self.mu = mu
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.step_scale = step_scale
        self.start_scale = start_scale
        self.init = init
        self.epsilon = epsilon
        self.margin = margin

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        if self.solver not in ("exact", "sgd"):
            self._refuse("solver", "'exact' or 'sgd'")
        if self.margin != "adaptive" and (self.margin, self.solver) != ("fixed", "sgd"):
            self._refuse("margin", "'adaptive', or with solver='sgd' 'fixed'")
        A = vectors.T
        literal = self.solver == "sgd" and self.start_scale == "paper"
        in_span, held, basis = (rows, held, None) if literal else in_own_span(rows, held)
        C, mu = self._number("C"), self._number("mu")
        choice = self._choose_ridges(in_span, A, C, mu, held=held, width=rows.X.shape[1])
        self.C_, self.mu_ = choice.C, choice.mu
        exact = self.solver == "exact"
        V = self._solve(in_span, A, choice) if exact else self._descend(in_span, A, held)
        self.compatibility_ = (V if basis is None else basis @ V).astype(rows.X.dtype)
        return choice.temperature

    def _solve(self, rows: Rows, A: Array, choice: Choice) -> Array:
        X, codes, weights = rows
        coordinates, span = semantic_coordinates(A)
        solution = frank_wolfe(
            X,
            codes,
            coordinates,
            choice.solver(coordinates),
            weights=weights,
            labels=choice.sums.labels,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.objective_, self.n_iter_ = solution.objective, solution.n_iter
        self.duality_gap_, self.relative_gap_ = solution.gap, solution.relative_gap
        return solution.compatibility @ span.T

    def _takes_chunks(self) -> bool:
        return self.solver == "exact"

    def _chosen(self) -> dict[str, float]:
        return {"C": self.C_, "mu": self.mu_}

    def _settings_to_rehearse(self, rows: float, classes: float) -> dict[str, float]:
        return {"C": rows * self.C_, "mu": classes * self.mu_}

    def _descend(self, rows: Rows, A: Array, held: Rows | None) -> Array:
        """Run Algorithm 1: rounds of mini-batch descent."""
        X, codes, weights = rows
        random = descent_generator(self.random_state)
        schedule = descent_schedule(self)
        coordinates, E = descent_coordinates(A, schedule)
        # The batch loss is the mean over rows: its curvature is 2‖x‖²λ_max(AAᵀ + μI).
        curvature = 2 * lipschitz(X, A, self.mu_)
        squares = np.einsum("ij,ij->i", coordinates, coordinates) + self.mu_
        V, self.n_iter_ = scheduled_descent(
            X,
            codes,
            coordinates,
            adaptive_structural_cost if self.margin == "adaptive" else structured_hinge,
            descent_start(self, rows, A, E, schedule, curvature, random, held),
            schedule,
            curvature,
            random=random,
            weights=weights,
            decay=self.C_ / len(X) * squares,
            ridge=self.mu_,
            objective=partial(_objective, rows, coordinates, self.C_, self.mu_),
        )
        V = V.astype(float) @ E.T
        self.objective_ = structural_objective(X, codes, A, V, self.C_, self.mu_, weights)
        self.duality_gap_ = self.relative_gap_ = float("nan")
        return V


def _objective(rows: Rows, A: Array, C: float, mu: float, V: Array) -> float:
    X, codes, weights = rows
    return structural_objective(X, codes, A, V.astype(float), C, mu, weights)
