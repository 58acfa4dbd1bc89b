"""What methods with one point a class share: a visual space, a start, and a pool that moves points."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unseen.rows.kernels import Scaling
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.rows.passes import blocks
from unseen.statistics.prototype_map import least_error_map
from unseen.statistics.semantic_process import PrototypeMap
from unseen.statistics.visual_space import (
    SeenStatistics,
    Space,
    prototype_scores,
    seen_statistics,
    to_be_powered,
)
from unseen.transductive._pool import Compress, Split
from unseen.transductive.prototype_classifier import PrototypeClassifier
from unseen.transductive.rounds import Round
from unseen.typing import Array, CandidateClasses, Codes, Mask


@dataclass(frozen=True)
class PoolProblem:
    """All that a method may use to move the points of the unseen candidates."""

    Z: Array
    """The pool in visual space, (M, d)."""
    start: Array
    """The points of the candidates before the pool is seen, (L, d)."""
    free: npt.NDArray[np.bool_]
    """(L,) which of them may move: candidates that have no labelled rows."""
    vectors: Array
    """The semantics of the candidates, (L, q)."""
    seen_means: Array
    """(K, d)."""
    seen_counts: Array
    seen_vectors: Array
    known: Known = NOTHING_KNOWN
    """Rows of the pool whose class is known."""

    def labels(self, points: Array) -> Codes:
        """Return the candidate with the nearest point for each row of the pool, or its known class."""
        nearest = np.empty(len(self.Z), dtype=np.intp)
        for rows in blocks(len(self.Z)):
            nearest[rows] = prototype_scores(self.Z[rows], points.astype(self.Z.dtype)).argmax(axis=1)
        return np.asarray(self.known.clamp_labels(nearest))


class PointClassifier(PrototypeClassifier):
    """A classifier by the nearest class point, for methods whose pool moves the points.

    The start is ridge regression from semantics to class means, its ridge by leaving each seen class
    out. A candidate with labelled rows keeps their mean. Classes that were no candidates at ``fit``
    have their own mean, or the point that the map predicts. A subclass writes ``_move`` and may
    replace the space, the map and the start; it sets ``takes_known`` if its rounds use all labels of
    ``PoolProblem.labels``, or clamp their own. No observer is called: the rounds have no calibrated
    probabilities.
    """

    start_: Array

    def __init__(
        self,
        semantics: object = None,
        candidates: CandidateClasses = "unseen",
        rounds: int = 10,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.rounds = rounds
        self.shrinkage = shrinkage

    @abstractmethod
    def _move(self, problem: PoolProblem) -> Array:
        """Return the points of all candidates after the pool was seen; ``_note_round`` each round."""

    def _fit_split(self, split: Split, compress: Compress | None) -> Array:
        shrinkage = self._shrinkage()
        seen, vectors, own, X = split.seen, split.vectors, split.own, split.rows.X
        scaling = self._plain_scaling()
        if self.shrinkage is not None:
            scaling = "root" if to_be_powered(X.shape[1]) else "none"
        statistics = seen_statistics(split.rows, len(seen), scaling)
        self._space = self._make_space(statistics, split, shrinkage)
        self._keep_classes(seen, vectors, self._space.of_means(statistics.means).astype(X.dtype))
        self._map = None
        if split.described:
            self._map = self._make_map(self._seen_points, statistics.counts, seen)
        start = self._start(vectors, own).astype(X.dtype)
        self.start_, self.points_ = start, start
        self.history_: list[Round] = []
        first_round = np.zeros(len(split.pool), dtype=np.intp)
        self._first_round = first_round
        if len(split.pool) and self.rounds and (own < 0).any() and len(own) > 1:
            counts = statistics.counts
            del statistics  # p × p: free its memory before the pool is transformed
            Z = self._space(split.pool)
            problem = PoolProblem(
                Z,
                start,
                own < 0,
                vectors,
                self._seen_points,
                counts,
                seen,
                split.known or NOTHING_KNOWN,
            )
            del Z
            self.points_ = self._move(problem).astype(X.dtype)
            del problem
        del self._first_round
        self._calibrate(split.rows, seen)
        return first_round

    def _note_round(self, before: Codes, after: Codes, trusted: Mask | None, loss: float) -> None:
        """Write a line of ``history_``; ``trusted`` None: all rows of the pool taught the round."""
        number = len(self.history_) + 1
        taught = np.ones(len(before), dtype=bool) if trusted is None else trusted
        self._first_round[taught & (self._first_round == 0)] = number
        covered, changed = len(np.unique(before[taught])), float((before != after).mean())
        share = float(taught.mean())
        self.history_.append(Round(number, share, int(taught.sum()), covered, loss, changed))

    def _relabel(
        self, problem: PoolProblem, points: Array, before: Codes, trusted: Mask | None, loss: float
    ) -> tuple[Codes, bool]:
        """Label the pool by points that have moved; note the round, tell whether no label changed."""
        labels = problem.labels(points)
        self._note_round(before, labels, trusted, loss)
        return labels, bool((before == labels).all())

    def _moved_by_labels(
        self, problem: PoolProblem, points: Array, F: Array, before: Codes
    ) -> tuple[Array, Codes, bool]:
        """Move free points to the rows that soft labels F give them; label the pool again."""
        taken = np.zeros_like(F)
        taken[np.arange(len(F)), F.argmax(axis=1)] = 1
        moved = points.copy()
        moved[problem.free] = class_points(taken, problem.Z, points)[problem.free]
        entropy = float(-(F * np.log(np.maximum(F, 1e-30))).sum(axis=1).mean())
        return moved, *self._relabel(problem, moved, before, None, entropy)

    def _plain_scaling(self) -> Scaling:
        """Return how rows are scaled where they are not whitened."""
        return "none"

    def _make_space(self, statistics: SeenStatistics, split: Split, shrinkage: float | None) -> Space:
        """Return the visual space: whitened, or the features as they are."""
        if self.shrinkage is None:
            return statistics.plain(split.rows.X.dtype)
        return statistics.whitened(shrinkage, split.rows.X.dtype)

    def _make_map(self, means: Array, counts: Array, vectors: Array) -> PrototypeMap:
        """Return the map from semantics to points."""
        return least_error_map(means, vectors)

    def _start(self, vectors: Array, own: Array) -> Array:
        """Return the points of candidates before the pool is seen."""
        points = self._mapped(vectors)
        points[own >= 0] = self._seen_points[own[own >= 0]]
        return points


def class_points(F: Array, Z: Array, points: Array) -> Array:
    """Return the mean of the rows of each class by soft labels; a class with no mass stays."""
    mass = F.sum(axis=0)
    sums = F.T.astype(Z.dtype) @ Z
    means = sums / np.maximum(mass, 1e-12)[:, None]
    return np.asarray(np.where(mass[:, None] > 1e-6, means, points))
