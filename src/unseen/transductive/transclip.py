"""TransCLIP: Gaussian classes with one covariance, near the first answer and smooth over neighbours."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import PAPER, choices, sets
from unseen.rows.kernels import scaled
from unseen.statistics.diagonal_mixture import DiagonalGaussians, MixturePool, MixtureWeights
from unseen.transductive._mixture_rounds import MixtureClassifier
from unseen.transductive._shared_space import CLIP_SCALE
from unseen.typing import Array, CandidateClasses, Codes

CONFIDENT_ROWS = 8
"""Rows of each class whose weighted mean is the first prototype."""


class TransCLIP(MixtureClassifier):
    """TransCLIP-ZS: the pool as Gaussian classes, held near the first answer by a KL divergence.

        minimise over z, μ, Σ   −(1/(50·N)) Σᵢ zᵢᵀ log N(xᵢ; μ, Σ) − (1/N) Σᵢⱼ wᵢⱼ zᵢᵀzⱼ/(2k)
                                + (1/N) Σᵢ KL(zᵢ ‖ ŷᵢ^u)

    ŷ = softmax(τ·cos(x, t)) is the first answer, w the cosine of a row with its k = 3 nearest
    neighbours, Σ a diagonal that all classes share. Blocks are updated in turn: five sweeps of
    z ∝ ŷ^u·exp(log N/50 + Σ (w + wᵀ)z/(2k)), then μ = the direction of Σ z·x, then Σ. Prototypes start
    at the mean of the eight surest rows of each class, Σ at I/p.

    M. Zanella, B. Gérin and I. Ben Ayed, "Boosting vision-language models with transduction", NeurIPS
    2024. The updates, 50 among them, were checked against the authors' public program
    (MaxZanella/transduction-for-vlms, ``TransCLIP_solver``); the objective above is written so that
    these updates follow from it.

    Deviations: τ is 20 by default, for sentence encoders; ``as_published`` has CLIP's 100. Of the soft
    labels of a row the 32 largest are kept. Among more than 6,000 rows, neighbours are sought in the
    classes that the first answer puts first and second; negative cosines count as 0. A class without
    any label keeps its prototype. The few-shot form is not here: labelled rows are not learned from.
    New rows are answered without neighbours, and a class that joins after ``fit`` has its text as
    prototype.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows.
    candidates : {"all", "unseen", "seen"} or list of classes
    scale : float or "auto"
        τ: 100 for CLIP, 20 for sentence encoders, which is "auto".
    text_weight : float
        u, written λ in the paper.
    neighbours : int
        k.
    rounds : int
        0 answers by cosine.

    Attributes
    ----------
    transduction_, start_ : arrays of N labels
    confidence_ : array of shape (M,)
    history_ : list of SharedRound

    Examples
    --------
    >>> from unseen import TransCLIP
    >>> texts = {"cat": [1.0, 0.0, 0.1], "dog": [0.0, 1.0, 0.1]}
    >>> X = [[0.9, 0.1, 0.4], [0.8, 0.0, 0.5], [0.1, 0.8, 0.5], [0.0, 0.9, 0.4]]
    >>> TransCLIP(texts).fit(X).transduction_
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost="three nearest neighbours of each row, and a pass over rows and classes in each round",
        take="all classes are in the pool, in similar numbers, and texts describe them well",
        leave="few of the classes are present in a batch: it loses far more than it gains there",
    )

    published = choices(
        sets("scale", CLIP_SCALE, PAPER, "CLIP's own temperature."),
        sets("text_weight", 1.0, PAPER, "λ of the zero-shot form."),
        sets("neighbours", 3, PAPER, "Three nearest neighbours."),
        sets("rounds", 10, PAPER, "Ten rounds."),
    )

    citation: ClassVar[Citation | None] = Citation(
        "Zanella, Gérin and Ben Ayed",
        "Boosting vision-language models with transduction",
        "NeurIPS",
        2024,
    )
    _not_negative = ("text_weight",)

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        scale: float | str = "auto",
        text_weight: float = 1.0,
        neighbours: int = 3,
        rounds: int = 10,
    ) -> None:
        super().__init__(semantics, candidates, scale)
        self.text_weight = text_weight
        self.neighbours = neighbours
        self.rounds = rounds

    def _mixture_weights(self) -> MixtureWeights:
        return MixtureWeights(text=float(self.text_weight))

    def _first_gaussians(self, mixture: MixturePool) -> DiagonalGaussians:
        rows, values = mixture.most_confident(CONFIDENT_ROWS)
        sums = sum(values[i][:, None] * mixture.X[rows[i]] for i in range(len(rows)))
        p = mixture.X.shape[1]
        return DiagonalGaussians(scaled(np.asarray(sums, dtype=float), "unit"), np.full(p, 1 / p))

    def _fitted_gaussians(
        self, mixture: MixturePool, labels: sparse.csr_matrix, before: DiagonalGaussians
    ) -> DiagonalGaussians:
        mass, sums, means = mixture.means(labels, before.means)
        return DiagonalGaussians(means, mixture.shared_variances(mass, sums, means))

    def _gaussians_at(self, means: Array, places: Codes) -> DiagonalGaussians:
        assert self._gaussians is not None
        return DiagonalGaussians(means, self._gaussians.variances)
