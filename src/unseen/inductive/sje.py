"""SJE: structured joint embedding."""

from __future__ import annotations

from unseen.citation import Citation
from unseen.inductive.ranking import RankingClassifier
from unseen.solvers.losses import structured_hinge
from unseen.typing import Array, Codes


class SJE(RankingClassifier):
    """A bilinear score learned with the structured hinge, by stochastic descent.

        min over V  Σₙ maxₖ [ margin·1(k ≠ yₙ) + xₙᵀVaₖ − xₙᵀVaᵧₙ ]

    There is no regulariser: few passes over the data, and the mean of all the iterates, take its place.

    Z. Akata, S. Reed, D. Walter, H. Lee and B. Schiele, "Evaluation of output embeddings for
    fine-grained image classification", CVPR 2015. Deviations: batches of rows instead of single
    rows; a constant step, divided by the curvature, with averaging (Polyak) instead of a tuned
    decreasing one; a start at zero, which makes the margin and the step one single scale.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    learning_rate : float
        In units of the inverse curvature of the loss, so that it does not depend on scale.
    margin : float
    epochs : int
        Passes over the data.
    batch_size : int
    random_state : int, RandomState or None

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

    citation = Citation(
        "Akata, Reed, Walter, Lee and Schiele",
        "Evaluation of output embeddings for fine-grained image classification",
        "CVPR",
        2015,
    )

    _centred = False

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        return structured_hinge(scores, codes, self.margin)
