"""BiDiLEL: bidirectional latent embedding, with its self-training."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import linalg, optimize
from scipy.spatial.distance import cdist

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.kernels import Scaling, scaled, unit_rows
from unseen.rows.passes import best_of_each_class, class_sums
from unseen.statistics.graph import neighbour_graph
from unseen.statistics.visual_space import SeenStatistics, Space
from unseen.transductive._clusters import matched_clusters, pool_clusters
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.transductive._pool import Split
from unseen.typing import Array, CandidateClasses, RandomState


class BiDiLEL(PointClassifier):
    """A latent space from labelled rows; classes are embedded by their semantic distances.

        bottom up   max over P  tr( PᵀXᵀD X P ) / tr( Pᵀ(XᵀL X + α·I)P ),   L = D − W
        top down    min over b  1/KL Σᵢⱼ (‖bᵢ − lⱼ‖ − δᵢⱼ)²/δᵢⱼ
                                + 2/L(L−1) Σᵢ<ᵢ' (‖bᵢ − bᵢ'‖ − δᵢᵢ')²/δᵢᵢ'
        self-train  bᵢ ← the mean of the k rows of the pool that are nearest to bᵢ

    W joins rows of one class that are near each other, D are its degrees (supervised locality
    preserving projection); z = Pᵀx is the latent space and the mean lⱼ of seen class j a landmark. bᵢ
    are the L unseen candidates, δ semantic distances (Sammon's mapping with landmarks). The nearest b
    labels a row.

    Q. Wang and K. Chen, "Zero-shot visual recognition via bidirectional latent embedding", IJCV 2017
    (arXiv 1607.02104, 2016). Deviations:

    - Rows take signed roots and unit length first (``shrinkage`` not None), as in the other methods
      here.
    - δ are Euclidean distances between the vectors, centred and of unit length, times the factor that
      fits the landmarks' own distances best. The original's distance in either space is not verified.
    - Sammon's stress is lowered by L-BFGS from the points that ridge regression predicts; the original
      starts at random.
    - k is a share of the rows that the class wins, since the original's number depends on the data set,
      and only those rows are taken. ``rounds`` may repeat the self-training; on seen classes more than
      one gains on CUB and loses on AwA1.
    - P is not orthonormal: latent directions are scaled as the eigenproblem scales them.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    dimensions : int or "auto"
        Dimensions of the latent space; "auto": one less than there are seen classes.
    neighbours : int
        How many neighbours a row has within its class.
    alpha : float
        α, in units of the mean variance.
    trusted : float in (0, 1]
        k, as a share of the rows that are nearest to a class.
    rounds : int
        The most rounds of self-training; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        None: plain features; else roots at unit length (its value does not matter: α regularises).
    adaptation : {"self-training", "structured"}
        "structured": the pool falls into as many clusters as there are candidates (k-means), each of
        which becomes one class, matched to b at the least total distance.
    random_state : int, RandomState or None
        For the start of k-means.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
    stress_ : float
        Sammon's stress of the start.
    points_, start_ : array of shape (L, d)
        b, after and before the pool was seen.

    Examples
    --------
    >>> from unseen import BiDiLEL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> BiDiLEL(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "Supervised locality preserving projection, landmarks by Sammon's mapping."),
        sets("shrinkage", None, UNVERIFIED, "Deep features as they are."),
        sets("rounds", 1, PAPER, "One step of self-training; 'structured' is its other adaptation."),
        sets(
            "trusted",
            0.5,
            UNVERIFIED,
            "The README of the authors' package: a number for each data set, in files that were not at "
            "hand.",
        ),
        holds(CODE, "The same README: Sammon's mapping starts at random there, at ridge points here."),
    )

    # Table III's "Wang et al." is most likely this method; it may be RKT.
    citation = Citation(
        "Wang and Chen",
        "Zero-shot visual recognition via bidirectional latent embedding",
        "IJCV",
        2017,
        table_name="Wang et al.",
    )

    advice = Advice(
        cost="one p × p eigenproblem, and a mapping of the candidates by L-BFGS",
        take="you compare with the literature",
        leave="accuracy counts: it is the lowest of the transductive methods here",
    )

    stress_: float
    takes_known: ClassVar[bool] = True
    _whole: ClassVar[tuple[str, ...]] = ("rounds", "neighbours")
    _not_negative: ClassVar[tuple[str, ...]] = ("alpha",)

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        dimensions: int | str = "auto",
        neighbours: int = 10,
        alpha: float = 0.3,
        trusted: float = 0.5,
        rounds: int = 1,
        shrinkage: float | str | None = "auto",
        adaptation: str = "self-training",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.adaptation = adaptation
        self.random_state = random_state
        self.dimensions = dimensions
        self.neighbours = neighbours
        self.alpha = alpha
        self.trusted = trusted

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"alpha": (0.1, 0.3, 1.0), "trusted": (0.3, 0.5, 0.8)}

    def _make_space(self, statistics: SeenStatistics, split: Split, shrinkage: float | None) -> Space:
        center = statistics.means.mean(axis=0)
        total, local = locality(
            split, len(statistics.counts), center, statistics.scaling, self.neighbours
        )
        wanted = len(statistics.counts) - 1 if self.dimensions == "auto" else int(self.dimensions)
        P = supervised_projection(total, local, self.alpha, max(1, min(wanted, len(total))))
        dtype = split.rows.X.dtype
        return Space(statistics.scaling, center.astype(dtype), P.astype(dtype))

    def _start(self, vectors: Array, own: Array) -> Array:
        points = super()._start(vectors, own)
        free = own < 0
        self.stress_ = 0.0
        if self._map is not None and free.any():
            seen = self._seen_vectors()
            landmarks = self._seen_points.astype(float)
            points[free], self.stress_ = sammon(points[free], vectors[free], landmarks, seen)
        return points

    def _move(self, problem: PoolProblem) -> Array:
        points, labels = problem.start, problem.labels(problem.start)
        L = len(points)
        if self.adaptation == "structured":
            moved = points.copy()
            clusters = pool_clusters(problem.Z, points, self.random_state)
            matched = matched_clusters(points[problem.free], clusters)
            moved[problem.free] = matched
            self._note_round(labels, problem.labels(moved), None, float("nan"))
            return moved
        for _ in range(self.rounds):
            gap = problem.Z - points[labels].astype(problem.Z.dtype)
            distance = np.einsum("ij,ij->i", gap, gap)
            trusted = best_of_each_class(labels, -distance, self.trusted)
            trusted[problem.known.rows] = True
            chosen = np.flatnonzero(trusted)
            sums = class_sums(problem.Z[chosen], labels[chosen], L).T
            counts = np.bincount(labels[chosen], minlength=L)
            moved = points.copy()
            has = problem.free & (counts > 0)
            moved[has] = sums[has] / counts[has, None]
            points, loss = moved, float(distance[chosen].mean())
            labels, settled = self._relabel(problem, points, labels, trusted, loss)
            if settled:
                break
        return points

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.adaptation not in ("self-training", "structured"):
            self._refuse("adaptation", "'self-training' or 'structured'")
        if self.dimensions != "auto" and not (
            isinstance(self.dimensions, (int, np.integer)) and self.dimensions >= 1
        ):
            self._refuse("dimensions", "'auto' or an integer >= 1")
        if not (isinstance(self.trusted, (int, float)) and 0 < self.trusted <= 1):
            self._refuse("trusted", "a number in (0, 1]")


def locality(
    split: Split, classes: int, center: Array, scaling: Scaling, neighbours: int
) -> tuple[Array, Array]:
    """Return XᵀDX and XᵀLX of the graph that joins near rows of one class, class by class."""
    X, codes, weights = split.rows
    p = X.shape[1]
    total, local = np.zeros((p, p)), np.zeros((p, p))
    for k in range(classes):
        rows = np.flatnonzero(codes == k)
        class_rows = scaled(X[rows], scaling)
        class_rows = (class_rows - center.astype(X.dtype)).astype(float)
        W = neighbour_graph(class_rows, neighbours)
        W.data[:] = 1.0
        weight = np.ones(len(rows)) if weights is None else np.sqrt(weights[rows].astype(float))
        W = W.multiply(weight[:, None]).multiply(weight[None, :]).tocsr()
        degree = np.asarray(W.sum(axis=1)).ravel() + weight**2  # a row is its own neighbour too
        weighted = class_rows.T * degree
        total += weighted @ class_rows
        with_others, with_itself = class_rows.T @ (W @ class_rows), class_rows.T * weight**2
        local += weighted @ class_rows - with_others - with_itself @ class_rows
    return total, local


def supervised_projection(total: Array, local: Array, alpha: float, dimensions: int) -> Array:
    """Return P (p, d): the leading generalised eigenvectors of (XᵀDX, XᵀLX + α·I)."""
    unit = max(float(np.trace(local)), 1e-3 * float(np.trace(total)), np.finfo(float).tiny) / len(local)
    right = local.copy()
    right[np.diag_indices_from(right)] += max(alpha, 1e-6) * unit
    p = len(total)
    _, P = linalg.eigh(total, right, subset_by_index=[p - dimensions, p - 1])
    return np.asarray(P[:, ::-1] * np.sqrt(unit))


def sammon(
    start: Array, vectors: Array, landmarks: Array, seen: Array, max_iter: int = 100
) -> tuple[Array, float]:
    """Embed classes so that their distances follow the semantic ones; return points and stress.

    Parameters
    ----------
    start : array of shape (L, d)
    vectors, seen : arrays of shape (L, q) and (K, q)
        Semantics of the classes to embed, and of the landmarks.
    landmarks : array of shape (K, d)
    """
    center = seen.mean(axis=0)
    directions, others = unit_rows(vectors - center), unit_rows(seen - center)
    among = cdist(others, others)
    latent = cdist(landmarks, landmarks)
    scale = float((among * latent).sum()) / max(float((among**2).sum()), np.finfo(float).tiny)
    least = 1e-3 * max(float(latent.mean()), np.finfo(float).tiny)
    to_seen = np.maximum(scale * cdist(directions, others), least)
    to_each_other = np.maximum(scale * cdist(directions, directions), least)
    L, d = start.shape
    pairs = max(L * (L - 1), 1)

    def stress(flat: Array) -> tuple[float, Array]:
        b = flat.reshape(L, d)
        far, near = cdist(b, landmarks), cdist(b, b)
        e, f = far - to_seen, near - to_each_other
        np.fill_diagonal(f, 0)
        value = float((e**2 / to_seen).mean() + (f**2 / to_each_other).sum() / pairs)
        pull = 2 * e / (to_seen * np.maximum(far, 1e-12)) / e.size
        push = 4 * f / (to_each_other * np.maximum(near, 1e-12)) / pairs
        gradient = pull.sum(axis=1)[:, None] * b - pull @ landmarks
        gradient += push.sum(axis=1)[:, None] * b - push @ b
        return value, gradient.ravel()

    minimum = optimize.minimize(
        stress, start.astype(float).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    return minimum.x.reshape(L, d), float(minimum.fun)
