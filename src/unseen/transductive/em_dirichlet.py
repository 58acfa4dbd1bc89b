"""EMDirichlet: rows are probabilities over the candidates, classes Dirichlet distributions of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln, logsumexp

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.published import CODE, choices, sets
from unseen.rows.passes import score_blocks
from unseen.statistics.entropy import soft_labels
from unseen.transductive._shared_space import SoftLabelClassifier
from unseen.typing import Array, CandidateClasses, Codes

LEAST_PROBABILITY = 1e-15

STEPS_BETWEEN_CHECKS, STEP_TOLERANCE = 50, 1e-11
"""Steps of the Dirichlet parameters end when one changes them by less, in squared relative norm."""

EMPTY_MASS = 1e-15
"""A class with less label mass than this keeps its parameters."""


class EMDirichlet(SoftLabelClassifier):
    """Mixture of Dirichlet distributions over softmax(τ·cos), with a penalty on many classes.

        minimise over u, α   −Σᵢₖ uᵢₖ log Dir(zᵢ; αₖ) + Σᵢₖ uᵢₖ log uᵢₖ − λ Σₖ πₖ log πₖ

    z = softmax(τ·cos(x, t)) are the features, u soft labels, π = Σᵢ uᵢ/N the class shares and
    λ = ⌊L/e⌋·N: few classes are preferred, about e of them. In turn, α takes steps of minorise-maximise
    on the likelihood, then u ∝ Dir(z; α)·exp(⌊L/e⌋·(log π + 1)). At the end clusters are
    matched with classes, one to one, by the mean z of their rows. With many more classes in the pool
    than e, classes are merged, and few remain.

    S. Martin, Y. Huang, F. Shakeri, J.-C. Pesquet and I. Ben Ayed, "Transductive zero-shot and few-shot
    CLIP", CVPR 2024. Updates, constants and matching were checked against the authors' public program
    (SegoleneMartin/transductive-CLIP), where tasks have 75 rows of a few classes.

    Deviations: τ is 20 by default, for sentence encoders; ``as_published`` has the authors' 30. The
    few-shot form is not here: labelled rows are not learned from. The features of new rows are
    probabilities over the candidates of ``fit``; where a class that joined later is a candidate, new
    rows are answered by cosine. Time grows with the square of the number of candidates, whatever the
    pool: 20 rounds of up to 1,000 steps on L × L parameters.

    Parameters
    ----------
    semantics : mapping or DataFrame, class -> vector or vectors
        Embeddings of the class texts, as wide as the rows.
    candidates : {"all", "unseen", "seen"} or list of classes
    scale : float or "auto"
        τ.
    effective_classes : int
        e: how many of the candidates the pool is thought to have.
    hard : bool
        Whether every row has one class alone in the rounds: the paper's Hard EM-Dirichlet.
    rounds : int
        0 answers by cosine.
    steps : int
        The most steps of the Dirichlet parameters in a round.

    Attributes
    ----------
    transduction_, start_ : arrays of N labels
    confidence_ : array of shape (M,)
    history_ : list of SharedRound

    Examples
    --------
    >>> from unseen import EMDirichlet
    >>> texts = {"cat": [1.0, 0.0, 0.1], "dog": [0.0, 1.0, 0.1]}
    >>> X = [[0.9, 0.1, 0.4], [0.8, 0.0, 0.5], [0.1, 0.8, 0.5], [0.0, 0.9, 0.4]]
    >>> EMDirichlet(texts).fit(X).transduction_
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    advice = Advice(
        cost="grows with the square of the number of candidates",
        take="small tasks: some 75 rows of about five classes out of many",
        leave="many classes are present in the pool: it merges them",
    )

    published = choices(
        sets("scale", 30.0, CODE, "SegoleneMartin/transductive-CLIP."),
        sets("effective_classes", 5, CODE, "The same: tasks of five classes."),
        sets("rounds", 20, CODE, "The same."),
        sets("steps", 1000, CODE, "The same."),
    )

    citation: ClassVar[Citation | None] = Citation(
        "Martin, Huang, Shakeri, Pesquet and Ben Ayed",
        "Transductive zero-shot and few-shot CLIP",
        "CVPR",
        2024,
    )
    _whole = ("effective_classes", "rounds", "steps")

    _alpha: Array | None
    _log_shares: Array
    _vectors: Array
    _cluster_of: Codes
    """The cluster that each class was matched with."""

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "all",
        scale: float | str = "auto",
        effective_classes: int = 5,
        hard: bool = False,
        rounds: int = 20,
        steps: int = 1000,
    ) -> None:
        super().__init__(semantics, candidates, scale)
        self.effective_classes = effective_classes
        self.hard = hard
        self.rounds = rounds
        self.steps = steps

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.effective_classes < 1:
            self._refuse("effective_classes", "an integer >= 1")

    def _forget(self) -> None:
        self._alpha = None

    def _label_rounds(self, pool: Array, vectors: Array) -> Iterator[sparse.csr_matrix]:
        self._vectors, L = vectors, len(vectors)
        labels, mass, sums, _ = self._pass(pool, None, np.zeros(L))
        yield labels
        alpha = np.ones((L, L))
        for _ in range(int(self.rounds)):
            wide = mass > EMPTY_MASS
            means = sums[wide] / mass[wide, None]
            alpha[wide] = dirichlet_parameters(means, alpha[wide], int(self.steps))
            log_shares = np.log(mass / len(pool) + LEAST_PROBABILITY) + 1
            log_shares *= L // int(self.effective_classes)
            labels, mass, sums, profile = self._pass(pool, alpha, log_shares)
            yield labels
        if self.rounds:
            self._alpha, self._log_shares = alpha, log_shares
            self._cluster_of = _matched(profile)
            class_of = np.argsort(self._cluster_of)
            yield sparse.csr_matrix(
                (labels.data, class_of[labels.indices], labels.indptr), labels.shape
            )

    def _pass(
        self, pool: Array, alpha: Array | None, log_shares: Array
    ) -> tuple[sparse.csr_matrix, Array, Array, Array]:
        """Label all rows; return labels, their mass, uᵀ log z, and Σ z over the rows of a cluster."""
        L = len(log_shares)
        mass, sums, profile, parts = np.zeros(L), np.zeros((L, L)), np.zeros((L, L)), []
        for rows in score_blocks(len(pool), L):
            log_z = self._log_features(pool[rows])
            A = log_z if alpha is None else _log_densities(log_z, alpha) + log_shares
            U, best = np.exp(A - A.max(axis=1, keepdims=True)), A.argmax(axis=1)
            U /= U.sum(axis=1, keepdims=True)
            if self.hard and alpha is not None:
                U = np.zeros_like(U)
                U[np.arange(len(U)), best] = 1
                A = np.where(U > 0, 0, -np.inf)
            mass += U.sum(axis=0)
            sums += U.T @ log_z
            np.add.at(profile, best, np.exp(log_z))
            parts.append(soft_labels(A))
        return sparse.vstack(parts, format="csr"), mass, sums, profile

    def _log_features(self, X: Array) -> Array:
        """Return log softmax(τ·cos) over the candidates of ``fit``."""
        S = self._first_scores(X, self._vectors).astype(float)
        S -= logsumexp(S, axis=1, keepdims=True)
        return np.asarray(np.maximum(S, np.log(LEAST_PROBABILITY)))

    def _scores(self, X: Array, vectors: Array) -> Array:
        places = self._fitted_places(vectors)
        if self._alpha is None or (places < 0).any():
            return self._first_scores(X, vectors)
        out = np.empty((len(X), len(vectors)), dtype=X.dtype)
        cluster = self._cluster_of[places]
        for rows in score_blocks(len(X), len(self._vectors)):
            A = _log_densities(self._log_features(X[rows]), self._alpha) + self._log_shares
            out[rows] = A[:, cluster]
        return out


def dirichlet_parameters(means: Array, alpha: Array, steps: int) -> Array:
    """Return the Dirichlet parameters of largest likelihood, by steps that majorise its negative.

    Parameters
    ----------
    means : array of shape (K, L)
        The mean of log z for each class.
    alpha : array of shape (K, L)
        Where to start.
    steps : int
        At most.
    """
    for step in range(steps):
        slope = digamma(alpha + 1)
        curvature = np.abs(2 * (slope * alpha - gammaln(alpha + 1)) / np.maximum(alpha, 1e-11) ** 2)
        b = slope - digamma(alpha.sum(axis=1))[:, None] - curvature * alpha - means
        new = (np.sqrt(b**2 + 4 * curvature) - b) / (2 * curvature)
        if step and step % STEPS_BETWEEN_CHECKS == 0:
            moved = float(((new - alpha) ** 2).sum()) / float((alpha**2).sum())
            if moved < STEP_TOLERANCE:
                return np.asarray(new)
        alpha = new
    return alpha


def _log_densities(log_z: Array, alpha: Array) -> Array:
    """Return log Dir(z; α) of rows and classes."""
    constant = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
    return np.asarray(log_z @ (alpha - 1).T + constant)


def _matched(profile: Array) -> Codes:
    """Return the cluster of each class, so that the mean z of the clusters is largest in total."""
    total = profile.sum(axis=1, keepdims=True)
    gain = profile / np.where(total > 0, total, 1)
    gain[np.diag_indices(len(gain))] += 1e-9  # an empty cluster has its own class if that is free
    cluster, label = linear_sum_assignment(-gain)
    return np.asarray(cluster[np.argsort(label)], dtype=np.intp)
