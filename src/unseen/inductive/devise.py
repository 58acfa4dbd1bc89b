"""DeViSE: a deep visual-semantic embedding, on given features."""

from __future__ import annotations

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.ranking import RankingClassifier
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.solvers.losses import ranking_hinge
from unseen.typing import Array, CandidateClasses, Codes, RandomState


class DeViSE(RankingClassifier):
    """A bilinear score learned with a hinge on every wrong class, by stochastic descent.

        min over V  Σₙ Σ_{k ≠ yₙ} max(0, margin + F(xₙ, k) − F(xₙ, yₙ))
        F(x, k) = (x − x̄)ᵀV(aₖ/‖aₖ‖ − ā)

    xₙ is a row, aₖ the vector of class k, x̄ and ā their means, V (p×q) the compatibility. There is
    no regulariser: few passes over the data, and the mean of all the iterates, take its place.

    A. Frome, G. Corrado, J. Shlens, S. Bengio, J. Dean, M. Ranzato and T. Mikolov, "DeViSE: a deep
    visual-semantic embedding model", NIPS 2013. Deviations:

    - The features are given. The original also trains the network that computes them.
    - All wrong classes count, as in its equation; the original draws them at random and stops at the
      first violation.
    - Rows and class vectors are centred (``center_``, ``semantic_center_``): the direction that all of
      them share then adds nothing to the curvature.
    - Semantic vectors are brought to unit length as in the original, but for those of one column. The
      margin is 1 and the start is zero, so that margin and step size are a single scale (the original
      has a margin of 0.1).
    - Batches, a constant step divided by the curvature, and averaging, as in ``SJE``.

    Not verified: the original's step sizes, which belong to its network.

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
    center : bool
        Whether rows and class vectors are centred.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)

    Examples
    --------
    >>> from unseen import DeViSE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = DeViSE(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "The hinge rank loss, word vectors at unit length; features are given here."),
        sets("margin", 0.1, PAPER, "The margin is 0.1."),
        sets("center", False, UNVERIFIED, "Nothing that was read mentions centring."),
        sets("epochs", 10, UNVERIFIED, "Its steps belong to the network that makes the features."),
        sets("learning_rate", 10.0, UNVERIFIED, "The same."),
    )

    citation = Citation(
        "Frome, Corrado, Shlens, Bengio, Dean, Ranzato and Mikolov",
        "DeViSE: a deep visual-semantic embedding model",
        "NIPS",
        2013,
    )

    advice = Advice(
        cost="a few passes over the rows in batches, all wrong classes of each row",
        take="you need a hinge on every wrong class as a baseline",
        leave=(
            "you need the same answer on every machine: it is a stochastic descent, without a "
            "certificate"
        ),
    )

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        learning_rate: float = 30.0,
        margin: float = 1.0,
        epochs: int = 10,
        batch_size: int = 50,
        random_state: RandomState = None,
        center: bool = True,
    ) -> None:
        super().__init__(semantics, candidates, learning_rate, margin, epochs, batch_size, random_state)
        self.center = center

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        return ranking_hinge(scores, codes, self.margin)
