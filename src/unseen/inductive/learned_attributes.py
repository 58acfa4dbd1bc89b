"""LearnedAttributes: attributes designed from the rows, discriminative and learnable."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.spatial.distance import cdist

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import span_sums
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import RIDGE_GRID, Bank, ridge_bank
from unseen.statistics.prototype_map import nearest_scores
from unseen.typing import Array, CandidateClasses

Prepared: TypeAlias = tuple[Sums, Array, Array | None, npt.DTypeLike]


class LearnedAttributes(TunedClassifier):
    """Design attributes of the seen classes, and predict those of unseen classes from semantics.

        max over A  tr Aᵀ(J − λL)A,   AᵀA = I
        min over W, b  Σₙ ‖Aᵧₙ − Wᵀxₙ − b‖² + γ‖W‖²,   score of class j = −‖Ãⱼ − Wᵀx − b‖²

    A (K×l) are the attributes of the seen classes. J keeps classes apart: it is the centring matrix. L,
    the Laplacian of the graph of near class means, lets classes that look alike share attributes, which
    makes them learnable. Ãⱼ is the ridge regression of A on semantics at class j.

    F. Yu, L. Cao, R. Feris, J. Smith and S.-F. Chang, "Designing category-level attributes for
    discriminative visual recognition", CVPR 2013. Deviations: the attributes of an unseen class follow
    from its vector, where the original asks people how similar it is to known classes; all columns of A
    come from one eigenproblem instead of one after the other; γ is chosen on class-wise folds.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    attributes : int or "auto"
        l; "auto": one less than there are seen classes, at most.
    learnability : float
        λ.
    semantic_ridge : float
        The ridge of the regression of A on semantics, in units of their mean squared length.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.

    Attributes
    ----------
    attributes_ : array of shape (K, l)
        A.
    coef_, intercept_ : arrays of shape (p, l) and (l,)

    Examples
    --------
    >>> from unseen import LearnedAttributes
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = LearnedAttributes(semantics, "seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "A category-attribute matrix that separates classes and keeps near ones alike."),
        sets("learnability", 1.0, UNVERIFIED, "Its λ could not be read."),
        holds(PAPER, "People say there how a new class resembles known ones; semantics do here."),
    )

    citation = Citation(
        "Yu, Cao, Feris, Smith and Chang",
        "Designing category-level attributes for discriminative visual recognition",
        "CVPR",
        2013,
    )

    advice = Advice(
        cost="one K × K eigenproblem and two ridge regressions",
        take=(
            "the given attributes separate classes badly, and others may be designed from the "
            "labelled rows"
        ),
        leave="class vectors carry little beyond what separates the seen classes",
    )

    attributes_: Array
    semantic_map_: Array
    semantic_center_: Array
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        attributes: int | str = "auto",
        learnability: float = 1.0,
        semantic_ridge: float = 0.1,
        ridge: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.attributes = attributes
        self.learnability = learnability
        self.semantic_ridge = semantic_ridge
        self.ridge = ridge

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ that "auto" tries."""
        return {"ridge": RIDGE_GRID}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        _, sums, basis = span_sums(rows, len(vectors))
        return sums, vectors, basis, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, vectors, basis, dtype = prepared
        count = len(vectors) - 1
        if self.attributes != "auto":
            count = min(max(1, int(self.attributes)), count)
        means = (sums.labels / sums.counts).T
        self.attributes_ = designed_attributes(means, max(1, count), float(self.learnability))
        self.semantic_center_ = vectors.mean(axis=0)
        S = vectors - self.semantic_center_
        unit = max(float(np.einsum("ij,ij->", S, S)) / len(S), np.finfo(float).tiny)
        ridge = 0.0 if self.semantics is None else float(self.semantic_ridge)  # one-hot: exactly A
        G = S @ S.T + max(ridge, 1e-6) * unit * np.eye(len(S))
        self.semantic_map_ = S.T @ linalg.solve(G, self.attributes_, assume_a="pos")
        bank = ridge_bank(sums, self.attributes_, setting["ridge"])
        self.coef_, self.intercept_ = bank.for_columns(basis, dtype)

    def _scores(self, X: Array, vectors: Array) -> Array:
        wanted = (vectors - self.semantic_center_) @ self.semantic_map_
        return nearest_scores(Bank(self.coef_, self.intercept_)(X), wanted)

    def _semantic_width(self) -> int:
        return len(self.semantic_center_)


def designed_attributes(means: Array, count: int, learnability: float) -> Array:
    """Return A (K, l), the leading eigenvectors of J − λL but for the constant, of unit deviation.

    The graph joins each class to its few nearest class means, by exp(−d²/mean d²).
    """
    K = len(means)
    squares = cdist(means, means, "sqeuclidean")
    unit = max(float(squares.mean()), np.finfo(float).tiny)
    W = np.exp(-squares / unit)
    np.fill_diagonal(W, 0)
    k = min(5, K - 1)
    if k > 0:
        W[np.partition(-W, k - 1, axis=1)[:, k - 1 : k] < -W] = 0
    W = np.maximum(W, W.T)
    laplacian = np.diag(W.sum(axis=1)) - W
    laplacian /= max(float(np.trace(laplacian)) / K, np.finfo(float).tiny)
    # An attribute that all classes share says nothing: the constant vector comes last.
    apart = np.eye(K) - (1 + learnability * K)
    _, vectors = linalg.eigh(apart - learnability * laplacian)
    leading = vectors[:, ::-1][:, :count]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
    return np.asarray(leading * signs * np.sqrt(K))
