"""UDA: unsupervised domain adaptation by regularised sparse coding."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import PAPER, UNVERIFIED, choices, holds, sets
from unseen.solvers.dictionary import sparse_codes, tied_dictionary
from unseen.statistics.semantic_process import PrototypeMap
from unseen.statistics.transport import balance
from unseen.statistics.visual_space import prototype_scores
from unseen.transductive._moving_prototypes import PointClassifier, PoolProblem
from unseen.typing import Array, CandidateClasses


class UDA(PointClassifier):
    """A dictionary from semantics to features, adapted to the pool by sparse coding.

        source   min over Dₛ     ‖Xₛ − AₛDₛ‖² + γ‖Dₛ‖²
        target   min over Dₜ, Y  ‖Xₜ − YDₜ‖² + λ₁‖Dₜ − Dₛ‖² + λ₂ Σₘₖ wₘₖ ‖yₘ − aₖ‖² + λ₃‖Y‖₁

    Xₛ are labelled rows and Aₛ (N×q) the vectors of their classes; Xₜ is the pool and Y (M×q) its
    codes, which are sparse and near the vectors aₖ of the candidates, by the weights w. Dₜ (q×d) stays
    near Dₛ. Rounds alternate between Y (a lasso), Dₜ (closed form) and w. Rows and vectors are centred.

    E. Kodirov, T. Xiang, Z. Fu and S. Gong, "Unsupervised domain adaptation for zero-shot learning",
    ICCV 2015. Deviations:

    - Features are whitened by the within-class covariance of the seen classes; ``shrinkage=None`` gives
      plain ones.
    - w are the probabilities that the current Dₜ gives, leaning to equal class shares, renewed in every
      round. The original takes them from an attribute classifier (IAP); whether it renews them is not
      verified, nor are its values of λ.
    - A row is labelled by the nearest aₖDₜ among the features, so that new rows need no coding; the
      original compares its code with the vectors.
    - Atoms are tied to the source but not kept within unit length.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    dictionary_tie : float
        λ₁, in units of the mean diagonal of YᵀY.
    code_tie : float
        λ₂, in units of the mean diagonal of DₛDₛᵀ.
    penalty : float
        λ₃, in units of the mean pull on an entry of a code.
    rounds : int
        The most rounds; 0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.

    Attributes
    ----------
    transduction_ : array of N labels
    history_ : list of Round
        ``loss`` is the mean squared error of reconstruction, in units of that of the start's centre.
    points_, start_ : array of shape (L, d)
        The class points in visual space, after and before the pool was seen.

    Examples
    --------
    >>> from unseen import UDA
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> UDA(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(
            PAPER, "A dictionary of the pool tied to that of the seen classes, codes to class vectors."
        ),
        sets("shrinkage", None, UNVERIFIED, "Features as they are."),
        holds(
            UNVERIFIED,
            "Its weights, and whether w is renewed in every round, as here, could not be read.",
        ),
    )

    citation = Citation(
        "Kodirov, Xiang, Fu and Gong",
        "Unsupervised domain adaptation for zero-shot learning",
        "ICCV",
        2015,
        table_name="Kodirov et al.",
    )

    advice = Advice(
        cost="a lasso for every row of the pool in each round; among the slowest here",
        take="you compare with the literature, or sparse codes of the pool are of use",
        leave="time counts: RKT and SemiSupervisedClustering are about as good in a fraction of it",
    )

    _not_negative: ClassVar[tuple[str, ...]] = ("dictionary_tie", "code_tie", "penalty")

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        dictionary_tie: float = 0.5,
        code_tie: float = 30.0,
        penalty: float = 0.1,
        rounds: int = 4,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates, rounds, shrinkage)
        self.dictionary_tie = dictionary_tie
        self.code_tie = code_tie
        self.penalty = penalty

    @classmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return a small grid for class-wise folds."""
        return {"dictionary_tie": (0.1, 0.5, 1.0), "code_tie": (10.0, 30.0, 100.0)}

    def _move(self, problem: PoolProblem) -> Array:
        assert self._map is not None
        Z, free = problem.Z, problem.free
        center = problem.seen_vectors.mean(axis=0)
        offset = self._map(center)
        source = self._map.coef.T.astype(float)
        atoms, points, labels = source, problem.start, problem.labels(problem.start)
        A = problem.vectors[free] - center
        tie = self.code_tie * max(float((source**2).sum()) / len(source), np.finfo(float).tiny)
        taught = np.ones(len(Z), dtype=bool) if free.all() else free[labels]
        for _ in range(self.rounds):
            rows = (Z[taught] - offset.astype(Z.dtype)) if taught.any() else Z[:0]
            if not len(rows):
                break
            prior = _weights(Z if taught.all() else Z[taught], points[free]) @ A
            pull = np.abs(rows @ atoms.T.astype(rows.dtype) + (tie * prior).astype(rows.dtype)).mean()
            Y = sparse_codes(rows, atoms, self.penalty * float(pull), prior, tie)
            unit = max(float((Y**2).sum()) / Y.shape[1], np.finfo(float).tiny)
            atoms = tied_dictionary(rows, Y, source, max(self.dictionary_tie, 1e-6) * unit)
            moved = points.copy()
            moved[free] = A @ atoms + offset
            points, error = moved, _error(rows, Y, atoms)
            labels, settled = self._relabel(problem, points, labels, taught, error)
            if settled:
                break
        self._map = PrototypeMap(atoms.T, offset - center @ atoms, self._map.ridge)
        return points


def _error(rows: Array, codes: Array, atoms: Array) -> float:
    """Return ‖rows − codes·atoms‖² as a share of ‖rows‖², by products of the small matrices."""
    whole = float(np.einsum("ij,ij->", rows, rows, dtype=float))
    across = float(np.vdot(rows.T @ codes.astype(rows.dtype), atoms.T))
    code = float(np.vdot(codes.T @ codes, atoms @ atoms.T))
    return max(whole - 2 * across + code, 0.0) / max(whole, 1e-300)


def _weights(Z: Array, points: Array) -> Array:
    """Return w (M, L): probabilities of unit Gaussians, leaning to equal class shares."""
    L = len(points)
    log_p = log_softmax(prototype_scores(Z, points.astype(Z.dtype)).astype(float), axis=1)
    return np.asarray(np.exp(balance(log_p, np.full(L, 1 / L), 0.9)))
