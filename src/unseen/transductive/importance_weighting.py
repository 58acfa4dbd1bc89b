"""ImportanceWeighting: seen rows that look like the pool weigh more, around any estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from unseen.advice import Advice
from unseen.citation import Citation
from unseen.inductive.wrapping import WrappingClassifier
from unseen.published import PAPER, UNVERIFIED, choices, holds
from unseen.rows.labelled import by_content
from unseen.rows.passes import blocks
from unseen.transductive._pool import Compress, Split, TransductiveClassifier
from unseen.typing import Array, CandidateClasses

MOST_CENTRES = 100
"""The density ratio has kernels at this many rows of the pool at most."""
LARGEST_WEIGHT = 10.0
"""No row has a larger weight than this."""


class ImportanceWeighting(WrappingClassifier, TransductiveClassifier):
    """Weigh labelled rows by how likely they are in the pool, and fit an estimator on them.

        w(x) = Σ_b θ_b exp(−‖x − c_b‖²/σ²),   θ ≥ 0
        max over θ  Σ_{pool} log w(x)   subject to  mean over labelled rows of w(x) = 1

    w estimates the ratio of the two densities (KLIEP): the weighted seen rows have the marginal
    distribution of the unseen ones. c_b are rows of the pool, σ² the median squared distance between
    both. The pool is used for nothing else.

    X. Xu, T. Hospedales and S. Gong, "Multi-task zero-shot action recognition with prioritised data
    augmentation", ECCV 2016. Deviations: w weighs the given labelled rows, where the original also
    weighs auxiliary data sets (:class:`~unseen.DataEnlargement` adds those); weights are at most 10 and
    have mean one in every class, so that no class is lost.

    Parameters
    ----------
    estimator : inductive estimator of this library
        It is cloned, never fitted itself; ESZSL when none is given.
    semantics, candidates : optional
        As for every estimator; None means those of ``estimator``.
    strength : float in [0, 1]
        Weights are w^strength; 0 changes nothing.
    rounds : int
        Steps that maximise the likelihood.

    Attributes
    ----------
    estimator_ : estimator
    importance_ : array
        The weights of the labelled rows, in their order.

    Examples
    --------
    >>> from unseen import ESZSL, ImportanceWeighting
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0], [0.8, 0.9]]
    >>> model = ImportanceWeighting(ESZSL(semantics)).fit(X, ["cat", "cat", "dog", "dog", None])
    >>> model.transduction_[-1]
    np.str_('fox')
    """

    published = choices(
        holds(PAPER, "Seen rows weighted to minimise the discrepancy of the marginal distributions."),
        holds(
            UNVERIFIED, "Its multi-task embedding could not be read; any estimator may take its place."
        ),
    )

    citation = Citation(
        "Xu, Hospedales and Gong",
        "Multi-task zero-shot action recognition with prioritised data augmentation",
        "ECCV",
        2016,
    )

    advice = Advice(
        cost="kernel values of all rows at some centres, then the cost of what it wraps",
        take="labelled rows come from another distribution than the pool",
        leave="the pool itself can teach: a transductive method uses it for much more",
    )

    takes_class_means: ClassVar[bool] = False
    without_pool: ClassVar[Mapping[str, object]] = {"strength": 0.0}

    importance_: Array

    def __init__(
        self,
        estimator: Any = None,
        semantics: object = None,
        candidates: CandidateClasses = None,
        strength: float = 0.5,
        rounds: int = 100,
    ) -> None:
        super().__init__(semantics, candidates)
        self.estimator = estimator
        self.strength = strength
        self.rounds = rounds

    def _fit_split(self, split: Split, compress: Compress | None) -> Array:
        if not 0 <= float(self.strength) <= 1:
            self._refuse("strength", "a number in [0, 1]")
        X, codes, weights = split.rows
        self.importance_ = np.ones(len(X))
        if len(split.pool) and self.strength:
            w = density_ratio(X, split.pool, int(self.rounds)) ** float(self.strength)
            self.importance_ = _mean_one(w, codes, len(self.seen_classes_))
        given = self.importance_ if weights is None else self.importance_ * weights
        rows = split.rows._replace(weights=given.astype(X.dtype))
        self._adopt(self._clone(split.candidates)._fit_rows(rows, self.seen_classes_))
        self.history_ = []
        return np.zeros(len(split.pool), dtype=np.intp)


def density_ratio(X: Array, pool: Array, rounds: int, centres: int = MOST_CENTRES) -> Array:
    """Return an estimate of p(pool)/p(X) at the rows of X, of mean one (KLIEP).

    Each step is one of expectation–maximisation for the shares of the kernels, so that the likelihood
    of the pool never falls. Centres are drawn by content.
    """
    chosen = pool[by_content(pool)[:centres]].astype(float)
    near = _squares(pool, chosen)
    unit = max(float(np.median(near)), np.finfo(float).tiny)
    K, at_rows = np.exp(-near / unit), np.exp(-_squares(X, chosen) / unit)
    mean = np.maximum(at_rows.mean(axis=0), np.finfo(float).tiny)
    theta = 1 / (mean * len(chosen))
    for _ in range(rounds):
        theta = theta * (K / np.maximum(K @ theta, np.finfo(float).tiny)[:, None]).mean(axis=0) / mean
    return np.asarray(at_rows @ theta)


def _squares(X: Array, centres: Array) -> Array:
    out = np.empty((len(X), len(centres)))
    for rows in blocks(len(X)):
        out[rows] = cdist(X[rows].astype(float), centres, "sqeuclidean")
    return out


def _mean_one(weights: Array, codes: Array, classes: int) -> Array:
    """Limit weights, and give them mean one within each class."""
    limited = np.clip(weights, 1 / LARGEST_WEIGHT, LARGEST_WEIGHT)
    totals = np.bincount(codes, limited, classes) / np.maximum(np.bincount(codes, minlength=classes), 1)
    return np.asarray(limited / totals[codes])
