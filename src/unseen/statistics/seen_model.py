"""What labelled rows tell of classes: two whitened spaces, class means, and how to predict others.

Candidates then have a prior: their own mean, or a prediction with the law of its errors. Soft labels of
the pool turn it into a posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.rows.kernels import Scaling
from unseen.rows.known import Known
from unseen.rows.labelled import Rows
from unseen.solvers.row_space import SKETCH_COLUMNS, first_directions
from unseen.statistics.semantic_process import ErrorLaw, Predictor, PrototypeMap, fit_process
from unseen.statistics.visual_space import (
    SeenStatistics,
    Space,
    scaled_rows,
    seen_statistics,
    usual_scaling,
)
from unseen.typing import Array, Mask

TEMPERATURE = 2.0
"""τ: what a row says of its class counts for half (1, 3 and 4 gain nothing on folds)."""

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
    sketch: Space | None = None
    """Brings rows into the coordinates of the model, if these are a sketch; see :func:`sketched`."""

    def restricted(self, classes: Array) -> SeenModel:
        """Return the model of some of the classes, in the spaces of all."""
        vectors = None if self.vectors is None else self.vectors[classes]
        return self._replace(means=self.means[classes], counts=self.counts[classes], vectors=vectors)

    def predictor(self) -> Predictor | None:
        """Return what predicts prototypes, None if nothing can be predicted."""
        if self.vectors is None:
            return None
        scaling, basis = self.space.scaling, None
        if self.sketch is not None:
            scaling, basis = self.sketch.scaling, self.sketch.matrix
        rows = None
        if self.vectors.shape[1] == (self.means if basis is None else basis.T).shape[1]:
            rows = scaled_rows(np.asarray(self.vectors, dtype=float), scaling)
            rows = rows if basis is None else rows @ basis
        turned = self.start_space.turned_in_double
        start_rows = None if rows is None else turned(rows)
        process = fit_process(self.vectors, turned(self.means), start_rows, scaling)
        coef, constant = process.coefficients(self.means, rows, basis)
        shared = None
        if process.features.shared and rows is not None:
            shared = self.space.turned_in_double(rows)
        law = process.error_law(self.space.of_means(self.means), shared, self.counts)
        return Predictor(process, coef, constant, law)


def seen_model(
    statistics: SeenStatistics, vectors: Array | None, shrinkage: float | None, dtype: npt.DTypeLike
) -> SeenModel:
    """Build the model from sums over labelled rows; ``vectors`` None: no class can be predicted."""
    start = statistics.whitened(START_SHRINKAGE, dtype)
    start = start.then(start.full_matrix / np.sqrt(np.asarray(TEMPERATURE, dtype)))
    if shrinkage is None:
        scarcity = statistics.sums.shape[0] / max(statistics.freedom, 1.0) / COLUMNS_A_ROW
        shrinkage = LEAST_SHRINKAGE + (MOST_SHRINKAGE - LEAST_SHRINKAGE) * min(1.0, scarcity)
    rounds = statistics.whitened(shrinkage, dtype)
    return SeenModel(start, rounds, statistics.means, statistics.counts, vectors)


def sketched(rows: Rows, pool: Array, examples: Array) -> tuple[Rows, Array, Space]:
    """Return rows and a pool scaled, and if wide in the first directions of examples; and the sketch.

    Class vectors that are rows of features go the same way.
    """
    scaling, basis = usual_scaling(rows.X), None
    if min(rows.X.shape) > SKETCH_COLUMNS:
        basis = first_directions(scaled_rows(examples, scaling))
    sketch = Space(scaling, np.zeros(rows.X.shape[1]), basis)
    return rows._replace(X=sketch(rows.X)), sketch(pool), sketch


def model_of_sketch(rows: Rows, vectors: Array, sketch: Space | None) -> SeenModel:
    """Build the model of rows of a sketch; their codes are places among the vectors."""
    statistics = seen_statistics(rows, len(vectors), "none")
    return seen_model(statistics, vectors, None, rows.X.dtype)._replace(sketch=sketch)


class Task(NamedTuple):
    """Labelled rows, and the classes that a pool is to be labelled with."""

    rows: Rows
    scaling: Scaling
    """How rows are scaled first."""
    shrinkage: float | None
    """Of the covariance that whitens in the rounds."""
    classes: int
    """K, how many classes the labelled rows have."""
    seen_vectors: Array | None
    """(K, q); None if no class can be predicted."""
    vectors: Array
    """Of the candidates, (L, q)."""
    own: Array
    """(L,) the place of a candidate among the seen classes, -1 for an unseen one."""
    known: Known | None = None

    def statistics(self) -> SeenStatistics:
        """Return the sums over labelled rows."""
        return seen_statistics(self.rows, self.classes, self.scaling)

    def model(self, statistics: SeenStatistics) -> SeenModel:
        """Return what labelled rows tell of classes."""
        return seen_model(statistics, self.seen_vectors, self.shrinkage, self.rows.X.dtype)


class Candidates(NamedTuple):
    """Candidates before the pool is seen: the prior of the rounds, and points of the start."""

    prior: Prior
    start: Array
    """Prototypes in the space of the start, (L, p)."""
    predictor: Predictor | None


def candidates_of(model: SeenModel, vectors: Array, own: Array) -> Candidates:
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
    return Candidates(prior, model.start_space.of_means(prototypes), predictor)


class Answer(NamedTuple):
    """What scores are computed from: a space, and a prototype for each class in it."""

    space: Space
    seen_points: Array
    """Means of the seen classes, (K, p)."""
    points: Array
    """Prototypes of the candidates, (L, p)."""
    offsets: Array
    map: PrototypeMap | None
    """From the vector of any other class to its prototype."""

    @classmethod
    def of(
        cls,
        space: Space,
        model: SeenModel,
        candidates: Candidates,
        points: Array,
        offsets: Array | None = None,
    ) -> Answer:
        """Bring all prototypes into one space, in the precision of the features."""
        dtype = model.space.full_matrix.dtype
        means = space.of_means(model.means).astype(dtype)
        offsets = np.zeros(len(points)) if offsets is None else offsets
        predict = None
        if (predictor := candidates.predictor) is not None:
            lines = np.vstack([predictor.coef, predictor.constant - space.center])
            *coef, constant = space.turned_in_double(lines)
            process = predictor.process
            predict = PrototypeMap(np.array(coef).T, constant, process.ridge, process.features)
        kept_space = space.then(space.full_matrix.astype(dtype))
        return cls(kept_space, means, points.astype(dtype), offsets, predict)


@dataclass(frozen=True)
class Prior:
    """What is known of the class means before the pool is seen, in whitened space."""

    prototypes: Array
    """P (L, p): means of labelled rows, or predictions."""
    own: Array
    """(L,) labelled rows of each class; 0 where the prototype is predicted, inf where it is final."""
    covariance: Array
    """C over the predicted classes, in their order."""
    law: ErrorLaw

    @property
    def predicted(self) -> Mask:
        """Which classes have no labelled rows."""
        return np.asarray(self.own == 0)

    def error_scale(self, n: Array, sums: Array) -> float:
        """Return ĉ: squared errors of prediction in the pool, in units of the expected ones.

        Parameters
        ----------
        n : array of shape (L,)
            The mass of each class.
        sums : array of shape (L, p)
            Qᵀz.
        """
        free = self.predicted
        if not free.any():
            return 1.0
        n, law = np.maximum(n[free], 1e-9), self.law
        error = sums[free] / n[:, None] - self.prototypes[free]
        along = error @ law.basis
        outside = np.einsum("ij,ij->i", error, error) - np.einsum("ij,ij->i", along, along)
        squares = (along**2 / law.variances).sum(axis=1) + outside / law.rest
        p = error.shape[1]
        noise = (float((1 / law.variances).sum()) + (p - len(law.variances)) / law.rest) / n
        weight = n / (n + 5)
        expected = float((weight * p * np.diag(self.covariance)).sum())
        return float((weight * (squares - noise)).sum()) / max(expected, 1e-300)

    def posterior(self, n: Array, sums: Array, tie: float) -> Posterior:
        """Minimise F over μ, and measure how well μ is known then."""
        D = sums - n[:, None] * self.prototypes
        weight = np.maximum(self.own + n, 1e-12)
        delta, free, law = D / weight[:, None], self.predicted, self.law
        inside = np.tile((1 / weight)[:, None], len(law.variances))
        outside = 1 / weight
        if free.any():
            # T'C⁻¹T = I and T' diag(n) T = e: one eigenproblem serves every direction.
            jitter = 1e-10 * float(np.trace(self.covariance)) / len(self.covariance)
            root = np.linalg.cholesky(self.covariance + jitter * np.eye(len(self.covariance)))
            e, U = np.linalg.eigh(root.T @ (n[free][:, None] * root))
            T, e = root @ U, np.maximum(e, 0)
            gain = 1 / (1 / (tie * law.variances) + e[:, None])
            rest = 1 / (1 / (tie * law.rest) + e)
            along = D[free] @ law.basis
            delta[free] = (T * rest) @ (T.T @ (D[free] - along @ law.basis.T))
            delta[free] += (T @ ((T.T @ along) * gain)) @ law.basis.T
            inside[free], outside[free] = (T**2) @ gain, (T**2) @ rest
        metric = Metric(law.basis, 1 / (1 + inside.mean(axis=0)), 1 / (1 + float(outside.mean())))
        return Posterior(np.asarray(self.prototypes + delta), metric)

    def energy(self, means: Array, tie: float) -> float:
        """Return the tie of F."""
        D = means - self.prototypes
        finite = np.where(np.isfinite(self.own), self.own, 0.0)
        total = 0.5 * float(finite @ np.einsum("ij,ij->i", D, D))
        free, law = self.predicted, self.law
        if free.any():
            along = D[free] @ law.basis
            G = (along / law.variances) @ along.T
            G += (D[free] @ D[free].T - along @ along.T) / law.rest
            total += 0.5 * float(np.trace(np.linalg.solve(self.covariance, G))) / tie
        return total


class Metric(NamedTuple):
    """ω = V diag(inside) Vᵀ + outside·(I − VVᵀ)."""

    basis: Array
    inside: Array
    outside: float

    def root(self, points: Array) -> Array:
        """Return ω^½ applied to rows."""
        own, rest = np.sqrt(self.inside), float(np.sqrt(self.outside))
        return np.asarray(rest * points + (points @ self.basis * (own - rest)) @ self.basis.T)


class Posterior(NamedTuple):
    """Class means after the pool was seen, and the metric in which rows are compared with them."""

    means: Array
    metric: Metric
