"""SAE: a semantic autoencoder."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import linalg

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums, class_weights, gram
from unseen.statistics.scorer import Affine, Scorer, UnitLength
from unseen.typing import Array, CandidateClasses

Eigen: TypeAlias = tuple[Array, Array]
"""Eigenvalues and eigenvectors."""
Prepared: TypeAlias = tuple[Eigen, Eigen, Array, Array, Array, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""


class SAE(TunedClassifier):
    """One linear map that encodes rows into semantics, and whose transpose decodes them.

        min over W  Σₙ ‖xₙ − Wᵀsₙ‖² + λ‖W xₙ − sₙ‖²
        (SSᵀ) W + W (λXXᵀ) = (1 + λ) S Xᵀ          a Sylvester equation

    xₙ is a row, sₙ the vector of its class, both centred; W (q×p) the encoder, Wᵀ the decoder. A
    class is scored by the cosine between the row and its decoded vector, or between the encoded row
    and its vector.

    E. Kodirov, T. Xiang and S. Gong, "Semantic autoencoder for zero-shot learning", CVPR 2017.
    Deviations: rows and class vectors are centred by the means of the training rows; λ is in units of
    trace(SSᵀ)/trace(XXᵀ), so that the scale of neither changes anything, and is chosen on class-wise
    folds unless it is given; both matrices of the equation are symmetric, so two eigendecompositions
    take the place of the Bartels–Stewart solver.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    lam : float or "auto"
        λ, the weight of encoding against decoding.
    compare : {"features", "semantics"}
        Where the cosine is taken: "features" decodes the class vectors, "semantics" encodes the row.
    scaling : {"centred", "published"}
        "published": nothing is centred, λ is in the units of the problem, the columns of the training
        rows and the rows of W are brought to unit length, as the authors' code does.

    Attributes
    ----------
    encoder_ : array of shape (q, p)
        W.
    center_, semantic_center_ : arrays of shape (p,) and (q,)
    lam_ : float

    Examples
    --------
    >>> from unseen import SAE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = SAE(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "The Sylvester equation; both directions of comparing are reported."),
        sets(
            "scaling",
            "published",
            CODE,
            "Elyorcv/SAE, awa_demo: NormalizeFea on training columns and "
            "on W, λ as it is, nothing centred.",
        ),
        sets(
            "lam",
            500000.0,
            CODE,
            "awa_demo.m; cub_demo.m has 0.2, with rows projected onto their classes.",
        ),
    )

    citation = Citation(
        "Kodirov, Xiang and Gong",
        "Semantic autoencoder for zero-shot learning",
        "CVPR",
        2017,
    )

    advice = Advice(
        cost="two eigendecompositions, of p × p and of q × q, for every regularisation at once",
        take="features are strong, and you want a method with one parameter",
        leave="features are weak and classes few",
    )

    encoder_: Array
    center_: Array
    semantic_center_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        lam: float | str = "auto",
        compare: str = "features",
        scaling: str = "centred",
    ) -> None:
        super().__init__(semantics, candidates)
        self.lam = lam
        self.compare = compare
        self.scaling = scaling

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of λ that "auto" tries."""
        return {"lam": (0.03, 0.3, 3.0, 30.0, 300.0)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        if self.compare not in ("features", "semantics"):
            raise ValueError(
                "The 'compare' parameter of SAE must be 'features' or 'semantics'. "
                f"Got {self.compare!r} instead."
            )
        if self.scaling not in ("centred", "published"):
            self._refuse("scaling", "'centred' or 'published'")
        X, codes, weights = rows
        counts = class_weights(codes, len(vectors), weights)
        sums = class_sums(X, codes, len(vectors), weights)
        if self.scaling == "published":
            return self._unscaled(rows, vectors, sums, counts)
        mean, semantic_mean = sums.sum(axis=1) / counts.sum(), counts @ vectors / counts.sum()
        moments = gram(X, weights) - counts.sum() * np.outer(mean, mean)
        A = vectors - semantic_mean
        visual = linalg.eigh(moments)
        semantic = linalg.eigh(A.T @ (counts[:, None] * A))
        cross = A.T @ (sums - np.outer(mean, counts)).T  # S Xᵀ, of shape (q, p)
        turned = semantic[1].T @ cross @ visual[1]
        return visual, semantic, turned, mean, semantic_mean, X.dtype

    def _unscaled(self, rows: Rows, vectors: Array, sums: Array, counts: Array) -> Prepared:
        """Prepare as the authors' code does: nothing centred, training columns of unit length."""
        moments = gram(rows.X, rows.weights)
        length = np.sqrt(np.maximum(np.diag(moments), np.finfo(float).tiny))
        visual = linalg.eigh(moments / np.outer(length, length))
        semantic = linalg.eigh(vectors.T @ (counts[:, None] * vectors))
        turned = semantic[1].T @ (vectors.T @ (sums / length[:, None]).T) @ visual[1]
        zeros = np.zeros(len(length)), np.zeros(vectors.shape[1])
        return visual, semantic, turned, *zeros, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        visual, semantic, turned, mean, self.semantic_center_, dtype = prepared
        (values, basis), (semantic_values, semantic_basis) = visual, semantic
        self.center_ = mean.astype(dtype)
        values, semantic_values = np.maximum(values, 0), np.maximum(semantic_values, 0)
        unit = semantic_values.sum() / max(values.sum(), np.finfo(float).tiny)
        absolute = self.scaling == "published"
        lam = setting["lam"] * (1.0 if absolute else max(unit, np.finfo(float).tiny))
        both = semantic_values[:, None] + lam * values
        # Where both eigenvalues vanish the right side does too, and W of minimum norm is zero there.
        both += 1e-10 * max(float(both.max()), np.finfo(float).tiny)
        W = semantic_basis @ ((1 + lam) * turned / both) @ basis.T
        self.encoder_ = (_unit(W) if absolute else W).astype(dtype)

    def _scores(self, X: Array, vectors: Array) -> Array:
        W = self.encoder_.astype(X.dtype, copy=False)
        embedded = X - self.center_.astype(X.dtype)
        targets = (vectors - self.semantic_center_).astype(X.dtype)
        if self.compare == "features":
            targets = targets @ W
        else:
            embedded = embedded @ W.T
        return np.asarray(_unit(embedded) @ _unit(targets).T)

    def _scorer(self, vectors: Array) -> Scorer:
        W = self.encoder_.astype(float)
        here = Affine(self.center_.astype(float), np.eye(W.shape[1]))
        if self.compare == "features":
            return Scorer(W.T, -self.semantic_center_ @ W, steps=(here, UnitLength()), unit_points=True)
        there = Affine(self.center_.astype(float), W.T)
        points = np.eye(len(W)), -self.semantic_center_
        return Scorer(*points, steps=(there, UnitLength()), unit_points=True)

    def _semantic_width(self) -> int:
        return int(self.encoder_.shape[0])


def _unit(rows: Array) -> Array:
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.maximum(length, np.finfo(rows.dtype).tiny ** 0.5))
