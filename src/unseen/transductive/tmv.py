"""TMV: transductive multi-view embedding, without the propagation of labels."""

from __future__ import annotations

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, PAPER, choices, holds, sets
from unseen.transductive.tmvhlp import TMVHLP
from unseen.typing import CandidateClasses


class TMV(TMVHLP):
    """The nearest prototype in the common space of features and predicted semantics.

        embedding   max over W₁, W₂  tr( W₁ᵀ C₁₂ W₂ ),  Wᵢᵀ(Cᵢᵢ + η·I)Wᵢ = I,   Uᵢ = Xᵢ Wᵢ ρ^power
        label       argmaxₖ  mean over views of cos(uᵢ, prototype of k)

    It is :class:`~unseen.TMVHLP` with ``graph="none"``: correlation of the views over the pool and one
    step of self-training, no hypergraph. Each prototype then moves to the mean of the rows that it won,
    and labels new rows.

    Y. Fu, T. Hospedales, T. Xiang, Z. Fu and S. Gong, "Transductive multi-view embedding for zero-shot
    recognition and annotation", ECCV 2014. Deviations are those of TMVHLP.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector, optional
        A vector for every class, seen and unseen. None means one-hot: the nearest class mean.
    candidates : {"unseen", "seen", "all"} or list of classes
        Among which classes the unlabelled rows are. It may change after ``fit``.
    neighbours, alpha : int and float
        Not used without a graph.
    power : float
        The exponent of the canonical correlations ρ.
    rounds : int
        0 gives the inductive answer.
    shrinkage : float in [0, 1], "auto" or None
        How far the covariance that whitens is shrunk to its mean variance; None: no whitening.
    graph : {"none", "hypergraph", "multigraph"}

    Examples
    --------
    >>> from unseen import TMV
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "owl": [0, 0]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.0, 0.1], [0.8, 0.9]]
    >>> y = ["cat", "cat", "dog", "dog", "owl", None]
    >>> TMV(semantics).fit(X, y).transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "Views correlated over the pool; the nearest prototype in the common space."),
        sets(
            "power",
            4.0,
            CODE,
            "yanweifu/embedding_zero-shot-learning, ECCV_AwA_code: correlations to the fourth power.",
        ),
        sets("shrinkage", None, CODE, "The same: z-scores of plain features."),
    )

    citation = Citation(
        "Fu, Hospedales, Xiang, Fu and Gong",
        "Transductive multi-view embedding for zero-shot recognition and annotation",
        "ECCV",
        2014,
    )

    advice = Advice(
        cost="that of TMVHLP without the graph",
        take="you want TMVHLP's common space without its graph",
        leave="the pool has clear clusters: the graph then adds accuracy",
    )

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        neighbours: int = 10,
        alpha: float = 0.8,
        power: float = 4.0,
        rounds: int = 1,
        shrinkage: float | str | None = "auto",
        graph: str = "none",
    ) -> None:
        super().__init__(semantics, candidates, neighbours, alpha, power, rounds, shrinkage, graph)
