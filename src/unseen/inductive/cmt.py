"""CMT: cross-modal transfer."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg
from sklearn.utils import check_random_state

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import span_sums
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.lbfgs import Objective, minimise
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import ridge_bank
from unseen.statistics.prototype_map import nearest_scores
from unseen.typing import Array, CandidateClasses, RandomState

Prepared: TypeAlias = tuple[Rows, Sums, Array | None, Array, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""

START_INPUT_RMS = 0.5
"""The root mean square of the hidden units' input at the start: tanh is curved there, not saturated."""


class CMT(TunedClassifier):
    """A network with one hidden layer maps rows into the semantic space; the nearest class answers.

        min over θ  Σₙ ‖aᵧₙ − Θ₂ᵀ tanh(Θ₁ᵀxₙ + c) − b‖² + γ‖Θ₁Θ₂‖²
        score of class k = −‖aₖ − Θ₂ᵀ tanh(Θ₁ᵀx + c) − b‖²

    xₙ is a row, aₖ the vector of class k, both centred, aₖ divided by the deviation of the seen
    vectors; Θ₁ (p×h), Θ₂ (h×q), c and b are the network.

    R. Socher, M. Ganjoo, C. Manning and A. Ng, "Zero-shot learning through cross-modal transfer",
    NIPS 2013. Deviations:

    - The start is the ridge regression from rows to semantics, cut to its first h directions and
      written in the nearly linear part of tanh; a few steps of L-BFGS improve it. The original starts
      at random. Here nothing is random, and stopping early takes the place of a validation set.
    - The penalty is on the product Θ₁Θ₂, the map that the network computes while tanh is nearly
      linear, so that the start is the optimum of the linear problem; γ is chosen on class-wise folds
      unless it is given.
    - No novelty detection: whether to answer among seen or unseen classes is the choice of
      ``candidates``.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    hidden : int
        h, the number of hidden units. From a ridge start, at most that of the semantic vectors'
        independent columns.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.
    max_iter : int
        Steps of L-BFGS. 0 leaves the start as it is.
    penalty : {"product", "separate"}
        γ‖Θ₁Θ₂‖², or γ(‖Θ₁‖² + ‖Θ₂‖² + ‖c‖² + ‖b‖²), the original's.
    start : {"ridge", "random"}
        "random" is the original's: uniform, with as many hidden units as ``hidden`` says.
    random_state : int, RandomState or None
        For a random start.

    Attributes
    ----------
    weights_in_, weights_out_ : arrays of shape (p, h) and (h, q)
        Θ₁ and Θ₂.
    bias_in_, bias_out_ : arrays of shape (h,) and (q,)
        c and b; the centring of rows is in c.
    semantic_center_, semantic_scale_ : array of shape (q,), float
    ridge_ : float
    n_iter_ : int
        Steps that were taken.

    Examples
    --------
    >>> from unseen import CMT
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = CMT(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "A hidden layer of tanh units, then a linear layer onto word vectors."),
        sets(
            "penalty",
            "separate",
            CODE,
            "mganjoo/zslearning (an author's), mapTrainingCost: half of 10⁻⁴ times the squares of both "
            "layers and biases; the weight is chosen on folds here.",
        ),
        sets(
            "start",
            "random",
            CODE,
            "initializeParameters: uniform in ±√(6/(p + h + q)) for p inputs, h hidden units and q "
            "outputs; biases are zero.",
        ),
        sets("hidden", 200, CODE, "fastTrain: 200 hidden units."),
        sets("max_iter", 500, CODE, "fastTrain: at most 500 steps of L-BFGS."),
        holds(CODE, "Its penalty on the mean activation of hidden units is left out."),
        holds(
            CODE,
            "Novelty by a Gaussian around each seen class, or by local outlier probabilities, is left "
            "to ``candidates``.",
        ),
    )

    citation = Citation(
        "Socher, Ganjoo, Manning and Ng",
        "Zero-shot learning through cross-modal transfer",
        "NIPS",
        2013,
    )

    advice = Advice(
        cost="one ridge regression, then a few steps of L-BFGS over all rows",
        take="you compare with the literature",
        leave="accuracy counts, or fits must be quick",
    )

    _tuning_rows_at_most = 2000
    n_iter_: int
    weights_in_: Array
    weights_out_: Array
    bias_in_: Array
    bias_out_: Array
    semantic_center_: Array
    semantic_scale_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        hidden: int = 100,
        ridge: float | str = "auto",
        max_iter: int = 15,
        penalty: str = "product",
        start: str = "ridge",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(semantics, candidates)
        self.hidden = hidden
        self.ridge = ridge
        self.max_iter = max_iter
        self.penalty = penalty
        self.start = start
        self.random_state = random_state

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ that "auto" tries."""
        return {"ridge": (0.01, 0.1)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        in_span, sums, basis = span_sums(rows, len(vectors))
        self.semantic_center_ = vectors.mean(axis=0)
        targets = vectors - self.semantic_center_
        self.semantic_scale_ = max(float(np.sqrt((targets**2).mean())), np.finfo(float).tiny)
        return in_span, sums, basis, targets / self.semantic_scale_, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        if self.penalty not in ("product", "separate"):
            self._refuse("penalty", "'product' or 'separate'")
        if self.start not in ("ridge", "random"):
            self._refuse("start", "'ridge' or 'random'")
        rows, sums, basis, targets, dtype = prepared
        total = sums.counts.sum()
        mean = sums.labels.sum(axis=1) / total
        start = _start(sums, targets, setting["ridge"], int(self.hidden))
        if self.start == "random":
            start = self._random_start(sums.width, targets.shape[1], basis)
        scatter = float(np.trace(sums.moments) - total * mean @ mean)
        decay = setting["ridge"] * max(scatter, 0.0) / sums.width
        taken = 0
        if self.max_iter > 0:
            centred = rows._replace(X=rows.X - mean.astype(rows.X.dtype))
            objective = _objective(centred, targets, decay, self.penalty == "separate")
            start, taken = minimise(objective, start, int(self.max_iter))
        self.n_iter_ = max(1, taken)
        first, inner, second, outer = start
        self.bias_in_ = (inner - mean @ first).astype(dtype)
        self.weights_in_ = (first if basis is None else basis @ first).astype(dtype)
        self.weights_out_, self.bias_out_ = second.astype(dtype), outer.astype(dtype)

    def _random_start(self, width: int, outputs: int, basis: Array | None) -> list[Array]:
        """Return Θ₁, c, Θ₂, b of the authors' start: uniform in ±√(6/(p + h + q)), biases zero."""
        random = np.random.default_rng(
            check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        )
        inputs, hidden = width if basis is None else len(basis), int(self.hidden)
        most = np.sqrt(6 / (inputs + hidden + outputs))
        first = random.uniform(-most, most, size=(inputs, hidden))
        second = random.uniform(-most, most, size=(hidden, outputs))
        if basis is not None:  # rows lie in the span: weights outside it change no score
            first = basis.T @ first
        return [first, np.zeros(hidden), second, np.zeros(outputs)]

    def _scores(self, X: Array, vectors: Array) -> Array:
        inner, outer = self.bias_in_.astype(X.dtype), self.bias_out_.astype(X.dtype)
        hidden = np.tanh(X @ self.weights_in_.astype(X.dtype) + inner)
        mapped = hidden @ self.weights_out_.astype(X.dtype) + outer
        targets = (vectors - self.semantic_center_) / self.semantic_scale_
        return nearest_scores(mapped, targets)

    def _semantic_width(self) -> int:
        return len(self.semantic_center_)


def _start(sums: Sums, targets: Array, ridge: float, hidden: int) -> list[Array]:
    """Return Θ₁, c, Θ₂, b of the ridge regression, in the nearly linear part of tanh."""
    bank = ridge_bank(sums, targets, ridge)
    total = sums.counts.sum()
    mean = sums.labels.sum(axis=1) / total
    covariance = sums.moments / total - np.outer(mean, mean)
    # Reduced-rank regression: the directions along which the semantics of the rows move most.
    variance, turn = linalg.eigh(bank.coef.T @ covariance @ bank.coef)
    variance, turn = variance[::-1], turn[:, ::-1]
    h = max(1, min(hidden, int((variance > 1e-9 * variance[0]).sum())))
    spread = np.sqrt(np.maximum(variance[:h], np.finfo(float).tiny)) / START_INPUT_RMS
    first, second = bank.coef @ turn[:, :h] / spread, spread[:, None] * turn[:, :h].T
    return [first, np.zeros(h), second, bank.intercept + mean @ bank.coef]


def _objective(rows: Rows, targets: Array, decay: float, separate: bool = False) -> Objective:
    X, codes, weights = rows
    share = None if weights is None else weights.astype(X.dtype)[:, None]
    wanted = targets.astype(X.dtype)[codes]
    total = float(len(X) if weights is None else weights.sum())

    def value(parts: list[Array]) -> tuple[float, list[Array]]:
        first, inner, second, outer = (part.astype(X.dtype) for part in parts)
        H = np.tanh(X @ first + inner)
        error = H @ second + outer - wanted
        pulled = error if share is None else error * share
        product = parts[0] @ parts[2]
        penalised = parts if separate else [product]
        loss = float(np.einsum("ij,ij->", error, pulled, dtype=float))
        loss += decay * sum(float((part**2).sum()) for part in penalised)
        slopes = [product @ parts[2].T, np.zeros(1), parts[0].T @ product, np.zeros(1)]
        slopes = parts if separate else slopes
        back = (pulled @ second.T) * (1 - H * H)
        gradients = [
            2 * (X.T @ back) + 2 * decay * slopes[0],
            2 * back.sum(axis=0) + 2 * decay * slopes[1],
            2 * (H.T @ pulled) + 2 * decay * slopes[2],
            2 * pulled.sum(axis=0) + 2 * decay * slopes[3],
        ]
        return loss / total, [g / total for g in gradients]

    return value
