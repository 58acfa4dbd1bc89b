"""What labelled rows tell of classes: two whitened spaces, class means, and how to predict others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unseen.statistics.gaussian_classes import TEMPERATURE, Assignment, Pool, Prior, assign
from unseen.statistics.prototype_map import PrototypeMap
from unseen.statistics.semantic_process import ClassFeatures, ErrorLaw, SemanticProcess, fit_process
from unseen.statistics.visual_space import SeenStatistics, Space
from unseen.typing import Array

START_SHRINKAGE = 0.8
"""How far the covariance that whitens is shrunk for prediction and the start. On folds of seen classes
of nine data sets, 0.7 to 0.9 are alike."""

LEAST_SHRINKAGE, MOST_SHRINKAGE, COLUMNS_A_ROW = 0.2, 0.5, 0.2
"""The same for the rounds: the least where rows are many, the most from this many columns a row."""


class SeenModel(NamedTuple):
    """All that labelled rows tell: two whitened spaces, class means, and their predictor."""

    start_space: Space
    """Of the start, at the temperature of the rounds."""
    space: Space
    """Of the rounds."""
    means: Array
    """Class means (K, p) of scaled rows."""
    counts: Array
    vectors: Array | None
    """Class vectors (K, q); None if no class can be predicted."""
    features: ClassFeatures

    def restricted(self, classes: Array) -> SeenModel:
        """Return the model of some of the classes, in the spaces of all."""
        vectors = None if self.vectors is None else self.vectors[classes]
        return self._replace(means=self.means[classes], counts=self.counts[classes], vectors=vectors)

    def predictor(self) -> Predictor | None:
        """Return what predicts prototypes, None if nothing can be predicted."""
        if self.vectors is None:
            return None
        rows = None
        if self.vectors.shape[1] == self.means.shape[1]:
            rows = self.features.rows(self.vectors)
        matrix = self.start_space.full_matrix
        start_rows = None if rows is None else rows @ matrix
        process = fit_process(self.vectors, self.means @ matrix, start_rows, self.features)
        coef, constant = process.coefficients(self.means, rows)
        shared = rows @ self.space.full_matrix if process.features.shared and rows is not None else None
        law = process.error_law(self.space.of_means(self.means), shared, self.counts)
        return Predictor(process, coef, constant, law)


class Predictor(NamedTuple):
    """Prototypes m = φ(a)B + c in the coordinates of scaled rows, and the law of their errors."""

    process: SemanticProcess
    coef: Array
    """B (f, p)."""
    constant: Array
    law: ErrorLaw

    def __call__(self, vectors: Array) -> Array:
        """Return the prototypes of classes, (L, p)."""
        return np.asarray(self.process.features(vectors) @ self.coef + self.constant)

    def in_space(self, space: Space) -> PrototypeMap:
        """Return the map from semantics to prototypes in a space."""
        matrix = space.full_matrix
        coef, constant = (self.coef @ matrix).T, (self.constant - space.center) @ matrix
        return PrototypeMap(coef, constant, self.process.ridge, self.process.features)

    def class_covariance(self, vectors: Array) -> Array:
        """Return the covariance of errors over classes; all may be shifted alike."""
        C = self.process.covariance(vectors)
        return np.asarray(C + float(np.diag(C).mean()))


def seen_model(
    statistics: SeenStatistics, vectors: Array | None, shrinkage: float | None, dtype: Any
) -> SeenModel:
    """Build the model from sums over labelled rows; ``vectors`` None: no class can be predicted."""
    start = statistics.whitened(START_SHRINKAGE, dtype)
    start = start.then(start.full_matrix / np.sqrt(np.asarray(TEMPERATURE, dtype)))
    if shrinkage is None:
        scarcity = statistics.sums.shape[0] / max(statistics.freedom, 1.0) / COLUMNS_A_ROW
        shrinkage = LEAST_SHRINKAGE + (MOST_SHRINKAGE - LEAST_SHRINKAGE) * min(1.0, scarcity)
    rounds = statistics.whitened(shrinkage, dtype)
    features = ClassFeatures(None, 0.0, False, statistics.scaling)
    return SeenModel(start, rounds, statistics.means, statistics.counts, vectors, features)


class PoolModel(NamedTuple):
    """Candidates before the pool is seen: the prior of the rounds, and points of the start."""

    prior: Prior
    start: Array
    """Prototypes in the space of the start, (L, p)."""
    predictor: Predictor | None


def pool_model(model: SeenModel, vectors: Array, own: Array) -> PoolModel:
    """Tie candidates to their own means (``own`` ≥ 0: the seen class) or to predictions."""
    predictor = model.predictor()
    known = own >= 0
    prototypes = np.empty((len(own), model.means.shape[1]))
    prototypes[known] = model.means[own[known]]
    rows = np.zeros(len(own))
    # Beside predicted classes, those with labelled rows stay where they are: they would drift into rows
    # of unseen classes and, far better known as they are, would draw all of them.
    rows[known] = np.inf if not known.all() else np.maximum(model.counts[own[known]], 1e-9)
    covariance, p = np.zeros((0, 0)), model.means.shape[1]
    law = ErrorLaw(np.zeros((p, 0)), np.zeros(0), 1.0)
    if predictor is not None and not known.all():
        prototypes[~known] = predictor(vectors[~known])
        covariance, law = predictor.class_covariance(vectors[~known]), predictor.law
    elif not known.all():
        prototypes[~known] = model.means.mean(axis=0)
        covariance = np.eye(int((~known).sum()))
    prior = Prior(model.space.of_means(prototypes), rows, covariance, law)
    return PoolModel(prior, model.start_space.of_means(prototypes), predictor)


def start_of(model: SeenModel, before: PoolModel, pool: Pool, shares: Array | None) -> Assignment:
    """Return the first soft labels, in the strongly shrunk space."""
    S = replace(pool, space=model.start_space).scores(before.start)
    return assign(S, shares, np.zeros(len(before.start)))
