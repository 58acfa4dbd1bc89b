"""LatEm: latent embeddings."""

from __future__ import annotations

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.ranking import RankingClassifier
from unseen.published import CODE, PAPER, UNVERIFIED, choices, holds, sets
from unseen.solvers.losses import ranking_hinge
from unseen.typing import Array, CandidateClasses, Codes, RandomState


class LatEm(RankingClassifier):
    """A piecewise bilinear score, the best of several maps, by stochastic descent.

        min over V₁ … V_H  Σₙ Σ_{k ≠ yₙ} max(0, margin + F(xₙ, k) − F(xₙ, yₙ))
        F(x, k) = max over i of (x − x̄)ᵀVᵢ(aₖ/‖aₖ‖ − ā)

    xₙ is a row, aₖ the vector of class k, x̄ and ā their means, Vᵢ (p×q) one of H compatibilities
    (``pieces``). Each score trains the piece that attained it.

    Y. Xian, Z. Akata, G. Sharma, Q. Nguyen, M. Hein and B. Schiele, "Latent embeddings for zero-shot
    classification", CVPR 2016. Deviations:

    - All wrong classes count, as in its equation; the original draws one at random for each row.
    - H is a parameter; the original chooses it on folds, or prunes pieces that few rows use.
    - Rows and class vectors are centred, and vectors of more than one column brought to unit length;
      the original also standardises features.
    - Batches, a constant step divided by the curvature, and averaging, as in ``SJE``. The start is
      normal (pieces that start alike stay alike) and small: of the size of one step.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    pieces : int
        H, the number of maps.
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
    compatibility_ : array of shape (H, p, q)

    Examples
    --------
    >>> from unseen import LatEm
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = LatEm(semantics, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="seen").predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Piecewise bilinear scores with the hinge rank loss."),
        sets(
            "center",
            False,
            CODE,
            "The authors' latEm_train.m, of which there are public copies: vectors as they are. Its "
            "demo standardises features first: give such.",
        ),
        sets("pieces", 2, CODE, "demo_main.m: 2 for AwA, to be tuned on validation classes."),
        sets("batch_size", 1, CODE, "A step for each row."),
        sets("epochs", 150, CODE, "demo_main.m: 150, fixed."),
        sets(
            "learning_rate",
            10.0,
            UNVERIFIED,
            "demo_main.m: 0.001 in the units of its features, to be tuned on validation classes; the "
            "unit here is the inverse curvature.",
        ),
        holds(CODE, "One wrong class is drawn for each row there; all count here, as in its equation."),
    )

    citation = Citation(
        "Xian, Akata, Sharma, Nguyen, Hein and Schiele",
        "Latent embeddings for zero-shot classification",
        "CVPR",
        2016,
    )

    advice = Advice(
        cost="that of DeViSE times the number of pieces",
        take="a class has several distinct appearances, and there are many rows for each piece",
        leave="rows are few: each piece then learns from too few, and one piece, DeViSE, does better",
    )

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        pieces: int = 2,
        learning_rate: float = 10.0,
        margin: float = 1.0,
        epochs: int = 10,
        batch_size: int = 50,
        random_state: RandomState = None,
        center: bool = True,
    ) -> None:
        super().__init__(semantics, candidates, learning_rate, margin, epochs, batch_size, random_state)
        self.center = center
        self.pieces = pieces

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return values worth trying with ``ClassWiseSearch``."""
        return {"pieces": (1, 2, 4), "learning_rate": (3.0, 10.0, 30.0)}

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        return ranking_hinge(scores, codes, self.margin)

    def _start(self, shape: tuple[int, int], random: np.random.Generator, scale: float) -> Array:
        start: Array = random.normal(size=(int(self.pieces), *shape))
        start *= scale / np.sqrt(shape[0])
        return start
