"""WDVSc: predicted class centres meet the clusters of the pool by optimal transport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax

from unseen.citation import Citation
from unseen.statistics.prototype_map import nearest_scores, prototype_map
from unseen.statistics.transport import balance
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.typing import Array


class WDVSc(PointClassifier):
    """Predicted centres of unseen classes, drawn to the clusters of the pool.

        min over f  1/K Σₖ ‖f(aₖ) − cₖ‖² + λ/L min over P  Σᵢⱼ Pᵢⱼ ‖f(aᵢ) − gⱼ‖² + ε L Σᵢⱼ Pᵢⱼ log Pᵢⱼ
        subject to  P ≥ 0, Σⱼ Pᵢⱼ = 1, Σᵢ Pᵢⱼ = L/G

    cₖ is the mean of seen class k and aₖ its vector; i runs over the L unseen candidates, gⱼ are the
    G = L clusters of the pool by k-means; P is the transport between both (Sinkhorn). f is affine with
    a ridge. Rounds alternate: P for a given f, f for a given P, where each candidate is regressed on
    the barycentre Σⱼ Pᵢⱼ gⱼ of what it is sent to. The nearest f(aᵢ) labels a row.

    Z. Wan, D. Chen, Y. Li, X. Yan, J. Zhang, Y. Yu and J. Liao, "Transductive zero-shot learning with
    visual structure constraint", NeurIPS 2019; the authors' code (raywzy/VSC) was read. Deviations:

    - f is affine and solved exactly; the original is a network with two hidden layers, trained by Adam.
      A network can fit seen centres and clusters at once, so its λ (0.001) does not carry over.
    - Rows are whitened by the within-class covariance of the seen classes; ``shrinkage=None`` gives
      plain features. The original scales the centres to unit length.
    - k-means starts from the predicted centres, so that nothing is drawn at random.
    - ε is in units of the mean cost (0.03; the original's 0.01 on centres of unit length is about
      that); the original stops Sinkhorn's iteration early.
    - Their training strategy for unrelated images in the pool is left out.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    weight : float
        λ.
    ridge : float
        Of f in the rounds, in units of the mean eigenvalue of the semantic scatter.
    epsilon : float
        ε: how soft the transport is.
    rounds : int
        At most; 0 is the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        Of the covariance that whitens; None: no whitening.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
        ``loss`` is the mean transported cost.
    clusters_ : array of shape (G, d)
        g.
    plan_ : array of shape (L, G)
        P of the last round.
    points_, start_ : array of shape (L, d)
        The class centres in visual space, after and before the pool was seen.

    Examples
    --------
    >>> from unseen import WDVSc
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> WDVSc(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    citation = Citation(
        "Wan, Chen, Li, Yan, Zhang, Yu and Liao",
        "Transductive zero-shot learning with visual structure constraint",
        "NeurIPS",
        2019,
    )

    _not_negative: ClassVar[tuple[str, ...]] = ("weight", "ridge", "epsilon")

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        weight: float = 0.3,
        ridge: float = 0.3,
        epsilon: float = 0.03,
        rounds: int = 20,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.weight = weight
        self.ridge = ridge
        self.epsilon = epsilon

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"weight": (0.1, 0.3, 1.0), "ridge": (0.1, 0.3, 1.0)}

    def _move(self, problem: PoolProblem) -> Array:
        points, labels = problem.start, problem.labels(problem.start)
        free = problem.free
        self.clusters_ = _clusters(problem.Z, problem.start)
        vectors = np.concatenate([problem.seen_vectors, problem.vectors[free]])
        shares = np.full(int(free.sum()), self.weight * len(problem.seen_means) / free.sum())
        counts = np.concatenate([np.ones(len(problem.seen_means)), shares])
        for _ in range(self.rounds):
            self.plan_, cost = transport_to(points[free], self.clusters_, self.epsilon)
            centres = np.concatenate([problem.seen_means, self.plan_ @ self.clusters_])
            self._map = prototype_map(centres.T * counts, counts, vectors, self.ridge)
            moved = points.copy()
            moved[free] = self._map(problem.vectors[free])
            step = float(np.abs(moved - points).max())
            points = moved
            before, labels = labels, problem.labels(points)
            self._note_round(before, labels, None, cost)
            if step <= 1e-4 * float(np.abs(points).max()):
                break
        return points


def transport_to(points: Array, clusters: Array, epsilon: float) -> tuple[Array, float]:
    """Return the plan P between points and clusters, rows summing to one, and the mean cost.

    ``epsilon`` is in units of the mean cost.
    """
    cost = -nearest_scores(points.astype(float), clusters.astype(float))
    unit = max(float(cost.mean()), np.finfo(float).tiny)
    start = log_softmax(-cost / (max(epsilon, 1e-3) * unit), axis=1)
    uniform = np.full(len(clusters), 1 / len(clusters))
    plan = np.exp(balance(start, uniform, max_iter=1000))
    return plan, float((plan * cost).sum(axis=1).mean())


def _clusters(Z: Array, start: Array) -> Array:
    """Return the cluster centres of the pool; k-means starts from the predicted points."""
    from sklearn.cluster import KMeans  # loads slowly, and only this method needs it

    distinct = np.unique(Z, axis=0) if len(Z) <= len(start) else Z
    if len(distinct) <= len(start):  # each row is a cluster of its own
        return np.asarray(distinct, dtype=float)
    found = KMeans(len(start), init=start, n_init=1, max_iter=100).fit(Z)
    return np.asarray(found.cluster_centers_, dtype=float)
