"""TMVHLP: transductive multi-view embedding and hypergraph label propagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import randomized_svd

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.rows.kernels import unit_rows
from unseen.statistics.graph import (
    hypergraph_walk,
    incidence,
    propagate,
)
from unseen.statistics.multigraph import multigraph_walk
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem, class_points
from unseen.transductive.propagation import balanced
from unseen.typing import Array, CandidateClasses

PROTOTYPE_NEIGHBOUR_FACTOR = 9
"""In the authors' graph a prototype has this many times as many neighbours as a row."""

VIEW_DIRECTIONS = 256
"""The most principal directions of the pool in the view of features."""


class TMVHLP(PointClassifier):
    """Features and predicted semantics of the pool, correlated; labels spread over a hypergraph.

        views       X₁ = features of the pool,  X₂ = its predicted semantics
        embedding   max over W₁, W₂  tr( W₁ᵀ C₁₂ W₂ ),  Wᵢᵀ(Cᵢᵢ + η·I)Wᵢ = I,   Uᵢ = Xᵢ Wᵢ ρ^power
        hypergraph  edge e of the pair (i, j): the k nodes nearest in view j to node e of view i
        labels      F = (1 − α)(I − αS)⁻¹Y,   S = mean over pairs of Dᵥ^(-½) H Dₑ⁻¹ Hᵀ Dᵥ^(-½)

    C are covariances over the pool and ρ the canonical correlations, which weigh the directions. Nodes
    are the rows of the pool and the prototypes of the candidates, of which Y holds the classes. H holds
    similarities; it is sparse, and HHᵀ is never formed. Each prototype moves to the mean of the rows
    that F gives to its class; the nearest prototype labels a row.

    Y. Fu, T. Hospedales, T. Xiang and S. Gong, "Transductive multi-view zero-shot learning", TPAMI
    2015. Deviations:

    - Two views: features and one semantic space. The original adds word vectors as a third; join both
      kinds of semantics in one vector.
    - Features are whitened by the within-class covariance of the seen classes (``shrinkage=None``:
      plain) and semantics predicted by ridge regression; the original uses support vector machines. A
      linear prediction adds no new information to the features, so the correlations only weigh
      directions.
    - Prototypes have a place in both views: their vector, and the point that ridge regression predicts.
      The original takes the mean of both views' prototypes in the common space.
    - Edges weigh alike, pairs of views too; each prototype's edge, and that of each row, is among k
      nodes. Classes lean to equal mass. ``graph="multigraph"`` has the original's weights.
    - New rows are labelled by the nearest prototype; ``propagated_`` is the graph's answer for the
      pool.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    neighbours : int
        k.
    alpha : float in [0, 1)
        How far labels travel.
    power : float
        How strongly correlations weigh directions.
    rounds : int
        The most rounds; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.
    graph : {"hypergraph", "multigraph", "none"}
        Ours; the graph of the authors' program, with one step of self-training before the correlation:
        hyperedges across views, mixed with the graphs of the views; or none, TMV without HLP: the
        nearest prototype in the common space.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
        ``loss`` is the mean entropy of F.
    propagated_ : array of shape (M, L)
        F of the last round, rows summing to one.
    correlations_ : array
        ρ.
    points_, start_ : array of shape (L, d)

    Examples
    --------
    >>> from unseen import TMVHLP
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> TMVHLP(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        sets(
            "graph",
            "multigraph",
            CODE,
            "yanweifu/embedding_zero-shot-learning, Fu_gen_hyperedge: hyperedges across views on "
            "z-scores of exp(−d²/median) at unit length, mixed 0.75 to 0.25 with the graphs of the "
            "views; labels 2I − 1, prototypes with 9 times the neighbours.",
        ),
        sets("neighbours", 30, CODE, "k = 30 in both kinds of graph."),
        sets("alpha", 0.35, CODE, "db_cW, which propagates on that graph; 0.5 in its other functions."),
        sets("power", 4.0, CODE, "ECCV_AwA_code: correlations to the fourth power."),
        sets(
            "rounds", 1, CODE, "One propagation; theirs repeats it and keeps the best by test labels."
        ),
        sets("shrinkage", None, CODE, "z-scores of plain features."),
        holds(
            CODE,
            "One step of self-training before the correlation, to the mean of 500 of AwA's 6,180 rows; "
            "the same share here.",
        ),
        holds(
            CODE,
            "Three views there (features, attributes, words), two here; word vectors join the "
            "attributes in one vector. Views count alike here; the second counts 1.5 there.",
        ),
        holds(
            CODE,
            "Semantics by support vector regression there, by ridge regression here; the ridge of "
            "CCA is 0.0001 there and 0.1 of the mean variance here.",
        ),
        holds(PAPER, "Table III's TMV-HLP is the form of 2015, with hyperedges."),
    )

    citation = Citation(
        "Fu, Hospedales, Xiang and Gong",
        "Transductive multi-view zero-shot learning",
        "TPAMI",
        2015,
        table_name="TMV-HLP",
    )

    advice = Advice(
        cost="neighbours within the pool, and a propagation on a sparse hypergraph",
        take="features and predicted semantics of the pool should both decide who is near whom",
        leave=(
            "new rows come one by one: the graph answers for its pool only, and new rows by the "
            "nearest prototype"
        ),
    )

    propagated_: Array
    correlations_: Array
    takes_known: ClassVar[bool] = True
    _whole: ClassVar[tuple[str, ...]] = ("rounds", "neighbours")
    _not_negative: ClassVar[tuple[str, ...]] = ("power",)

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        neighbours: int = 10,
        alpha: float = 0.8,
        power: float = 4.0,
        rounds: int = 5,
        shrinkage: float | str | None = "auto",
        graph: str = "hypergraph",
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.neighbours = neighbours
        self.alpha = alpha
        self.power = power
        self.graph = graph

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"neighbours": (5, 10, 20), "power": (1.0, 4.0)}

    def _move(self, problem: PoolProblem) -> Array:
        Z, M = problem.Z, len(problem.Z)
        points, labels = problem.start, problem.labels(problem.start)
        if M < 3:
            return points
        predict, center = semantic_regression(problem.seen_means, problem.seen_vectors)
        basis, mean = _directions(Z)
        centred = problem.vectors - center
        views = [(Z - mean) @ basis, Z @ predict.astype(Z.dtype)]
        if self.graph != "hypergraph":
            spread = np.maximum(views[0].std(axis=0), np.finfo(views[0].dtype).tiny ** 0.5)
            views[0] = views[0] / spread  # z-scores
        W, self.correlations_ = canonical_directions(views[0], views[1], self.power)
        shift = views[1].mean(axis=0)
        if self.graph != "hypergraph":
            embedded = [views[0] @ W[0], (views[1] - shift) @ W[1]]
            vectors = (self_trained(centred, views[1]) - shift) @ W[1]
            return self._once(problem, embedded, vectors)
        for _ in range(self.rounds):
            # The prototypes as the views see them: a point among features, a vector among semantics.
            visual = (points - mean) @ basis
            semantic = centred if points is problem.start else points @ predict
            nodes = [
                np.concatenate([views[0], visual]) @ W[0],
                np.concatenate([views[1], semantic]) @ W[1] - shift @ W[1],
            ]
            Y = np.concatenate([np.zeros((M, len(points))), np.eye(len(points))])
            F = balanced(propagate(self._walk(nodes), Y, self.alpha)[:M], 0.9, problem.known)
            self.propagated_ = F
            points, labels, settled = self._moved_by_labels(problem, points, F, labels)
            if settled:
                break
        return points

    def _once(self, problem: PoolProblem, views: list[Array], prototypes: Array) -> Array:
        """Label the pool in the common space once, as the authors' program does, and move points."""
        M, L, points = len(problem.Z), len(prototypes), problem.start
        if self.graph == "none":
            F = np.mean([unit_rows(view) @ unit_rows(prototypes).T for view in views], axis=0)
        else:
            nodes = [np.concatenate([view, prototypes]) for view in views]
            walk = multigraph_walk(nodes, M, self.neighbours, PROTOTYPE_NEIGHBOUR_FACTOR)
            Y = np.concatenate([np.zeros((M, L)), 2 * np.eye(L) - 1])
            F = propagate(walk, Y, self.alpha)[:M]
        self.propagated_ = F
        taken = np.zeros_like(F)
        taken[np.arange(M), problem.known.clamp_labels(F.argmax(axis=1))] = 1
        moved = points.copy()
        moved[problem.free] = class_points(taken, problem.Z, points)[problem.free]
        self._note_round(problem.labels(points), problem.labels(moved), None, float("nan"))
        return moved

    def _walk(self, nodes: list[Array]) -> Callable[[Array], Array]:
        """Return the walk over all pairs of views."""
        walks = [hypergraph_walk(incidence(b, a, self.neighbours)) for a in nodes for b in nodes]
        return lambda F: np.asarray(sum(walk(F) for walk in walks) / len(walks))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.graph not in ("hypergraph", "multigraph", "none"):
            self._refuse("graph", "'hypergraph', 'multigraph' or 'none'")
        if not (isinstance(self.alpha, (int, float)) and 0 <= self.alpha < 1):
            self._refuse("alpha", "a number in [0, 1)")
        if self.neighbours < 1:
            self._refuse("neighbours", "an integer >= 1")


def self_trained(vectors: Array, predicted: Array) -> Array:
    """Move each class vector to the mean of the rows that are nearest to it: one step, before CCA.

    A class takes 0.8 of the rows that it has on average, as AwA's 500 of 6,180 rows for ten classes.
    """
    count = max(1, round(0.8 * len(predicted) / len(vectors)))
    near = unit_rows(vectors.astype(float)) @ unit_rows(predicted.astype(float)).T
    place = np.argsort(-near, axis=1, kind="stable")[:, :count]
    return np.asarray(predicted[place].mean(axis=1))


def semantic_regression(means: Array, vectors: Array) -> tuple[Array, Array]:
    """Return the ridge map (d, q) from whitened rows to centred semantics, and their centre.

    Rows of unit covariance about K class means have second moments MᵀM + K·I.
    """
    center = vectors.mean(axis=0)
    M = means.astype(float)
    spread = M @ M.T
    spread[np.diag_indices_from(spread)] += len(M) * max(1.0, 1e-6 * float(np.trace(spread)) / len(M))
    return np.asarray(M.T @ linalg.solve(spread, vectors - center, assume_a="pos")), center


def canonical_directions(X: Array, Y: Array, power: float) -> tuple[list[Array], Array]:
    """Return the canonical directions of two views, weighed by ρ^power, and the correlations ρ."""
    roots = []
    for view in (X, Y):
        centred = (view - view.mean(axis=0)).astype(float)
        C = centred.T @ centred / len(centred)
        unit = max(float(np.trace(C)) / len(C), np.finfo(float).tiny)
        C[np.diag_indices_from(C)] += 0.1 * unit
        values, U = np.linalg.eigh(C)
        roots.append((U / np.sqrt(values)) @ U.T)
    cross = (X - X.mean(axis=0)).T.astype(float) @ (Y - Y.mean(axis=0)).astype(float) / len(X)
    left, rho, right = np.linalg.svd(roots[0] @ cross @ roots[1], full_matrices=False)
    rho = np.clip(rho, 0, 1)
    weight = rho**power
    return [roots[0] @ left * weight, roots[1] @ right.T * weight], rho


def _directions(Z: Array) -> tuple[Array, Array]:
    """Return principal directions of the pool (d, r), and its mean."""
    mean = Z.mean(axis=0)
    r = min(VIEW_DIRECTIONS, *Z.shape)
    *_, right = randomized_svd(Z - mean, r, n_iter=2, random_state=0)
    return np.asarray(right.T), np.asarray(mean)
