"""What methods with one point a class share: a visual space, a start, and a pool that moves points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from unseen.numerics.gaussian import scores
from unseen.numerics.known import NOTHING_KNOWN, Known
from unseen.numerics.predicted import fit_predictor
from unseen.numerics.prototypes import PrototypeMap
from unseen.numerics.rows import Codes, blocks
from unseen.numerics.scorer import Scorer
from unseen.numerics.space import SeenStatistics, Space, seen_statistics, to_be_powered
from unseen.transductive.base import Compress, Split, TransductiveClassifier
from unseen.transductive.places import Places, keys
from unseen.transductive.rounds import Round

Array = npt.NDArray[Any]


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
        found = np.empty(len(self.Z), dtype=np.intp)
        for rows in blocks(len(self.Z)):
            found[rows] = scores(self.Z[rows], points.astype(self.Z.dtype)).argmax(axis=1)
        return np.asarray(self.known.clamp_labels(found))


class PointClassifier(TransductiveClassifier):
    """A classifier by the nearest class point, for methods whose pool moves the points.

    The start is ridge regression from semantics to class means, its ridge by leaving each seen class
    out. A candidate with labelled rows keeps their mean. Classes that were no candidates at ``fit``
    have their own mean, or the point that the map predicts. A subclass writes ``_move`` and may
    replace the space, the map and the start; it sets ``takes_known`` if its rounds use all labels of
    ``PoolProblem.labels``, or clamp their own. No observer is called: the rounds have no calibrated
    probabilities.
    """

    _space: Space
    _map: PrototypeMap | None
    points_: Array
    start_: Array

    _whole: ClassVar[tuple[str, ...]] = ("rounds",)
    """Parameters that are integers >= 0."""
    _positive: ClassVar[tuple[str, ...]] = ()
    """Parameters that are numbers >= 0."""

    def __init__(
        self,
        semantics: object = None,
        candidates: str | Sequence[Any] | Array = "unseen",
        rounds: int = 10,
        shrinkage: float | str | None = "auto",
    ) -> None:
        super().__init__(semantics, candidates)
        self.rounds = rounds
        self.shrinkage = shrinkage

    @abstractmethod
    def _move(self, problem: PoolProblem) -> Array:
        """Return the points of all candidates after the pool was seen; ``_note_round`` each round."""

    def _fit_split(
        self, split: Split, candidates: Array, vectors: Array, compress: Compress | None
    ) -> Array:
        self._check_parameters()
        seen, X = self._seen_vectors(), split.rows.X
        powered = self.shrinkage is not None and to_be_powered(X.shape[1])
        statistics = seen_statistics(split.rows, len(seen), powered)
        self._space = self._make_space(statistics, split)
        self._seen_points = self._space.of_means(statistics.means).astype(X.dtype)
        self._seen_keys, self._fitted_keys = keys(seen), keys(vectors)
        self._width = int(seen.shape[1])
        self._map = None
        if self._parameters()[0] is not None:
            self._map = self._make_map(self._seen_points, statistics.counts, seen)
        own = self._own(candidates)
        start = self._start(vectors, own).astype(X.dtype)
        self.start_, self.points_ = start, start
        self.history_: list[Round] = []
        first_round = np.zeros(len(split.pool), dtype=np.intp)
        self._first_round = first_round
        if len(split.pool) and self.rounds and (own < 0).any() and len(own) > 1:
            counts = statistics.counts
            del statistics  # p × p: the room is needed for the pool
            Z = self._space(split.pool)
            problem = PoolProblem(
                Z, start, own < 0, vectors, self._seen_points, counts, seen, split.known
            )
            del Z
            self.points_ = self._move(problem).astype(X.dtype)
            del problem
        del self._first_round
        self._calibrate(split.rows, seen)
        return first_round

    def _note_round(
        self, before: Codes, after: Codes, trusted: npt.NDArray[np.bool_] | None, loss: float
    ) -> None:
        """Write a line of ``history_``; ``trusted`` None: all rows of the pool taught the round."""
        number = len(self.history_) + 1
        taught = np.ones(len(before), dtype=bool) if trusted is None else trusted
        self._first_round[taught & (self._first_round == 0)] = number
        covered, changed = len(np.unique(before[taught])), float((before != after).mean())
        share = float(taught.mean())
        self.history_.append(Round(number, share, int(taught.sum()), covered, loss, changed))

    def _make_space(self, statistics: SeenStatistics, split: Split) -> Space:
        """Return the visual space: whitened, or the features as they are."""
        if self.shrinkage is None:
            return statistics.plain(split.rows.X.dtype)
        alpha = None if self.shrinkage == "auto" else float(self.shrinkage)
        return statistics.whitened(alpha, split.rows.X.dtype)

    def _make_map(self, means: Array, counts: Array, vectors: Array) -> PrototypeMap:
        """Return the map from semantics to points."""
        return fit_predictor(means, counts, vectors).prototypes

    def _start(self, vectors: Array, own: Array) -> Array:
        """Return the points of candidates before the pool is seen."""
        points = self._mapped(vectors)
        points[own >= 0] = self._seen_points[own[own >= 0]]
        return points

    def _mapped(self, vectors: Array) -> Array:
        if self._map is None:  # one-hot: no class can be foretold
            return np.zeros((len(vectors), self._seen_points.shape[1]))
        return np.array(self._map(vectors), dtype=float)

    def _points_of(self, vectors: Array) -> Array:
        """Return a point for each class: moved, of labelled rows, or mapped; known by its vector."""
        points = self._mapped(vectors).astype(self.points_.dtype)
        fitted, seen = Places(self._fitted_keys), Places(self._seen_keys)
        for i, key in enumerate(keys(vectors)):
            place = fitted.take(key)
            if place is not None:
                points[i] = self.points_[place]
            elif (place := seen.take(key)) is not None:
                points[i] = self._seen_points[place]
        return points

    def _scores(self, X: Array, vectors: Array) -> Array:
        points = self._points_of(vectors).astype(X.dtype)
        out = np.empty((len(X), len(points)), dtype=X.dtype)
        for rows in blocks(len(X)):
            out[rows] = scores(self._space(X[rows]), points)
        return out

    def _scorer(self, vectors: Array) -> Scorer:
        points = self._points_of(vectors)
        if self._map is None:
            coef, intercept = np.zeros((points.shape[1], self._width)), np.zeros(points.shape[1])
        else:
            coef, intercept = self._map.coef, self._map.intercept
        corrections = points - (vectors @ coef.T + intercept)
        scorer = Scorer(coef, intercept, corrections, weights=(1.0, 0.5, 0.0))
        return scorer.after(*self._space.steps())

    def _semantic_width(self) -> int:
        return self._width

    def _check_parameters(self) -> None:
        for name in self._whole:
            value = getattr(self, name)
            if type(value) is bool or not isinstance(value, Integral) or int(value) < 0:
                self._refuse(name, "an integer >= 0")
        for name in self._positive:
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                self._refuse(name, "a number >= 0")
        value = getattr(self, "shrinkage", None)
        if not (value is None or (isinstance(value, str) and value == "auto")) and not (
            isinstance(value, Real) and 0 <= float(value) <= 1
        ):
            self._refuse("shrinkage", "'auto', None or a number in [0, 1]")
