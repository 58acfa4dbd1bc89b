"""PrototypePropagation: labels spread from predicted prototypes over a graph of the pool."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.statistics.graph import neighbour_graph, neighbours, propagate, symmetric_walk
from unseen.statistics.transport import balance
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.typing import Array, CandidateClasses


class PrototypePropagation(PointClassifier):
    """Spread labels from class prototypes over the nearest neighbours among the unlabelled rows.

        F = (1 − α)(I − αS)⁻¹ Y,   S = D^(-½) W D^(-½)

    The nodes of the graph are the M rows of the pool and the L prototypes of the candidates. W joins
    each row to its k nearest rows and to its nearest prototype, and each prototype to its k nearest
    rows, with weight max(cosine, 0); it is sparse. Y (M+L × L) is one for a prototype and its class. F
    is scaled, class by class and row by row, so that classes lean to equal mass. Each prototype moves
    to the mean of the rows that F gives to its class, and the next round starts from there. The nearest
    prototype labels a row, of the pool or new.

    Label propagation is D. Zhou, O. Bousquet, T. Lal, J. Weston and B. Schölkopf, "Learning with local
    and global consistency", NIPS 2003; class prototypes among the nodes are in V. Stojnić,
    Y. Kalantidis and G. Tolias, "Label propagation for zero-shot classification with vision-language
    models" (ZLaP), CVPR 2024. Ours:

    - Rows are whitened by the within-class covariance of the seen classes; ``shrinkage=None`` gives
      plain features.
    - Rounds, the edge from a row to its nearest prototype, and the mass of the classes (``balance``).
      Chosen on seen classes: with the prototypes' own edges alone, labels do not reach all rows.
    - New rows are labelled by the nearest prototype, which the propagated labels have moved. The
      graph's own answer for the pool is ``propagated_``.

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
    balance : float in [0, 1]
        How far classes lean to equal mass; 0: not at all.
    rounds : int
        The most rounds; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
        ``loss`` is the mean entropy of F.
    propagated_ : array of shape (M, L)
        F of the last round, rows summing to one.
    points_, start_ : array of shape (L, d)
        The prototypes in visual space, after and before the pool was seen.

    Examples
    --------
    >>> from unseen import PrototypePropagation
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> PrototypePropagation(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    citation = Citation(
        "Kalantidis, Tolias and others",
        "Label propagation for zero-shot classification with vision-language models",
        "CVPR",
        2024,
    )

    advice = Advice(
        cost="the nearest neighbours within the pool, and a sparse system in each round",
        take=(
            "classes are of similar size and wind through the feature space: after the flagship the "
            "most accurate on CUB here"
        ),
        leave="features are weak, or classes very uneven: neighbours then mislead",
    )

    propagated_: Array
    takes_known: ClassVar[bool] = True
    _whole: ClassVar[tuple[str, ...]] = ("rounds", "neighbours")

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        neighbours: int = 10,
        alpha: float = 0.8,
        balance: float = 0.9,
        rounds: int = 5,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.neighbours = neighbours
        self.alpha = alpha
        self.balance = balance

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"neighbours": (5, 10, 20), "alpha": (0.5, 0.8, 0.95)}

    def _move(self, problem: PoolProblem) -> Array:
        Z = problem.Z
        rows = neighbour_graph(Z, self.neighbours)
        points, labels = problem.start, problem.labels(problem.start)
        for _ in range(self.rounds):
            F = self._spread(rows, Z, points, problem.known)
            self.propagated_ = F
            points, labels, settled = self._moved_by_labels(problem, points, F, labels)
            if settled:
                break
        return points

    def _spread(self, rows: sparse.csr_matrix, Z: Array, points: Array, known: Known) -> Array:
        """Return the propagated labels of the pool, rows summing to one."""
        M, L = len(Z), len(points)
        B = _edges(*neighbours(points, self.neighbours, Z), M)
        B = B.maximum(_edges(*neighbours(Z, 1, points), L).T)
        W = sparse.bmat([[rows, B.T], [B, None]], format="csr")
        Y = np.concatenate([np.zeros((M, L)), np.eye(L)])
        F = propagate(symmetric_walk(W), Y, self.alpha)[:M]
        return balanced(F, self.balance, known)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.alpha, (int, float)) and 0 <= self.alpha < 1):
            self._refuse("alpha", "a number in [0, 1)")
        if not (isinstance(self.balance, (int, float)) and 0 <= self.balance <= 1):
            self._refuse("balance", "a number in [0, 1]")
        if self.neighbours < 1:
            self._refuse("neighbours", "an integer >= 1")


def _edges(place: Array, weight: Array, columns: int) -> sparse.csr_matrix:
    """Return a sparse matrix with these places and weights, max(weight, 0), in each row."""
    source = np.repeat(np.arange(len(place)), place.shape[1])
    values = np.maximum(weight, 0).ravel()
    return sparse.csr_matrix((values, (source, place.ravel())), shape=(len(place), columns))


def balanced(F: Array, strength: float, known: Known = NOTHING_KNOWN) -> Array:
    """Return propagated labels with rows summing to one, classes leaning to equal mass.

    A row that no label reached counts for all classes alike; a known row counts for its class alone.
    """
    F = np.maximum(F, 0)
    total = F.sum(axis=1, keepdims=True)
    L = F.shape[1]
    P = np.where(total > 0, F / np.where(total > 0, total, 1), 1 / L)
    log_p = known.clamp_log_probabilities(np.log(np.maximum(P, 1e-12)))
    balanced = np.exp(balance(log_p, np.full(L, 1 / L), strength))
    return np.asarray(known.clamp_probabilities(balanced))
