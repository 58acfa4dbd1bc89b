"""ESZSL: an embarrassingly simple approach to zero-shot learning."""

from __future__ import annotations

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.bilinear import BilinearClassifier, in_own_span, semantic_ridge
from unseen.published import CODE, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.solvers.moments import Ridge, ridge_solver, solver
from unseen.typing import Array, CandidateClasses


class ESZSL(BilinearClassifier):
    """Bilinear ridge regression on one-hot labels, in closed form.

        min over V  ‖XVA − Y‖² + γ‖VA‖² + λ‖XV‖² + γλ‖V‖²
        V = (XᵀX + γI)⁻¹ XᵀY Aᵀ (AAᵀ + λI)⁻¹

    X (N×p) are rows, Y (N×K) one-hot labels, A (q×K) semantics, V (p×q) the compatibility.

    B. Romera-Paredes and P. Torr, "An embarrassingly simple approach to zero-shot learning",
    ICML 2015. Labels are 0/1 as in its authors' program and in the paper on ASTE; the text of
    the original writes −1/1 (``labels="signed"``). Deviation: the two ridges are chosen on class-wise
    folds in scale-free units unless they are given.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: an ordinary linear
        classifier.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    gamma, lam : float or "auto"
        The visual ridge γ and the semantic ridge λ. "auto" chooses on class-wise folds.
    labels : {"binary", "signed"}
        Y of 0 and 1, or of −1 and 1; folds that choose the ridges use 0 and 1.

    Attributes
    ----------
    compatibility_ : array of shape (p, q)
    gamma_, lam_ : float
        The ridges in use.

    Examples
    --------
    >>> from unseen import ESZSL
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = ESZSL(semantics).fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.set_params(candidates="all").predict([[0.8, 0.9]])
    array(['fox'], dtype='<U3')
    """

    published = choices(
        sets(
            "labels",
            "binary",
            CODE,
            "bernard24/Embarrassingly-simple-ZSL, validationClasses_generalscript.m: Y holds 0 and 1. "
            "The paper's text says −1 and 1, which labels='signed' gives.",
        ),
        holds(CODE, "The closed form, over a kernel there; a test holds ours to the linear one."),
        sets(
            "gamma",
            "auto",
            CODE,
            "runExperiment.m: 10⁻³ … 10³, by a fifth of the classes for validation; class-wise folds "
            "and scale-free values here.",
        ),
        sets("lam", "auto", CODE, "The same."),
    )

    citation = Citation(
        "Romera-Paredes and Torr",
        "An embarrassingly simple approach to zero-shot learning",
        "ICML",
        2015,
    )

    advice = Advice(
        cost=(
            "one pass over the rows and one p × p solve; where features are many and classes few, a "
            "few passes in a subspace"
        ),
        take=(
            "you want one closed-form answer that is near the top on most data, in memory, in "
            "chunks or on a cluster"
        ),
        leave=(
            "unlabelled rows of the unseen classes are at hand: a transductive method gains far more"
        ),
    )

    takes_chunks = True

    gamma_: float
    lam_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        gamma: float | str = "auto",
        lam: float | str = "auto",
        labels: str = "binary",
    ) -> None:
        super().__init__(semantics, candidates)
        self.labels = labels
        self.gamma = gamma
        self.lam = lam

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        A, gamma, lam = vectors.T, self._number("gamma"), self._number("lam")
        in_span, held, basis = in_own_span(rows, held)
        C = None if gamma is None else 2 * gamma
        choice = self._choose_ridges(in_span, A, C, lam, held=held, width=rows.X.shape[1])
        self.gamma_, self.lam_ = choice.C / 2, choice.mu
        left = ridge_solver(Ridge(choice.sums.second, choice.C), A.shape[1])
        V = left(2 * self._targets(choice.sums.labels)) @ solver(semantic_ridge(A, choice.mu))(A).T
        self.compatibility_ = (V if basis is None else basis @ V).astype(rows.X.dtype)
        return choice.temperature

    def _targets(self, sums: Array) -> Array:
        """Return XᵀY from the sums of each class, for labels 0/1 or −1/1."""
        if self.labels not in ("binary", "signed"):
            self._refuse("labels", "'binary' or 'signed'")
        return sums if self.labels == "binary" else 2 * sums - sums.sum(axis=1, keepdims=True)

    def _chosen(self) -> dict[str, float]:
        return {"gamma": self.gamma_, "lam": self.lam_}

    def _settings_to_rehearse(self, rows: float, classes: float) -> dict[str, float]:
        return {"gamma": rows * self.gamma_, "lam": classes * self.lam_}
