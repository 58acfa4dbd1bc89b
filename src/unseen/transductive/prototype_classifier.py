"""What methods with one prototype a class share: a space, prototypes, scores and rounds."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from unseen.rows.kernels import Scaling
from unseen.statistics.adaptation import TRUSTED, Step
from unseen.statistics.scorer import Scorer
from unseen.statistics.semantic_process import PrototypeMap
from unseen.statistics.visual_space import Space, space_scores, usual_scaling
from unseen.transductive._pool import TransductiveClassifier
from unseen.transductive.rounds import Round
from unseen.typing import Array, ClassShares, RowValues


class PrototypeClassifier(TransductiveClassifier):
    """A classifier by the nearest prototype: scores are z·m − ½‖m‖² + offset.

    A class is known by its vector, so a vector that changed after ``fit`` is a new class. Candidates of
    ``fit`` have the prototype that it found, other seen classes the mean of their rows, and further
    classes the one that the map predicts.
    """

    _space: Space
    _map: PrototypeMap | None
    """From semantics to prototypes; None without semantics: no class can be predicted."""
    points_: Array
    """The prototypes of the candidates of ``fit``, (L, d)."""

    _whole: ClassVar[tuple[str, ...]] = ("rounds",)

    def _keep_classes(self, seen: Array, vectors: Array, seen_points: Array) -> None:
        """Note which class has which prototype."""
        self._seen_points = seen_points
        self._seen_keys, self._fitted_keys = class_keys(seen), class_keys(vectors)
        self._width = int(seen.shape[1])
        self._offsets = np.zeros(len(vectors))

    def _mapped(self, vectors: Array) -> Array:
        if self._map is None:  # one-hot: no class can be predicted
            return np.zeros((len(vectors), self._seen_points.shape[1]))
        return np.array(self._map(vectors), dtype=float)

    def _points_of(self, vectors: Array) -> tuple[Array, Array]:
        """Return a prototype and an offset for each class: adapted, of labelled rows, or predicted."""
        points = np.empty((len(vectors), self.points_.shape[1]), dtype=self.points_.dtype)
        offsets, predicted = np.zeros(len(vectors)), []
        fitted, seen = Places(self._fitted_keys), Places(self._seen_keys)
        for i, key in enumerate(class_keys(vectors)):
            place = fitted.take(key)
            if place is not None:
                points[i], offsets[i] = self.points_[place], self._offsets[place]
            elif (place := seen.take(key)) is not None:
                points[i] = self._seen_points[place]
            else:
                predicted.append(i)
        if predicted:
            points[predicted] = self._mapped(vectors[predicted])
        return points, offsets

    def _scores(self, X: Array, vectors: Array) -> Array:
        points, offsets = (part.astype(X.dtype) for part in self._points_of(vectors))
        return space_scores(self._space, X, points, offsets)

    def _scorer(self, vectors: Array) -> Scorer:
        points, offsets = self._points_of(vectors)
        coef, intercept = np.zeros((points.shape[1], self._width)), np.zeros(points.shape[1])
        features = None
        if self._map is not None:
            coef, intercept, features = self._map.coef, self._map.intercept, self._map.features
        corrections = points - self._mapped(vectors)
        scorer = Scorer(
            coef, intercept, corrections, offsets, weights=(1.0, 0.5, 0.0), features=features
        )
        return scorer.after(*self._space.steps())

    def _semantic_width(self) -> int:
        return self._width

    def _shrinkage(self) -> float | None:
        """Return how far the covariance is shrunk that whitens; None: "auto", or no whitening."""
        value = getattr(self, "shrinkage", None)
        if value is None or (isinstance(value, str) and value == "auto"):
            return None
        if isinstance(value, Real) and 0 <= float(value) <= 1:
            return float(value)
        self._refuse("shrinkage", "'auto', None or a number in [0, 1]")

    def _scaling(self, X: RowValues) -> Scaling:
        asked = getattr(self, "normalise", "auto")
        if isinstance(asked, str) and asked == "auto":
            return usual_scaling(X)
        if asked in ("none", "unit", "root"):
            return asked  # type: ignore[return-value]
        self._refuse("normalise", "'auto', 'none', 'unit' or 'root'")


@dataclass(frozen=True)
class PrototypeRound(Round):
    """One line of ``history_``; ``threshold`` is the probability from which a row is trusted."""

    FILE_KEY = "prototype-round"

    objective: float = float("nan")
    """F/τ after the round, for its own scale of the tie and its own metric."""
    coverage: float = float("nan")
    """The share of candidates that hold half a row or more."""
    moved: float = float("nan")
    """The share of label mass that changed its class."""
    error_scale: float = float("nan")
    """Squared errors of prediction in the pool, in units of the expected ones."""

    @classmethod
    def of(cls, number: int, step: Step, rows: int, classes: int) -> PrototypeRound:
        """Note what a round did."""
        loss, coverage = step.objective / rows, step.covered / classes
        counts = TRUSTED, step.trusted, step.covered, loss, step.changed
        return cls(number, *counts, step.objective, coverage, step.moved, step.error_scale)


class Places:
    """Positions of keys; a key that occurs twice gives its first position first."""

    def __init__(self, keys: list[bytes]) -> None:
        self._places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            self._places.setdefault(key, []).append(place)

    def take(self, key: bytes) -> int | None:
        """Return the position of a key, None if there is none."""
        places = self._places.get(key)
        return None if not places else places.pop(0) if len(places) > 1 else places[0]


def class_keys(vectors: Array) -> list[bytes]:
    """Return a key for each class vector; equal vectors have equal keys."""
    return [row.tobytes() for row in np.ascontiguousarray(vectors, dtype=np.float64) + 0.0]


def read_shares(prior: ClassShares, candidates: Array) -> Array:
    """Return the class shares that a mapping gives to the candidates; none is zero."""
    missing = [str(label) for label in candidates.tolist() if label not in prior]
    if missing:
        raise ValueError(
            f"The 'class_prior' parameter has no share for {len(missing)} candidate(s): "
            f"{', '.join(missing[:5])}. Give a share to every candidate."
        )
    shares = np.array([float(prior[label]) for label in candidates.tolist()])
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        raise ValueError("The 'class_prior' parameter must give shares >= 0, not all zero.")
    shares = np.maximum(shares / shares.sum(), 1e-6)
    return np.asarray(shares / shares.sum())
