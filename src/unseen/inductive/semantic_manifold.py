"""SemanticManifold: the distance between a row and a class along the graph of classes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.spatial.distance import cdist
from scipy.special import softmax

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import span_sums
from unseen.inductive.iap import score_deviation
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import Bank, ridge_bank
from unseen.typing import Array, CandidateClasses

LEAST_PROBABILITY = 1e-6
"""Added to an absorption probability before its logarithm."""

Prepared: TypeAlias = tuple[Sums, Array, Array | None, npt.DTypeLike]


class SemanticManifold(TunedClassifier):
    """Walk from the seen classes that a row looks like to the unseen class that absorbs the walk.

        p(k | x) = softmaxₖ( s·(wₖᵀx + bₖ) )                    seen classes k
        B = (I − Q)⁻¹R,   score of class j = log Σₖ p(k | x) Bₖⱼ

    Q (K×K) and R (K×L) are the transitions of a walk on the semantic graph, from a seen class to its
    nearest seen classes and to the candidates, ∝ exp(−‖a − a'‖²/σ²); candidates absorb. W and b are
    least squares on one-hot labels.

    Z. Fu, T. Xiang, E. Kodirov and S. Gong, "Zero-shot object recognition by semantic manifold
    distance", CVPR 2015. Deviations: one classifier for all seen classes gives the start of the walk;
    σ², in units of the mean squared distance of two seen classes, and the ridge are chosen on
    class-wise folds unless they are given; the sharpness s is fixed.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    neighbours : int
        Seen classes that a seen class has an edge to.
    width, ridge : float or "auto"
        σ² and the ridge of least squares.
    sharpness : float
        s, in units of the deviation of the scores.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, K) and (K,)
    seen_vectors_ : array of shape (K, q)

    Examples
    --------
    >>> from unseen import SemanticManifold
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SemanticManifold(semantics, "seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "A k-nearest-neighbour graph of classes and an absorbing Markov chain on it."),
        holds(
            PAPER,
            "Its preprint's abstract (arXiv 1406.4112): seen and unseen classes in one graph, unseen "
            "ones absorb, and a row joins the graph through the seen classes.",
        ),
        sets("neighbours", 5, UNVERIFIED, "Its number of neighbours could not be read."),
        holds(
            UNVERIFIED,
            "Whether an unseen class is joined to all seen ones, as here, could not be read.",
        ),
    )

    citation = Citation(
        "Fu, Xiang, Kodirov and Gong",
        "Zero-shot object recognition by semantic manifold distance",
        "CVPR",
        2015,
    )

    advice = Advice(
        cost="one least-squares classifier and one K × K solve",
        take="you compare with the literature",
        leave="accuracy counts: it is the weakest method here on letters → digits",
    )

    coef_: Array
    intercept_: Array
    seen_vectors_: Array
    width_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        neighbours: int = 5,
        width: float | str = "auto",
        ridge: float | str = "auto",
        sharpness: float = 3.0,
    ) -> None:
        super().__init__(semantics, candidates)
        self.neighbours = neighbours
        self.width = width
        self.ridge = ridge
        self.sharpness = sharpness

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values that "auto" tries."""
        return {"ridge": (0.03, 0.3), "width": (0.03, 0.1, 0.3)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        _, sums, basis = span_sums(rows, len(vectors))
        return sums, vectors, basis, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, self.seen_vectors_, basis, dtype = prepared
        bank = ridge_bank(sums, np.eye(len(sums.counts)), setting["ridge"])
        bank = bank.scaled(float(self.sharpness) / score_deviation(sums, bank))
        self.coef_, self.intercept_ = bank.for_columns(basis, dtype)
        self.width_ = setting["width"]

    def _scores(self, X: Array, vectors: Array) -> Array:
        P = softmax(Bank(self.coef_, self.intercept_)(X), axis=1)
        B = absorption(self.seen_vectors_, vectors, int(self.neighbours), self.width_)
        return np.asarray(np.log(P @ B.astype(X.dtype) + X.dtype.type(LEAST_PROBABILITY)))

    def _semantic_width(self) -> int:
        return int(self.seen_vectors_.shape[1])


def absorption(seen: Array, candidates: Array, neighbours: int, width: float) -> Array:
    """Return B (K, L): where a walk that starts at each seen class is absorbed.

    Examples
    --------
    >>> absorption(np.array([[0.0], [1.0]]), np.array([[0.1], [0.9]]), 1, 0.1).round(2)
    array([[1., 0.],
           [0., 1.]])
    """
    among, out = cdist(seen, seen, "sqeuclidean"), cdist(seen, candidates, "sqeuclidean")
    unit = max(float(among.mean()), np.finfo(float).tiny) * max(width, np.finfo(float).tiny)
    np.fill_diagonal(among, np.inf)
    k = min(neighbours, len(seen) - 1)
    if k > 0:
        furthest = np.partition(among, k - 1, axis=1)[:, k - 1 : k]
        among[among > furthest] = np.inf
    # Of each row the nearest node has weight 1, so that no row of weights underflows.
    nearest = np.minimum(among.min(axis=1), out.min(axis=1))[:, None]
    Q, R = np.exp(-(among - nearest) / unit), np.exp(-(out - nearest) / unit) + LEAST_PROBABILITY
    total = Q.sum(axis=1, keepdims=True) + R.sum(axis=1, keepdims=True)
    return np.asarray(linalg.solve(np.eye(len(seen)) - Q / total, R / total))
