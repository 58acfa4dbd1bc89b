"""SSE: semantic similarity embedding, ReLU form."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from unseen.advice import Advice
from unseen.base import ZeroShotClassifier
from unseen.citation import Citation
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import blocks, class_sums, class_weights
from unseen.solvers.losses import structured_hinge
from unseen.solvers.simplex import simplex_codes
from unseen.typing import Array, CandidateClasses, RandomState

STEP_SIZE = 0.1
"""The size of the adaptive steps, in units of the start; chosen on seen classes of CUB and AwA1."""
SAMPLE = 512


BLOCK_NUMBERS = 4_000_000
"""Numbers in a block of rows × classes × columns: 16 MB of float32."""


class SSE(ZeroShotClassifier):
    """Class and row as mixtures of seen classes, compared.

        z(a) = argmin over z in the simplex  ½‖a − Σₖ zₖaₖ‖² + γ/2 ‖z‖²                (semantics)
        π(x)ₖ = Σ_d w_d max(0, x_d − v_kd)        (features, ReLU; each column beside its negative)
        score of a class = Σₖ z(a)ₖ π(x)ₖ
        min over w, v   Σₙ max_l [ Δ(l, yₙ) + F(xₙ, l) − F(xₙ, yₙ) ],   Δ(l, y) = 1 − z(a_l)ᵀz(aᵧ)

    x is a row, aₖ the vector of seen class k, v_k its anchor among the features, w the weights that all
    classes share; Δ(y, y) = 0.

    Z. Zhang and V. Saligrama, "Zero-shot learning via semantic similarity embedding", ICCV 2015.
    Deviations:

    - Each column of x stands beside its negative, so that falling short of an anchor counts as
      exceeding it does. With one side alone, and one w for all classes, a class with large anchors
      takes all rows.
    - The anchors start at the class means and w at −1: the score is then minus the city-block
      distance, in units that give the scores unit deviation; batches of rows, adaptive steps
      (AdaGrad) and the mean of the iterates take the place of the alternating solver. Stopping early
      takes the place of the penalties on w and v.
    - Constraints on rows ("instance classification") and on class means ("distribution alignment"):
      here a batch holds rows and, for as many drawn classes, their means.
    - γ is in units of the mean squared length of the seen vectors about their mean.

    Not verified: the original's Δ, start and penalties; its full text was not at hand.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    ridge : float
        γ: the larger, the more seen classes share in a mixture.
    steps : int
        0 leaves the start as it is.
    batch_size : int
    random_state : int, RandomState or None
    sides : {"both", "one"}
        Columns of x with their negatives beside them, or x alone, as in the original.

    Attributes
    ----------
    anchors_ : array of shape (K, 2p)
        v.
    weight_ : array of shape (2p,)
        w.
    atoms_ : array of shape (K, q)
        The vectors of the seen classes.

    Examples
    --------
    >>> from unseen import SSE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SSE(semantics, candidates="seen", random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        sets("sides", "one", PAPER, "SSE-ReLU compares x with its anchors from one side."),
        holds(
            UNVERIFIED,
            "Its Δ, start, penalties and alternating solver could not be read; SSE-INT is not offered.",
        ),
    )

    citation = Citation(
        "Zhang and Saligrama",
        "Zero-shot learning via semantic similarity embedding",
        "ICCV",
        2015,
        table_name="SSE-ReLU",
    )

    advice = Advice(
        cost="one small quadratic programme for each class, then adaptive steps over all rows",
        take="unseen classes are mixtures of seen ones",
        leave="unseen classes lie outside of what the seen ones span",
    )
    _calibration_rows = 20  # a score costs more here than in other methods

    anchors_: Array
    weight_: Array
    atoms_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        ridge: float = 1.0,
        steps: int = 60,
        batch_size: int = 32,
        random_state: RandomState = None,
        sides: str = "both",
    ) -> None:
        super().__init__(semantics, candidates)
        self.ridge = ridge
        self.steps = steps
        self.batch_size = batch_size
        self.random_state = random_state
        self.sides = sides

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return values worth trying with ``ClassWiseSearch``."""
        return {"ridge": (0.1, 1.0), "steps": (0, 60)}

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> None:
        if self.sides not in ("both", "one"):
            self._refuse("sides", "'both' or 'one'")
        X, codes, weights = self._sides(rows.X), rows.codes, rows.weights
        random = np.random.default_rng(
            check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        )
        self.atoms_ = vectors
        Z = self._mixtures(vectors).astype(X.dtype)
        margin = 1 - Z @ Z.T
        np.fill_diagonal(margin, 0)
        counts = class_weights(codes, len(vectors), weights)
        means = (class_sums(X, codes, len(vectors), weights) / counts).T.astype(X.dtype)
        self.anchors_, self.weight_ = means.copy(), np.full(X.shape[1], -1, dtype=X.dtype)
        sample = X[:: max(1, len(X) // SAMPLE)]
        start = relu_similarities(sample, means, self.weight_) @ Z.T
        unit = X.dtype.type(1 / max(float(start.std(axis=1).mean()), np.finfo(X.dtype).tiny))
        self.weight_ = self.weight_ * unit
        spread = float(np.sqrt(np.mean((sample - sample.mean(axis=0)) ** 2)))
        scales = X.dtype.type(STEP_SIZE) * unit, X.dtype.type(STEP_SIZE * spread)
        chance = None if weights is None else weights / weights.sum()
        sizes = [np.zeros_like(self.weight_), np.zeros_like(self.anchors_)]
        now, mean = [self.weight_, self.anchors_], [self.weight_, self.anchors_]
        half = max(1, int(self.batch_size) // 2)
        for done in range(1, int(self.steps) + 1):
            drawn = random.choice(len(X), size=half, p=chance)
            classes = random.integers(len(vectors), size=half)
            block = np.concatenate([X[drawn], means[classes]])
            block_codes = np.concatenate([codes[drawn], classes])
            gap = rectified(block, now[1])
            _, pull = structured_hinge((gap @ now[0]).T @ Z.T, block_codes, margin)
            pulls = relu_gradients(gap, now[0], pull.astype(X.dtype) @ Z)
            for i, gradient in enumerate(pulls):
                sizes[i] += gradient * gradient
                step = scales[i] * gradient / np.sqrt(sizes[i] + np.finfo(X.dtype).tiny)
                now[i] = now[i] - step
                mean[i] = mean[i] + (now[i] - mean[i]) / X.dtype.type(done)
        self.weight_, self.anchors_ = mean

    def _mixtures(self, vectors: Array) -> Array:
        return simplex_codes(vectors.astype(float), self.atoms_, float(self.ridge))

    def _scores(self, X: Array, vectors: Array) -> Array:
        Z = self._mixtures(vectors).astype(X.dtype)
        return np.asarray(relu_similarities(self._sides(X), self.anchors_, self.weight_) @ Z.T)

    def _sides(self, X: Array) -> Array:
        """Return rows with their negatives beside them, or as they are: the original's form."""
        return _both_sides(X) if self.sides == "both" else X

    def _semantic_width(self) -> int:
        return int(self.atoms_.shape[1])


def _both_sides(X: Array) -> Array:
    return np.hstack([X, -X])


def rectified(X: Array, anchors: Array) -> Array:
    """Return max(0, x − v) for each anchor and row, (K, n, p)."""
    gap = X - anchors[:, None]
    return np.asarray(np.maximum(gap, 0, out=gap))


def relu_similarities(X: Array, anchors: Array, weight: Array) -> Array:
    """Return Σ_d w_d max(0, x_d − v_d) for each row and anchor, (N, K), in the dtype of X."""
    out = np.empty((len(X), len(anchors)), dtype=X.dtype)
    V, w = anchors.astype(X.dtype), weight.astype(X.dtype)
    for rows in blocks(len(X), max(1, BLOCK_NUMBERS // V.size)):
        out[rows] = (rectified(X[rows], V) @ w).T
    return out


def relu_gradients(gap: Array, weight: Array, pull: Array) -> tuple[Array, Array]:
    """Return the gradients of Σ pull·similarity with respect to the weight and to the anchors.

    ``gap`` is what :func:`rectified` gave, ``pull`` is (n, K).
    """
    of_anchor = pull.T[:, None]
    to_weight = (of_anchor @ gap)[:, 0].sum(axis=0)
    above = np.greater(gap, 0, out=gap, casting="unsafe")
    return to_weight, -weight * (of_anchor @ above)[:, 0]
