"""IAP: indirect attribute prediction."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.inductive.bilinear import span_sums
from unseen.published import CODE, PAPER, choices, holds
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import (
    RIDGE_GRID,
    Bank,
    attribute_log_likelihood,
    log_prior,
    ridge_bank,
    signs,
    thresholds,
)
from unseen.typing import Array, CandidateClasses

Prepared: TypeAlias = tuple[Sums, Array | None, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""

LEAST_PROBABILITY = 0.01
"""Attribute probabilities are clipped to [this, 1 − this]: seen classes only resemble unseen ones."""


class IAP(TunedClassifier):
    """Predict the seen class, from it the attributes, and from these the class.

        p(aₘ = 1 | x) = Σₖ p(aₘ = 1 | k) p(k | x)                    k over the seen classes
        score of class l = Σₘ log p(aₘ = aₘₗ | x) − log p(aₘ = aₘₗ)
        p(k | x) = softmax over k of (wₖᵀx + bₖ) · sharpness,
        min over W, b  Σₙ ‖yₙ − Wᵀxₙ − b‖² + γ‖W‖²

    yₙ is the one-hot label, W (p×K) and b the classifiers of the seen classes; p(aₘ = 1 | k) is 1 if
    class k has the attribute.

    C. Lampert, H. Nickisch and S. Harmeling, "Learning to detect unseen object classes by between-class
    attribute transfer", CVPR 2009. Deviations:

    - Least squares on one-hot labels take the place of multi-class logistic regression; scores are
      divided by their deviation over the training rows, and the sharpness of the softmax is chosen on
      folds.
    - Attributes become binary as in ``DAP``, at the mean over the seen classes.
    - p(aₘ | x) is kept in [0.01, 0.99], so that one attribute cannot veto a class.
    - γ and the sharpness are chosen on class-wise folds unless they are given.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.
    sharpness : float or "auto"
        Inverse temperature of p(k | x), in units of the inverse deviation of the scores.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, K) and (K,)
        The classifiers of the seen classes, sharpness included.
    threshold_ : array of shape (q,)
    seen_signs_ : array of shape (K, q)
        Which seen class has which attribute, +1 or −1.
    ridge_, sharpness_ : float

    Examples
    --------
    >>> from unseen import IAP
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = IAP(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Seen-class probabilities first, attributes of unseen classes from them."),
        holds(
            CODE,
            "AwA's liblinear_cv5.m: logistic regression by liblinear with log₃ C from −13 to −9; least "
            "squares and a softmax here.",
        ),
        holds(
            CODE,
            "It sums shares of attributes where the paper multiplies their probabilities; the paper's "
            "product is taken here.",
        ),
    )

    citation = Citation(
        "Lampert, Nickisch and Harmeling",
        "Learning to detect unseen object classes by between-class attribute transfer",
        "CVPR",
        2009,
    )

    advice = Advice(
        cost="one p × p factorisation",
        take="you compare with the literature, or want attributes through the seen classes",
        leave="accuracy counts: it is below DAP on two of three data sets here, and far below ASTE",
    )

    coef_: Array
    intercept_: Array
    threshold_: Array
    seen_signs_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        ridge: float | str = "auto",
        sharpness: float | str = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.ridge = ridge
        self.sharpness = sharpness

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ and of the sharpness that "auto" tries."""
        return {"ridge": RIDGE_GRID, "sharpness": (0.5, 1.0, 2.0)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        self.threshold_ = thresholds(vectors)
        self.seen_signs_ = signs(vectors, self.threshold_)
        _, sums, basis = span_sums(rows, len(vectors))
        return sums, basis, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, basis, dtype = prepared
        bank = ridge_bank(sums, np.eye(len(sums.counts)), setting["ridge"])
        bank = bank.scaled(setting["sharpness"] / score_deviation(sums, bank))
        self.coef_, self.intercept_ = bank.for_columns(basis, dtype)

    def _scores(self, X: Array, vectors: Array) -> Array:
        P = softmax(Bank(self.coef_, self.intercept_)(X), axis=1)
        attribute = P @ (self.seen_signs_ > 0).astype(X.dtype)
        attribute = np.clip(attribute, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        present = signs(vectors, self.threshold_)
        likelihood = attribute_log_likelihood(np.log(attribute) - np.log1p(-attribute), present)
        return np.asarray(likelihood - log_prior(self.seen_signs_, present).astype(X.dtype))

    def _semantic_width(self) -> int:
        return len(self.threshold_)


def score_deviation(sums: Sums, bank: Bank) -> float:
    """Return the deviation of the scores over rows and classes, from the sums alone."""
    total = sums.counts.sum()
    mean = sums.labels.sum(axis=1) / total
    scatter = sums.moments / total - np.outer(mean, mean)
    variance = np.einsum("pk,pk->k", bank.coef, scatter @ bank.coef)
    return float(np.sqrt(max(variance.mean(), np.finfo(float).tiny)))
