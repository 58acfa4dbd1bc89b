"""SemiSupervisedClustering: one linear map under labelled classes and clusters of the pool."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.passes import class_sums, class_weights
from unseen.statistics.prototype_map import prototype_map
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.typing import Array, CandidateClasses


class SemiSupervisedClustering(PointClassifier):
    """Cluster the pool around class points that a linear map predicts from semantics.

        min over D, R  Σₙ ‖zₙ − D aᵧₙ‖² + λ Σₘₖ Rₘₖ ‖zₘ − D aₖ‖² + γ‖D‖²

    n runs over labelled rows with the vectors aᵧₙ of their classes, m over the pool, k over the
    candidates; R assigns each row of the pool to one candidate; D (d×q, with an intercept) maps
    semantics to the visual space of z. Rounds alternate: R takes the nearest D aₖ, D is a ridge
    regression on labelled and assigned rows. Both are exact for a given γ.

    S. M. Shojaee and M. Soleymani Baghshah, "Semi-supervised zero-shot learning by a clustering-based
    approach", arXiv 1605.09016, 2016. Deviations:

    - z are features whitened by the within-class covariance of the seen classes; ``shrinkage=None``
      gives the paper's plain features.
    - The start is the inductive ridge regression; the paper's start is not verified.
    - D has an intercept. γ is in units of the mean eigenvalue of a round's semantic scatter; λ = 1
      gives a row of the pool the weight of a labelled row. Both are fixed, chosen on seen classes.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    pool_weight : float
        λ.
    ridge : float
        γ of the rounds.
    rounds : int
        The most rounds; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
        ``loss`` is the pool's mean squared distance from its points.
    points_, start_ : array of shape (L, d)
        The class points in visual space, after and before the pool was seen.

    Examples
    --------
    >>> from unseen import SemiSupervisedClustering
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> SemiSupervisedClustering(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "Class vectors mapped into the feature space, alternating with cluster labels."),
        sets("shrinkage", None, PAPER, "Deep features as they are."),
        sets("pool_weight", 1.0, UNVERIFIED, "Its λ and γ could not be read."),
        holds(
            UNVERIFIED,
            "Its start could not be read; here it is the ridge regression of seen class means.",
        ),
    )

    citation = Citation(
        "Shojaee and Soleymani Baghshah",
        "Semi-supervised zero-shot learning by a clustering-based approach",
        "arXiv",
        2016,
        table_name="Shojaee et al.",
    )

    advice = Advice(
        cost="one ridge regression and one pass over the pool in each round",
        take="features are weak, seconds matter: the most accurate on AwA1 here",
        leave="candidates may be absent from the pool: it does not review the pool first",
    )

    takes_known: ClassVar[bool] = True
    _not_negative: ClassVar[tuple[str, ...]] = ("pool_weight", "ridge")

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        pool_weight: float = 1.0,
        ridge: float = 0.3,
        rounds: int = 20,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.pool_weight = pool_weight
        self.ridge = ridge

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"pool_weight": (0.3, 1.0, 3.0), "ridge": (0.1, 0.3, 1.0)}

    def _move(self, problem: PoolProblem) -> Array:
        points, labels = problem.start, problem.labels(problem.start)
        free, L = problem.free, len(problem.start)
        vectors = np.concatenate([problem.seen_vectors, problem.vectors[free]])
        seen_sums = problem.seen_means.T.astype(float) * problem.seen_counts
        squares = float(np.einsum("ij,ij->", problem.Z, problem.Z, dtype=float))
        for _ in range(self.rounds):
            sums = self.pool_weight * class_sums(problem.Z, labels, L)[:, free]
            counts = self.pool_weight * class_weights(labels, L)[free]
            self._map = prototype_map(
                np.concatenate([seen_sums, sums], axis=1),
                np.concatenate([problem.seen_counts, counts]),
                vectors,
                self.ridge,
            )
            points = points.copy()
            points[free] = self._map(problem.vectors[free])
            before, labels = labels, problem.labels(points)
            totals = class_sums(problem.Z, labels, L)
            lengths = np.einsum("ij,ij->i", points, points, dtype=float)
            length_term = float(class_weights(labels, L) @ lengths)
            error = squares - 2 * float(np.vdot(totals.T, points)) + length_term
            self._note_round(before, labels, None, error / len(labels))
            if (before == labels).all():
                break
        return points
