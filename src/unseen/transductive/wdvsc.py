"""WDVSc: predicted class centres meet the clusters of the pool by optimal transport."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, UNVERIFIED, choices, holds, sets
from unseen.rows.kernels import Scaling
from unseen.statistics.prototype_map import nearest_scores, prototype_map
from unseen.statistics.transport import balance
from unseen.transductive._clusters import chamfer_plan, matching_plan, pool_clusters
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.typing import Array, CandidateClasses, RandomState


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
        The ridge of f in the rounds, in units of the mean eigenvalue of the semantic scatter.
    epsilon : float
        ε: how soft the transport is.
    rounds : int
        The most rounds; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.
    constraint : {"transport", "matching", "chamfer"}
        What draws the centres to the clusters: the paper's WDVSc, BMVSc and CDVSc.
    clusters : {"predicted", "random"}
        Where k-means starts.
    unit_length : bool
        Rows at unit length, if they are not whitened.
    random_state : int, RandomState or None
        For k-means that starts at random.

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

    published = choices(
        sets("shrinkage", None, CODE, "raywzy/VSC: no whitening."),
        sets("unit_length", True, CODE, "Centres, and so rows here, at unit length."),
        sets("clusters", "random", CODE, "Its Cluster: k-means++ with 50 starts."),
        sets(
            "constraint", "transport", CODE, "Sinkhorn; 'matching' and 'chamfer' are BMVSc and CDVSc."
        ),
        sets("epsilon", 0.01, CODE, "Sinkhorn's regulariser."),
        holds(CODE, "A network with two hidden layers trained by Adam there; affine and exact here."),
        sets("weight", 0.3, UNVERIFIED, "Their 0.001 belongs to the network and does not carry over."),
    )

    citation = Citation(
        "Wan, Chen, Li, Yan, Zhang, Yu and Liao",
        "Transductive zero-shot learning with visual structure constraint",
        "NeurIPS",
        2019,
    )

    advice = Advice(
        cost="k-means of the pool, and a transport of L × L in each round",
        take="the pool has clear clusters of similar size, one for each candidate",
        leave=(
            "candidates may be absent from the pool, or `known` rows are to be used: it refuses these"
        ),
    )

    _not_negative: ClassVar[tuple[str, ...]] = ("weight", "ridge", "epsilon")

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        weight: float = 0.3,
        ridge: float = 0.3,
        epsilon: float = 0.03,
        rounds: int = 20,
        shrinkage: float | str | None = "auto",
        constraint: str = "transport",
        clusters: str = "predicted",
        unit_length: bool = False,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.weight = weight
        self.ridge = ridge
        self.epsilon = epsilon
        self.constraint = constraint
        self.clusters = clusters
        self.unit_length = unit_length
        self.random_state = random_state

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"weight": (0.1, 0.3, 1.0), "ridge": (0.1, 0.3, 1.0)}

    def _move(self, problem: PoolProblem) -> Array:
        points, labels = problem.start, problem.labels(problem.start)
        free = problem.free
        random = self.clusters == "random"
        self.clusters_ = pool_clusters(problem.Z, problem.start, self.random_state, random)
        vectors = np.concatenate([problem.seen_vectors, problem.vectors[free]])
        shares = np.full(int(free.sum()), self.weight * len(problem.seen_means) / free.sum())
        counts = np.concatenate([np.ones(len(problem.seen_means)), shares])
        for _ in range(self.rounds):
            self.plan_, mass, cost = self._plan(points[free])
            counts[-len(shares) :] = shares * mass
            centres = np.concatenate([problem.seen_means, self.plan_ @ self.clusters_])
            self._map = prototype_map(centres.T * counts, counts, vectors, self.ridge)
            moved = points.copy()
            moved[free] = self._map(problem.vectors[free])
            step = float(np.abs(moved - points).max())
            points = moved
            labels, _ = self._relabel(problem, points, labels, None, cost)
            if step <= 1e-4 * float(np.abs(points).max()):
                break
        return points

    def _plan(self, points: Array) -> tuple[Array, Array, float]:
        """Return which clusters draw which points, how much, and the mean cost."""
        if self.constraint == "transport":
            plan, cost = transport_to(points, self.clusters_, self.epsilon)
            return plan, np.ones(len(points)), cost
        plan, mass = PLANS[self.constraint](points, self.clusters_)
        cost = float((plan * -nearest_scores(points.astype(float), self.clusters_)).sum(axis=1).mean())
        return plan, mass, cost

    def _plain_scaling(self) -> Scaling:
        return "unit" if self.unit_length else "none"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.constraint not in ("transport", *PLANS):
            self._refuse("constraint", "'transport', 'matching' or 'chamfer'")
        if self.clusters not in ("predicted", "random"):
            self._refuse("clusters", "'predicted' or 'random'")


PLANS = {"matching": matching_plan, "chamfer": chamfer_plan}
"""The paper's BMVSc and CDVSc; its WDVSc is the transport."""


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
