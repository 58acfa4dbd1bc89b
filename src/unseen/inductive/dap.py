"""DAP: direct attribute prediction."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting
from unseen.inductive.attribute_bank import AttributeClassifier, Groups
from unseen.inductive.bilinear import span_sums
from unseen.published import CODE, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Sums
from unseen.statistics.attributes import RIDGE_GRID, Bank, ridge_bank, signs
from unseen.typing import Array, CandidateClasses

Prepared: TypeAlias = tuple[Sums, Array, Array | None, npt.DTypeLike]
"""What ``_prepare`` computes once, for all settings."""


class DAP(AttributeClassifier):
    """Predict each attribute from the features, then the class whose attributes are likeliest.

        score of class k = Σₘ log p(aₘ = aₘₖ | x) − log p(aₘ = aₘₖ)
        p(aₘ = 1 | x) = σ(slopeₘ·(wₘᵀx + bₘ) + offsetₘ)
        min over W, b  Σₙ ‖tᵧₙ − Wᵀxₙ − b‖² + γ‖W‖²

    tₖ are the attributes of class k as −1 and +1, W (p×q) and b the bank of classifiers.

    C. Lampert, H. Nickisch and S. Harmeling, "Learning to detect unseen object classes by between-class
    attribute transfer", CVPR 2009. Deviations:

    - Least-squares classifiers, one factorisation for all attributes, take the place of one kernel
      SVM for each. Both are turned into probabilities by Platt's sigmoid, here fitted on held-out
      classes (the original: on held-out rows of the same classes).
    - The attributes must be binary. A value is present if it is above the mean over the *seen* classes
      (the original: over all), whether values are binary, continuous or negative (word vectors).
    - p(aₘ) is the share of seen classes that have it, smoothed by one class of each kind, as the
      original suggests beside ½.
    - γ is chosen on class-wise folds unless it is given.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    ridge : float or "auto"
        γ, in units of the variance of the features times the number of rows.
    binarise : {"attribute", "overall"}
        An attribute is present above its own mean over the seen classes, or above the mean of the whole
        table: AwA's binary matrix is the second.
    prior : {"smoothed", "shares"}
        p(aₘ): shares of the seen classes, smoothed; or as they are, with ½ where all have it or none.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, q) and (q,)
        The bank.
    threshold_, slope_, offset_ : arrays of shape (q,)
        What an attribute must exceed to be present; Platt's parameters.
    ridge_ : float

    Examples
    --------
    >>> from unseen import DAP
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = DAP(semantics, candidates="all").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        sets(
            "binarise",
            "overall",
            CODE,
            "AwA's README-attributes.txt: the binary matrix is the continuous table thresholded at its "
            "overall mean.",
        ),
        sets(
            "prior", "shares", CODE, "AwA's program DAP_eval: shares of seen classes; 0 and 1 become ½."
        ),
        holds(
            CODE,
            "AwA's program attributes: an SVM with C = 10 on the sum of χ² kernels of six descriptors, "
            "each over a fifth of its median distance, then Platt's sigmoid on a tenth of the rows; "
            "least squares with a sigmoid here.",
        ),
    )

    citation = Citation(
        "Lampert, Nickisch and Harmeling",
        "Learning to detect unseen object classes by between-class attribute transfer",
        "CVPR",
        2009,
    )

    advice = Advice(
        cost="one p × p factorisation for all attributes, and that of the folds that calibrate them",
        take="each attribute must be readable, with a calibrated probability of its own",
        leave="accuracy counts: attributes are multiplied as if they were independent",
    )

    coef_: Array
    intercept_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        ridge: float | str = "auto",
        binarise: str = "attribute",
        prior: str = "smoothed",
    ) -> None:
        super().__init__(semantics, candidates)
        self.ridge = ridge
        self.binarise = binarise
        self.prior = prior

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ that "auto" tries."""
        return {"ridge": RIDGE_GRID}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        _, sums, basis = span_sums(rows, len(vectors))
        return sums, signs(vectors, self.threshold_), basis, rows.X.dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, targets, basis, dtype = prepared
        bank = ridge_bank(sums, targets, setting["ridge"])
        self.coef_, self.intercept_ = bank.for_columns(basis, dtype)

    def _groups(self, X: Array, vectors: Array) -> Groups:
        return [(Bank(self.coef_, self.intercept_)(X), np.arange(len(vectors)))]
