"""SJE: structured joint embedding."""

from __future__ import annotations

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._paper_descent import (
    descent_coordinates,
    descent_generator,
    descent_schedule,
    descent_start,
)
from unseen.inductive.ranking import RankingClassifier
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.gradient_descent import lipschitz
from unseen.solvers.losses import structured_hinge
from unseen.solvers.scheduled_descent import scheduled_descent
from unseen.typing import Array, CandidateClasses, Codes, RandomState


class SJE(RankingClassifier):
    """A bilinear score learned with the structured hinge, by stochastic descent.

        min over V  Σₙ maxₖ [ margin·1(k ≠ yₙ) + xₙᵀVaₖ − xₙᵀVaᵧₙ ]

    There is no regulariser: few passes over the data, and the mean of all the iterates, take its place.

    Z. Akata, S. Reed, D. Walter, H. Lee and B. Schiele, "Evaluation of output embeddings for
    fine-grained image classification", CVPR 2015. Deviations: batches of rows instead of single
    rows; a constant step, divided by the curvature, with averaging (Polyak) instead of a tuned
    decreasing one; a start at zero, so that margin and step size are a single scale.
    ``schedule="rounds"`` is the descent of the paper on ASTE, which trains SJE with settings "similar
    to ASTE": rounds of step sizes 1, 0.1, 0.01, the last V.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    learning_rate : float
        The step size, in units of the inverse curvature of the loss: scale does not matter.
    margin : float
    epochs : int
        Passes over the data.
    batch_size : int
    random_state : int, RandomState or None
    schedule : {"averaged", "rounds"}
        With "rounds", ``learning_rate``, ``epochs`` and ``batch_size`` are not used.
    max_iter, step_scale, start_scale, init
        Parameters of ``schedule="rounds"``, as in :class:`~unseen.ASTE`; ``init`` may also be "zero".

    Attributes
    ----------
    compatibility_ : array of shape (p, q)

    Examples
    --------
    >>> from unseen import SJE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SJE(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "The unregularised structured hinge with margin 1, by stochastic descent."),
        sets("batch_size", 1, PAPER, "A step for each row."),
        sets("epochs", 10, UNVERIFIED, "The original stops early on a validation set."),
        sets(
            "learning_rate",
            1.0,
            UNVERIFIED,
            "The original tunes it on a validation set; the unit here is the inverse curvature.",
        ),
    )

    citation = Citation(
        "Akata, Reed, Walter, Lee and Schiele",
        "Evaluation of output embeddings for fine-grained image classification",
        "CVPR",
        2015,
    )

    advice = Advice(
        cost="a few passes over the rows in batches",
        take="you need the structured hinge of the literature as a baseline",
        leave=(
            "you need the same answer on every machine: it is a stochastic descent, without a "
            "certificate"
        ),
    )

    _centred = False
    n_iter_: int
    """Epochs, or rounds of the schedule."""

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        learning_rate: float = 1.0,
        margin: float = 1.0,
        epochs: int = 5,
        batch_size: int = 50,
        random_state: RandomState = None,
        schedule: str = "averaged",
        max_iter: int = 100,
        step_scale: float | str = "curvature",
        start_scale: float | str = "curvature",
        init: str = "normal",
    ) -> None:
        super().__init__(semantics, candidates, learning_rate, margin, epochs, batch_size, random_state)
        self.schedule = schedule
        self.max_iter = max_iter
        self.step_scale = step_scale
        self.start_scale = start_scale
        self.init = init

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        if self.schedule == "averaged":
            self.n_iter_ = int(self.epochs)
            return super()._fit(rows, vectors, held)
        if self.schedule != "rounds":
            self._refuse("schedule", "'averaged' or 'rounds'")
        A, random, schedule = vectors.T, descent_generator(self.random_state), descent_schedule(self)
        coordinates, E = descent_coordinates(A, schedule)
        curvature = 2 * lipschitz(rows.X, A)
        self.center_, self.semantic_center_ = 0 * rows.X[0], 0 * vectors[0]
        V, self.n_iter_ = scheduled_descent(
            rows.X,
            rows.codes,
            coordinates,
            self._loss,
            descent_start(self, rows, A, E, schedule, curvature, random, held),
            schedule,
            curvature,
            random=random,
            weights=rows.weights,
        )
        self.compatibility_ = (V.astype(float) @ E.T).astype(rows.X.dtype)

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        return structured_hinge(scores, codes, self.margin)
