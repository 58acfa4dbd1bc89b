"""SynC: synthesised classifiers."""

from __future__ import annotations

from itertools import repeat
from typing import TypeAlias

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.utils import check_random_state

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import in_own_span
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.rows.kernels import unit_rows
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums, class_weights, gram
from unseen.solvers.gradient_descent import descend, lipschitz
from unseen.solvers.hinge import fit_squared_hinge, match_signs
from unseen.solvers.losses import structured_hinge
from unseen.statistics.attributes import Bank
from unseen.typing import Array, CandidateClasses, RandomState

Prepared: TypeAlias = tuple[Rows, Array, Array | None, Array, Array, dict[float, Bank]]
"""What ``_prepare`` computes once, for all settings."""

ROUNDS = 5
"""Regressions for the squared hinge; more change the scores by less than their noise."""
BATCH = 50
LEARNING_RATE, EPOCHS = 10.0, 10
"""Step size, in units of the inverse curvature, and epochs of the structured loss; chosen on seen
classes of CUB and AwA1."""
SEMANTIC_RIDGE = 1e-3
"""Keeps the phantom classifiers finite where classes look alike to the kernel."""


class SynC(TunedClassifier):
    """Classifiers of all classes are mixtures of a few base classifiers, one a phantom class.

        wₖ = Σᵣ sₖᵣ vᵣ,   sₖᵣ = exp(−‖aₖ − bᵣ‖²/σ²) / Σᵣ exp(−‖aₖ − bᵣ‖²/σ²)
        "ovo":     min over v  Σₖ Σₙ (1 − tₙₖ wₖᵀxₙ)²₊ + λ/2 Σₖ ‖wₖ‖²
        "struct":  min over v  Σₙ maxₖ [ Δ(k, yₙ) + wₖᵀxₙ − wᵧₙᵀxₙ ],   Δ(k, y) ∝ ‖aₖ − aᵧ‖

    xₙ is a row (centred), aₖ the vector of class k, bᵣ that of phantom class r, vᵣ its base classifier,
    tₙₖ = +1 for the class of row n and −1 for the others. The score of a class is wₖᵀx.

    S. Changpinyo, W.-L. Chao, B. Gong and F. Sha, "Synthesized classifiers for zero-shot learning",
    CVPR 2016. Deviations:

    - The phantom classes are the seen classes (R = K, bᵣ = aᵣ), the paper's simplest choice; their
      vectors are not learned.
    - For R = K the wₖ of seen classes are free, so they are learned by themselves and v follows from
      w = s v, with a small ridge where classes look alike to the kernel.
    - "ovo" ("one versus other"): the squared hinge is lowered by repeated ridge regressions, and the
      classifiers have an intercept. "struct": averaged descent, as in ``SJE``, takes the place of λ.
    - σ² is in units of the mean squared distance of two seen classes, λ in units of the variance of the
      features times the number of rows; both are chosen on class-wise folds unless they are given.

    The original's Δ is the distance, as here (SynC_fast.m); ours is scaled to mean one.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    loss : {"ovo", "struct", "cs"}
        "cs", Crammer and Singer's, is "struct" with Δ = 1 for all pairs.
    width : float or "auto"
        σ².
    ridge : float or "auto"
        λ. "struct" does not use it.
    random_state : int, RandomState or None
        For "struct" and "cs".
    unit_length : bool
        Class vectors and rows at unit length, rows not centred: the authors' form.

    Attributes
    ----------
    base_ : array of shape (p, K)
        The base classifiers v.
    base_intercept_ : array of shape (K,)
    phantoms_ : array of shape (K, q)
        b.
    unit_ : float
        The mean squared distance of two phantom classes.
    width_, ridge_ : float

    Examples
    --------
    >>> from unseen import SynC
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SynC(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        sets(
            "unit_length",
            True,
            CODE,
            "pujols/Zero-shot-learning-journal, SynC_fast: signatures at unit length (L2), classifiers "
            "without centring.",
        ),
        sets(
            "loss",
            "ovo",
            PAPER,
            "One versus other, the form of the paper's tables; 'cs' and 'struct' are the others.",
        ),
        holds(CODE, "Phantoms are the seen classes and V = pinv(S) W, as in their SynC_fast."),
        sets("width", "auto", CODE, "Five class-wise folds over 2^-5 … 2^5; scale-free values here."),
        sets("ridge", "auto", CODE, "The same over 2^-24 … 2^-9."),
    )

    citation = Citation(
        "Changpinyo, Chao, Gong and Sha",
        "Synthesized classifiers for zero-shot learning",
        "CVPR",
        2016,
        table_name="Changpinyo et al.",
    )

    advice = Advice(
        cost="repeated ridge regressions on one factorisation",
        take=(
            "features are strong and there are many classes: the most accurate inductive method on "
            "CUB here"
        ),
        leave=(
            "class vectors lie in the space of the features, as glyphs do: ASTE and ESZSL do better "
            "there"
        ),
    )

    base_: Array
    base_intercept_: Array
    phantoms_: Array
    unit_: float
    width_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        loss: str = "ovo",
        width: float | str = "auto",
        ridge: float | str = "auto",
        random_state: RandomState = None,
        unit_length: bool = False,
    ) -> None:
        super().__init__(semantics, candidates)
        self.loss = loss
        self.width = width
        self.ridge = ridge
        self.random_state = random_state
        self.unit_length = unit_length

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of σ² and λ that "auto" tries."""
        return {"width": (0.3, 1.0, 3.0), "ridge": (0.1, 1.0)}

    def _searched(self) -> dict[str, tuple[float, ...]]:
        space = self.search_space()
        return space if self.loss == "ovo" else {"width": space["width"]}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        if self.loss not in ("ovo", "struct", "cs"):
            self._refuse("loss", "'ovo', 'struct' or 'cs'")
        vectors = self._signatures(vectors)
        X, codes, weights = rows
        if self.unit_length:
            X = unit_rows(X)
        total = class_weights(codes, len(vectors), weights).sum()
        mean = class_sums(X, codes, len(vectors), weights).sum(axis=1) / total
        if self.unit_length:
            mean = 0 * mean
        in_span, _, basis = in_own_span(rows._replace(X=X - mean.astype(X.dtype)), None)
        moments = gram(in_span.X, weights)
        return in_span, mean, basis, moments, vectors, {}

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        in_span, mean, basis, moments, vectors, done = prepared
        distance = cdist(vectors, vectors, "sqeuclidean")
        pairs = max(1, len(vectors) * (len(vectors) - 1))
        self.phantoms_ = vectors
        self.unit_ = max(float(distance.sum()) / pairs, np.finfo(float).tiny)
        S = self._similarity(vectors, setting["width"])
        ridge = setting.get("ridge", 0.0)
        if ridge not in done:  # the classifiers of seen classes do not depend on the kernel
            if self.loss == "ovo":
                done[ridge] = _one_versus_other(in_span, len(vectors), moments, ridge, len(mean))
            else:
                margin = np.sqrt(distance / self.unit_)
                if self.loss == "cs":
                    margin = 1.0 - np.eye(len(distance))
                done[ridge] = self._structured(in_span, margin)
        H = S.T @ S
        H[np.diag_indices_from(H)] += SEMANTIC_RIDGE * np.trace(H) / len(H)
        right = linalg.solve(H, S.T, assume_a="pos").T  # W = V Sᵀ, so V = W S (SᵀS)⁻¹
        V, intercept = done[ridge].coef @ right, done[ridge].intercept @ right
        V = V if basis is None else basis @ V
        self.base_ = V.astype(in_span.X.dtype)
        self.base_intercept_ = intercept - mean @ V
        self.width_ = setting["width"]

    def _structured(self, rows: Rows, margin: Array) -> Bank:
        """Minimise the structured hinge over one classifier a class: SJE with one-hot semantics."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        classes = len(margin)
        one_hot = np.eye(classes)
        W = descend(
            rows.X,
            rows.codes,
            one_hot,
            lambda scores, codes: structured_hinge(scores, codes, margin),
            np.zeros((rows.X.shape[1], classes), dtype=rows.X.dtype),
            repeat(LEARNING_RATE / lipschitz(rows.X, one_hot), max(EPOCHS * len(rows.X) // BATCH, 500)),
            batch=BATCH,
            random=np.random.default_rng(seed),
            weights=rows.weights,
        )
        return Bank(W.astype(float), np.zeros(classes))

    def _similarity(self, vectors: Array, width: float) -> Array:
        """Return s, one row a class."""
        distance = cdist(self._signatures(vectors), self.phantoms_, "sqeuclidean")
        narrow = max(width * self.unit_, np.finfo(float).tiny)
        return np.asarray(softmax(-distance / narrow, axis=1))

    def _signatures(self, vectors: Array) -> Array:
        return unit_rows(vectors) if self.unit_length else vectors

    def _scores(self, X: Array, vectors: Array) -> Array:
        if self.unit_length:
            X = unit_rows(X)
        S = self._similarity(vectors, self.width_)
        return Bank(self.base_ @ S.T.astype(self.base_.dtype), S @ self.base_intercept_)(X)

    def _semantic_width(self) -> int:
        return int(self.phantoms_.shape[1])


def _one_versus_other(rows: Rows, classes: int, moments: Array, ridge: float, width: int) -> Bank:
    """Learn one linear classifier a class with the squared hinge; the rows are centred."""
    X, codes, weights = rows
    G = moments.copy()
    scale = max(float(np.trace(G)) / width, np.finfo(float).tiny)
    G[np.diag_indices_from(G)] += max(ridge, 1e-8) * scale
    factor = linalg.cho_factor(G, overwrite_a=True)
    share = np.ones(len(X), dtype=X.dtype) if weights is None else weights.astype(X.dtype)
    total = float(share.sum(dtype=float))

    def regress(targets: Array) -> Array:
        weighted = targets * share[:, None]
        intercept = weighted.sum(axis=0, dtype=float) / total
        coef = linalg.cho_solve(factor, (X.T @ weighted).astype(float))
        return np.vstack([coef, intercept])

    def score(both: Array) -> Array:
        return Bank(both[:-1], both[-1])(X)

    parameters = fit_squared_hinge(match_signs(codes, classes, X.dtype), regress, score, ROUNDS)
    return Bank(parameters[:-1], parameters[-1])
