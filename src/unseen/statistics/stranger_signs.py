"""Signs of strangers, rows of a pool that belong to no candidate.

A pool is labelled beside the seen classes that are no candidates, and beside classes without a name.
Three signs tell a stranger then: a seen class is nearer than every candidate, every candidate is far,
and a class without a name is likelier than the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from unseen.statistics.adaptation import (
    Plan,
    State,
    Transduction,
    adapt,
    measured,
    start_of,
)
from unseen.statistics.bystanders import Bystanders, alone
from unseen.statistics.seen_model import SeenModel, candidates_of
from unseen.statistics.unnamed import beside_unnamed
from unseen.statistics.visual_space import Pool, Space, prototype_scores
from unseen.typing import Array, Codes

MOST_ODDS = 4.0
"""The log-odds of a class without a name against all candidates count up to this."""


@dataclass(frozen=True)
class PointGroups:
    """Points of the candidates and of the classes beside them, in a space of rows."""

    FILE_KEY = "stranger-points"

    space: Space
    candidates: Array
    """(L, d)."""
    others: Array
    """(K, d)."""
    biases: Array
    """Of the candidates, then of the others, (L + K,)."""

    @classmethod
    def of(cls, space: Space, state: State, candidates: int, others: slice) -> PointGroups:
        """Take the points and biases of two groups of classes out of a state."""
        points, biases = state.points, state.assignment.biases
        both = np.append(biases[:candidates], biases[others])
        return cls(space, points[:candidates], points[others], both)

    def nearest(self, X: Array) -> tuple[Array, Array]:
        """Return half the squared distance of rows to the nearest point of each group."""
        Z, groups = self.space(X), (self.candidates, self.others)
        near, other = (_distances(Z, g).min(axis=1, initial=np.inf) for g in groups)
        return near, other

    def log_odds(self, X: Array) -> Array:
        """Return the log-odds of the others against the candidates."""
        scores = prototype_scores(self.space(X), np.vstack([self.candidates, self.others]))
        scores, L = scores + self.biases, len(self.candidates)
        return np.asarray(logsumexp(scores[:, L:], axis=1) - logsumexp(scores[:, :L], axis=1))


class Signs(NamedTuple):
    """What the signs of rows are computed from."""

    bystanders: PointGroups
    """The candidates, and the seen classes that are no candidates."""
    unnamed: PointGroups
    """The candidates, and the classes without a name."""

    def __call__(self, X: Array) -> Array:
        """Return three signs a row, (N, 3)."""
        near, other = self.bystanders.nearest(X)
        nearer = near - other if len(self.bystanders.others) else np.zeros(len(X))
        odds = np.clip(self.unnamed.log_odds(X), -MOST_ODDS, MOST_ODDS)
        return np.stack([nearer, near, odds], axis=1)


def usual_signs(signs: Array) -> Array:
    """Return median and median deviation of the first two signs in a pool, (2, 2)."""
    signs = signs[:, :2]
    middle = np.median(signs, axis=0)
    return np.stack([middle, np.maximum(np.median(np.abs(signs - middle), axis=0), 1e-12)])


def standard_signs(signs: Array, usual: Array) -> Array:
    """Return the first two signs in units of the pool's spread; log-odds stay as they are."""
    return np.hstack([(signs[:, :2] - usual[0]) / usual[1], signs[:, 2:]])


def _distances(Z: Array, points: Array) -> Array:
    """Return half the squared distances, (N, L)."""
    squares = np.einsum("ij,ij->i", Z, Z)[:, None] + np.einsum("ij,ij->i", points, points)
    return np.asarray(0.5 * np.maximum(squares - 2 * (Z @ points.T), 0.0))


def signs_of(
    model: SeenModel, X: Array, vectors: Array, own: Codes, sketch: Space | None = None
) -> Signs:
    """Label a pool beside bystanders and classes without a name; return what gives signs of rows.

    ``X`` are rows in the coordinates of the model, and the rows to come, too; with ``sketch`` those to
    come are as they were before it.
    """
    assert model.vectors is not None
    bystanders = Bystanders.of(len(model.vectors), own)
    candidates, pool = candidates_of(model, vectors, own), Pool(X, model.space)
    first = alone(Plan())
    *_, state = adapt(pool, candidates.prior, start_of(model, candidates, pool, first), first)
    *_, state = bystanders.join(Transduction(model, candidates, pool, state), Plan())
    at = Transduction(model, candidates, pool, state)
    L, K = len(own), len(bystanders.classes)
    groups = []
    for end, others in (
        (state, slice(L, None)),
        (beside_unnamed(at, bystanders, Plan()), slice(L + K, None)),
    ):
        space = measured(model.space, end.metric)
        if sketch is not None:
            space = behind(sketch, space)
        groups.append(PointGroups.of(space, end, L, others))
    return Signs(*groups)


def behind(sketch: Space, space: Space) -> Space:
    """Return the space of rows as they were: into the sketch, and from there into this space."""
    if sketch.matrix is None:
        return replace(space, scaling=sketch.scaling)
    # The basis B is orthonormal, so that (x − Bc)B = xB − c.
    basis = sketch.matrix
    return Space(sketch.scaling, basis @ space.center, basis @ space.full_matrix)
