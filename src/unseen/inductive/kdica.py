"""KDICA: attributes from domain-invariant components."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting
from unseen.inductive.dap import DAP, Prepared
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Moments, Sums
from unseen.statistics.attributes import ridge_bank
from unseen.typing import Array, CandidateClasses


class KDICA(DAP):
    """DAP on components that vary with the attributes, but not with the class otherwise.

        max over B  tr Bᵀ(T + α·XᵀLX) B    subject to  Bᵀ(β·D + I) B = I
        T = Σₙ (xₙ − x̄)(xₙ − x̄)ᵀ                        variance of all rows
        D = Σₖ (mₖ − x̄)(mₖ − x̄)ᵀ                        variance of the domains (class means)
        L = Σₘ of the products of (centred) attributes       alignment of rows that share attributes

    Each seen class is a domain, and an attribute classifier should serve all of them. x̄ is the mean
    row, mₖ that of class k; every matrix is divided by its mean diagonal. The columns of B (p×d) are
    generalised eigenvectors. Attribute classifiers on Bᵀx and class scores are those of ``DAP``.

    C. Gan, T. Yang and B. Gong, "Learning attributes equals multi-source domain generalization", CVPR
    2016, on the components of K. Muandet, D. Balduzzi and B. Schölkopf, "Domain generalization via
    invariant feature representation", ICML 2013. Deviations:

    - The kernel is linear, so that the problem has the size of the features, not of the rows.
    - α, β and d are fixed, at values chosen on seen classes of CUB and AwA1; γ, the ridge of the
      classifiers, is chosen on class-wise folds unless it is given.
    - Least-squares classifiers, thresholds and calibration as in ``DAP``; the original trains SVMs.

    Not verified: the weights and the kernel of the original's experiments; only its opening was at
    hand.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    components : int
        d; at most the number of columns.
    alignment : float
        α.
    invariance : float
        β.
    ridge : float or "auto"
        γ, in units of the variance of the components times the number of rows.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (p, q) and (q,)
        The bank, with B in it.
    threshold_, slope_, offset_ : arrays of shape (q,)
        As in ``DAP``.
    ridge_ : float

    Examples
    --------
    >>> from unseen import KDICA
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = KDICA(semantics, candidates="all").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Domain-invariant components, then attribute classifiers."),
        sets("alignment", 1.0, UNVERIFIED, "Its weights could not be read."),
        sets("invariance", 1.0, UNVERIFIED, "The same."),
        holds(UNVERIFIED, "The original is kernelised; the kernel is linear here."),
    )

    citation = Citation(
        "Gan, Yang and Gong",
        "Learning attributes equals multi-source domain generalization",
        "CVPR",
        2016,
    )

    advice = Advice(
        cost="one generalised eigenproblem of p × p, then DAP's classifiers",
        take="you compare with the literature",
        leave="accuracy counts: with a linear kernel it gains nothing over DAP here",
    )

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        components: int = 200,
        alignment: float = 10.0,
        invariance: float = 1.0,
        ridge: float | str = "auto",
    ) -> None:
        self.semantics = semantics
        self.candidates = candidates
        self.ridge = ridge
        self.components = components
        self.alignment = alignment
        self.invariance = invariance

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        sums, targets, basis, dtype = super()._prepare(rows, vectors)
        B = invariant_components(
            sums, targets, int(self.components), float(self.alignment), float(self.invariance)
        )
        moments, labels = B.T @ sums.moments @ B, B.T @ sums.labels
        inner = Sums(Moments.given(moments), labels, sums.counts, min(int(self.components), sums.width))
        return inner, targets, B if basis is None else basis @ B, dtype

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        sums, targets, B, dtype = prepared
        assert B is not None  # the invariant components
        bank = ridge_bank(sums, targets, setting["ridge"])
        self.coef_, self.intercept_ = bank.for_columns(B, dtype)


def invariant_components(
    sums: Sums, targets: Array, count: int, alignment: float, invariance: float
) -> Array:
    """Return B, of shape (p, d), from the sums of the rows and the attributes of their classes."""
    total = sums.counts.sum()
    mean, centre = sums.labels.sum(axis=1) / total, sums.counts @ targets / total
    T = sums.moments - total * np.outer(mean, mean)
    gaps = sums.labels / sums.counts - mean[:, None]
    shared = (sums.labels - np.outer(mean, sums.counts)) @ (targets - centre)
    gain = _to_unit(T, sums.width) + alignment * _to_unit(shared @ shared.T, sums.width)
    cost = invariance * _to_unit(gaps @ gaps.T, sums.width)
    cost[np.diag_indices_from(cost)] += 1.0
    last = len(gain) - 1
    wanted = [max(0, len(gain) - max(1, count)), last]
    return np.asarray(linalg.eigh(gain, cost, subset_by_index=wanted)[1])


def _to_unit(matrix: Array, width: int) -> Array:
    """Divide by the mean diagonal over all ``width`` columns of the features."""
    return np.asarray(matrix * (width / max(float(np.trace(matrix)), np.finfo(float).tiny)))
