"""StatA: Gaussian classes that statistical anchors hold at their texts, for pools of few classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, choices, sets
from unseen.rows.kernels import scaled
from unseen.statistics.diagonal_mixture import DiagonalGaussians, MixturePool
from unseen.statistics.entropy import largest
from unseen.transductive._mixture_rounds import MixtureClassifier
from unseen.transductive._shared_space import CLIP_SCALE
from unseen.typing import Array, CandidateClasses, Codes


class StatA(MixtureClassifier):
    """TransCLIP with a covariance for each class and an anchor at the text of each class.

        z as in TransCLIP
        β = m/(m + α)                           m rows have the class as their likeliest
        μ = direction of β·(direction of Σ z·x) + (1 − β)·t
        Σ = β·Σ z(x − μ)²/n + (1 − β)·(Σ₀ + (t − μ)²)

    A class to which few rows belong keeps its text t as its prototype and Σ₀, the scatter of the pool
    about the texts, as its covariance: the anchor, a KL divergence to the Gaussian (t, Σ₀) whose weight
    is α. Covariances are diagonal.

    M. Zanella, C. Fuchs, C. De Vleeschouwer and I. Ben Ayed, "Realistic test-time adaptation of
    vision-language models", CVPR 2025. The updates were checked against the authors' public program
    (MaxZanella/StatA, ``solvers/StatA.py``), not against the paper's own equations.

    Deviations: that program leaves the determinant of Σ out of log N, which favours classes without
    rows, whose covariance is wide; by default it is there, and ``as_published`` leaves it out. Where
    the program divides Σ₀ by N after every block of 2,500 rows, we divide once. All other deviations
    are those of :class:`~unseen.TransCLIP`.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows.
    candidates : {"all", "unseen", "seen"} or list of classes
    scale : float or "auto"
        τ: 100 for CLIP, 20 for sentence encoders, which is "auto".
    anchor : float
        α: as many rows of a class weigh as much as its anchor.
    determinant : bool
        Whether log N has the determinant of Σ.
    neighbours : int
    rounds : int
        0 answers by cosine.

    Attributes
    ----------
    transduction_, start_ : arrays of N labels
    confidence_ : array of shape (M,)
    history_ : list of SharedRound

    Examples
    --------
    >>> from unseen import StatA
    >>> texts = {"cat": [1.0, 0.0, 0.1], "dog": [0.0, 1.0, 0.1]}
    >>> X = [[0.9, 0.1, 0.4], [0.8, 0.0, 0.5], [0.1, 0.8, 0.5], [0.0, 0.9, 0.4]]
    >>> StatA(texts).fit(X).transduction_
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost="that of TransCLIP with a covariance for each class",
        take="batches may hold few of the classes, and you want the method of that literature",
        leave="time counts: SharedSpacePrototypes takes about a third of it on clinc150",
    )

    published = choices(
        sets("scale", CLIP_SCALE, CODE, "CLIP's own temperature."),
        sets("anchor", 1.0, CODE, "The authors' program."),
        sets("determinant", False, CODE, "Their log-density leaves the determinant out."),
        sets("neighbours", 3, CODE, "The same."),
        sets("rounds", 10, CODE, "The same."),
    )

    citation: ClassVar[Citation | None] = Citation(
        "Zanella, Fuchs, De Vleeschouwer and Ben Ayed",
        "Realistic test-time adaptation of vision-language models",
        "CVPR",
        2025,
    )
    _not_negative = ("anchor",)

    _anchor_variances: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        scale: float | str = "auto",
        anchor: float = 1.0,
        determinant: bool = True,
        neighbours: int = 3,
        rounds: int = 10,
    ) -> None:
        super().__init__(semantics, candidates, scale)
        self.anchor = anchor
        self.determinant = determinant
        self.neighbours = neighbours
        self.rounds = rounds

    def _first_gaussians(self, mixture: MixturePool) -> DiagonalGaussians:
        mass, sums, _ = mixture.means(mixture.start, mixture.T)
        self._anchor_variances = mixture.shared_variances(mass, sums, mixture.T)
        return DiagonalGaussians(mixture.T, self._anchor_variances)

    def _fitted_gaussians(
        self, mixture: MixturePool, labels: sparse.csr_matrix, before: DiagonalGaussians
    ) -> DiagonalGaussians:
        """Return prototypes and covariances between those of the labels and the anchors."""
        counts = np.bincount(largest(labels)[0], minlength=len(mixture.T))
        beta = (counts / np.maximum(counts + float(self.anchor), 1e-12))[:, None]
        mass, sums, means = mixture.means(labels, before.means)
        means = scaled(beta * means + (1 - beta) * mixture.T, "unit")
        class_variances = mixture.class_variances(labels, mass, sums, means)
        variances = beta * class_variances + (1 - beta) * (
            self._anchor_variances + (mixture.T - means) ** 2
        )
        return DiagonalGaussians(means, variances, bool(self.determinant))

    def _gaussians_at(self, means: Array, places: Codes) -> DiagonalGaussians:
        assert self._gaussians is not None
        variances = np.tile(self._anchor_variances, (len(means), 1))
        variances[places >= 0] = self._gaussians.variances[places[places >= 0]]
        return DiagonalGaussians(means, variances, bool(self.determinant))
