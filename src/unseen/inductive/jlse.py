"""JLSE: joint latent similarity embedding."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy import linalg

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive._tuning import Setting, TunedClassifier
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums, class_weights
from unseen.solvers.hinge import fit_squared_hinge, match_signs
from unseen.solvers.simplex import simplex_codes
from unseen.typing import Array, CandidateClasses, Codes

Prepared: TypeAlias = tuple[Rows, Array, Array]
"""What ``_prepare`` computes once, for all settings."""

CODER_STEPS = 50
"""Steps in which the code of a row on the simplex is computed."""
SIMILARITY_RIDGE = 0.1
"""The ridge of the similarity matrix, in units of the mean diagonal of each Gram matrix."""
ROUNDS = 5


class JLSE(TunedClassifier):
    """Codes of rows and of classes on two dictionaries, and a learned similarity of the codes.

        z(x) = argmin over z in the simplex  ½‖x − Bᵀz‖² + γ/2 ‖z‖² − reward
        z(a) = argmin over z in the simplex  ½‖a − Dᵀz‖² + γ/2 ‖z‖²
        min over S  Σₙ Σₖ (1 − tₙₖ z(xₙ)ᵀS z(aₖ))²₊ + ridges on S
        score of a class = z(x)ᵀS z(a)

    x is a row, aₖ the vector of class k, B (K×p) and D (K×q) dictionaries of as many atoms as there
    are seen classes, S (K×K) the similarity; tₙₖ = +1 for the class of row n and −1 for the others.
    Whether row and class match is one binary question, the same for every class.

    Z. Zhang and V. Saligrama, "Zero-shot learning via joint latent similarity embedding", CVPR 2016.
    Deviations:

    - The dictionaries start at the class means and at the class vectors. Each further pass codes the
      training rows again, with a reward for atoms that S finds like their own class, and fits the atoms
      to these codes, with as much weight on their start; rows to be predicted have no reward.
    - A squared hinge, by repeated ridge regressions, takes the place of the hinge.
    - γ is in units of the mean squared length of the atoms about their mean, the same in both spaces,
      and is chosen on class-wise folds unless it is given; the ridges on S are fixed.

    Not verified: the original's prior of the codes and its schedule; its full text was not at hand.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes to predict. It may change after ``fit``.
    spread : float or "auto"
        γ: the larger, the more atoms share in a code.
    passes : int
        How often codes, dictionaries and similarity are learned in turn; at least 1.

    Attributes
    ----------
    atoms_, semantic_atoms_ : arrays of shape (K, p) and (K, q)
        B and D.
    similarity_ : array of shape (K, K)
        S.
    spread_ : float

    Examples
    --------
    >>> from unseen import JLSE
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = JLSE(semantics, candidates="seen").fit(X, ["cat", "cat", "dog", "dog"])
    >>> model.predict([[0.8, 0.1]])
    array(['cat'], dtype='<U3')
    """

    published = choices(
        holds(PAPER, "Codes over seen classes in both spaces, joined by a bilinear similarity."),
        sets("passes", 2, UNVERIFIED, "Its schedule and priors could not be read."),
    )

    citation = Citation(
        "Zhang and Saligrama",
        "Zero-shot learning via joint latent similarity embedding",
        "CVPR",
        2016,
        table_name="Zhang et al.",
    )

    advice = Advice(
        cost="a code on the simplex for every row, and repeated ridge regressions",
        take="unseen classes are mixtures of seen ones, and SSE is too coarse",
        leave="fits must be quick: it is among the slowest here",
    )

    _tuning_rows_at_most = 2000
    atoms_: Array
    semantic_atoms_: Array
    similarity_: Array
    spread_: float

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        spread: float | str = "auto",
        passes: int = 2,
    ) -> None:
        super().__init__(semantics, candidates)
        self.spread = spread
        self.passes = passes

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values of γ that "auto" tries."""
        return {"spread": (1.0, 3.0)}

    def _prepare(self, rows: Rows, vectors: Array) -> Prepared:
        X, codes, weights = rows
        counts = class_weights(codes, len(vectors), weights)
        means = (class_sums(X, codes, len(vectors), weights) / counts).T
        return rows, vectors, means.astype(X.dtype)

    def _solve(self, prepared: Prepared, setting: Setting) -> None:
        (X, codes, weights), vectors, means = prepared
        self.spread_ = setting["spread"]
        self.atoms_, self.semantic_atoms_ = means, vectors
        reward = None
        for number in range(max(1, int(self.passes))):
            Z = simplex_codes(X, self.atoms_, self.spread_, CODER_STEPS, reward)
            classes = self._class_codes(vectors)
            if number:
                self.atoms_ = _fitted_atoms(Z, X, means, weights).astype(X.dtype)
                self.semantic_atoms_ = _fitted_atoms(classes, vectors, vectors, None)
                Z = simplex_codes(X, self.atoms_, self.spread_, CODER_STEPS)
                classes = self._class_codes(vectors)
            self.similarity_ = _similarity(Z, codes, classes, weights)
            liking = classes @ self.similarity_.T
            reward = (liking - liking.mean(axis=0))[codes].astype(X.dtype)

    def _class_codes(self, vectors: Array) -> Array:
        return simplex_codes(vectors.astype(float), self.semantic_atoms_, self.spread_)

    def _scores(self, X: Array, vectors: Array) -> Array:
        Z = simplex_codes(X, self.atoms_, self.spread_, CODER_STEPS)
        right = self.similarity_ @ self._class_codes(vectors).T
        return np.asarray(Z @ right.astype(X.dtype))

    def _semantic_width(self) -> int:
        return int(self.semantic_atoms_.shape[1])


def _fitted_atoms(Z: Array, X: Array, start: Array, weights: Array | None) -> Array:
    """Return argmin over B of Σₙ ‖xₙ − Bᵀzₙ‖² + ρ‖B − start‖², with ρ the mean diagonal of ZᵀZ."""
    weighted = Z if weights is None else Z * weights[:, None].astype(Z.dtype)
    G, right = (weighted.T @ Z).astype(float), (weighted.T @ X).astype(float)
    rho = max(float(np.trace(G)) / len(G), np.finfo(float).tiny)
    G[np.diag_indices_from(G)] += rho
    return np.asarray(linalg.solve(G, right + rho * start, assume_a="pos"))


def _similarity(Z: Array, codes: Codes, classes: Array, weights: Array | None) -> Array:
    """Minimise the squared hinge of matches over S."""
    rows = Z.astype(float)
    weighted = rows if weights is None else rows * weights[:, None]
    G, H = weighted.T @ rows, classes.T @ classes
    for matrix in (G, H):
        matrix[np.diag_indices_from(matrix)] += SIMILARITY_RIDGE * np.trace(matrix) / len(matrix)
    left, right = linalg.cho_factor(G), linalg.cho_factor(H)

    def regress(targets: Array) -> Array:
        half = linalg.cho_solve(left, weighted.T @ targets @ classes)
        return np.asarray(linalg.cho_solve(right, half.T).T)

    def score(S: Array) -> Array:
        return np.asarray(rows @ S @ classes.T)

    return fit_squared_hinge(match_signs(codes, len(classes), float), regress, score, ROUNDS)
