"""ALE: attribute label embedding."""

from __future__ import annotations

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.ranking import RankingClassifier
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.solvers.losses import weighted_ranking
from unseen.typing import Array, CandidateClasses, Codes, RandomState


class ALE(RankingClassifier):
    """A bilinear score learned with a weighted ranking loss (WARP), by stochastic descent.

        min over V  Σₙ (β_{rₙ} / rₙ) Σ_{k ≠ yₙ} max(0, margin + F(xₙ, k) − F(xₙ, yₙ))
        rₙ = #{k ≠ yₙ : margin + F(xₙ, k) > F(xₙ, yₙ)},   β_r = 1 + ½ + … + 1/r,
        F(x, k) = (x − x̄)ᵀV(aₖ/‖aₖ‖ − ā)

    xₙ is a row, aₖ the vector of class k, x̄ and ā their means, V (p×q) the compatibility, rₙ the
    rank of the true class. A row pays most for the first ranks that it loses: the loss looks at the
    top of the list.

    Z. Akata, F. Perronnin, Z. Harchaoui and C. Schmid, "Label-embedding for attribute-based
    classification", CVPR 2013. Deviations:

    - The rank is counted over all seen classes. The original estimates it from how many draws it
      takes to find a violation, since it has many classes.
    - Rows and class vectors are centred (``center_``, ``semantic_center_``): the direction that all of
      them share then adds nothing to the curvature. They are brought to unit length as in the original,
      but for those of one column.
    - Batches, a constant step divided by the curvature, a start at zero and averaging, as in ``SJE``,
      where the original draws single rows and stops early on a validation set.

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
    >>> from unseen import ALE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = ALE(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "The weighted ranking loss, class vectors at unit length."),
        sets("center", False, UNVERIFIED, "Nothing that was read mentions centring."),
        sets("batch_size", 1, PAPER, "A step for each row."),
        sets("epochs", 10, UNVERIFIED, "The original stops early on a validation set."),
        sets("learning_rate", 10.0, UNVERIFIED, "The original tunes it on a validation set."),
    )

    citation = Citation(
        "Akata, Perronnin, Harchaoui and Schmid",
        "Label-embedding for attribute-based classification",
        "CVPR",
        2013,
    )

    advice = Advice(
        cost="a few passes over the rows in batches, all wrong classes of each row",
        take="features are strong, classes many, and the top of the ranking matters",
        leave=(
            "you need the same answer on every machine: it is a stochastic descent, without a "
            "certificate"
        ),
    )

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        learning_rate: float = 100.0,
        margin: float = 1.0,
        epochs: int = 10,
        batch_size: int = 50,
        random_state: RandomState = None,
        center: bool = True,
    ) -> None:
        super().__init__(semantics, candidates, learning_rate, margin, epochs, batch_size, random_state)
        self.center = center

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        return weighted_ranking(scores, codes, self.margin)
