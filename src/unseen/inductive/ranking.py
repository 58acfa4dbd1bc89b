"""What SJE, DeViSE, ALE and LatEm share: a ranking loss on bilinear scores, by stochastic descent."""

from __future__ import annotations

from itertools import repeat

import numpy as np
from sklearn.utils import check_random_state

from unseen.base import ZeroShotClassifier
from unseen.inductive.bilinear import BilinearClassifier, in_own_span, semantic_coordinates
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums, class_weights
from unseen.solvers.gradient_descent import descend, latent_scores, lipschitz
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, CandidateClasses, Codes, RandomState, RowValues


class RankingClassifier(BilinearClassifier):
    """A score (x − x̄)ᵀV(a/‖a‖ − ā) that ranks the true class first. A subclass writes ``_loss``.

    Steps are constant, in units of the inverse curvature, over batches of rows that are drawn by
    weight; V is the mean of all the iterates.
    """

    _centred = True
    """Whether class vectors are brought to unit length, and both they and rows are centred."""
    center_: Array
    semantic_center_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        learning_rate: float = 1.0,
        margin: float = 1.0,
        epochs: int = 5,
        batch_size: int = 50,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.learning_rate = learning_rate
        self.margin = margin
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return values worth trying with ``ClassWiseSearch``."""
        return {"learning_rate": (1.0, 10.0, 100.0), "epochs": (5, 20)}

    def _loss(self, scores: Array, codes: Codes) -> tuple[Array, Array]:
        """Return the cost of each row, and a subgradient with respect to the scores."""
        raise NotImplementedError

    def _start(self, shape: tuple[int, int], random: np.random.Generator, scale: float) -> Array:
        """Return the V to start from; ``scale`` is that of one step."""
        return np.zeros(shape)

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        random = np.random.default_rng(seed)
        counts = class_weights(rows.codes, len(vectors), rows.weights)
        total = class_sums(*rows[:2], len(vectors), rows.weights).sum(axis=1)
        centred = self._centred and bool(self.get_params(deep=False).get("center", True))
        self.center_ = centred * (total / counts.sum()).astype(rows.X.dtype)
        vectors = self._directions(vectors)
        self.semantic_center_ = centred * vectors.mean(axis=0)
        (X, codes, weights), _, basis = in_own_span(rows._replace(X=rows.X - self.center_), None)
        coordinates, E = semantic_coordinates((vectors - self.semantic_center_).T)
        step = self.learning_rate / lipschitz(X, coordinates)
        # Even with few rows (class means) there are enough steps for the averaged iterate to converge.
        steps = max(self.epochs * len(X) // self.batch_size, 50 * self.epochs)
        V = descend(
            X,
            codes,
            coordinates,
            self._loss,
            self._start((X.shape[1], len(coordinates)), random, step),
            repeat(step, steps),
            batch=self.batch_size,
            random=random,
            weights=weights,
        )
        V = V @ E.T
        self.compatibility_ = np.asarray(V if basis is None else basis @ V).astype(rows.X.dtype)

    def _directions(self, vectors: Array) -> Array:
        """Bring class vectors to unit length; numbers (one column) have no direction, and stay."""
        if not self._centred or vectors.shape[1] == 1:
            return vectors
        # Not ``unit_rows``, which rounds otherwise: the recorded answers of a descent depend on it.
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(length > 0, length, 1))

    def _scores(self, X: Array, vectors: Array) -> Array:
        V = self.compatibility_.astype(X.dtype, copy=False)
        A = (self._directions(vectors) - self.semantic_center_).T.astype(X.dtype)
        return latent_scores(X - self.center_.astype(X.dtype), np.atleast_3d(V.T).T, A)[0]

    def _scorer(self, vectors: Array) -> Scorer:
        if self._centred or self.compatibility_.ndim == 3:  # unit vectors, or a maximum over maps
            raise NotImplementedError
        return Scorer(self.compatibility_)

    def _semantic_width(self) -> int:
        return int(self.compatibility_.shape[-1])

    def _label_embedding(self, X: object) -> RowValues:
        probabilities: RowValues = ZeroShotClassifier._label_embedding(self, X)
        return probabilities
