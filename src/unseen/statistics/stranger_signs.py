"""Signs of strangers, rows of a pool that belong to no candidate.

A pool is labelled beside the seen classes that are no candidates, and beside classes without a name.
Three signs tell a stranger then: a seen class is nearer than every candidate, every candidate is far,
and a class without a name is likelier than the candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from unseen.statistics.adaptation import (
    SHIFTED,
    Plan,
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
class Signs:
    """What the signs of rows are computed from: points of classes in a space of rows."""

    FILE_KEY = "stranger-points"

    space: Space
    candidates: Array
    """(L, d)."""
    bystanders: Array
    """Seen classes that are no candidates, (K, d)."""
    unnamed: Array
    """Classes without a name, (U, d)."""
    biases: Array
    """Of the candidates, then of the classes without a name, (L + U,)."""
    other_domain: bool
    """Whether the pool is so far from the predicted classes that rehearsals say little of its signs."""

    def __call__(self, X: Array) -> Array:
        """Return three signs a row, (N, 3)."""
        Z = self.space(X)
        near = _distances(Z, self.candidates).min(axis=1)
        nearer = near - _distances(Z, self.bystanders).min(axis=1, initial=np.inf)
        if not len(self.bystanders):
            nearer = np.zeros(len(X))
        odds = np.clip(self._log_odds(Z), -MOST_ODDS, MOST_ODDS)
        return np.stack([nearer, near, odds], axis=1)

    def _log_odds(self, Z: Array) -> Array:
        """Return the log-odds of the classes without a name against the candidates."""
        scores = prototype_scores(Z, np.vstack([self.candidates, self.unnamed]))
        scores, L = scores + self.biases, len(self.candidates)
        return np.asarray(logsumexp(scores[:, L:], axis=1) - logsumexp(scores[:, :L], axis=1))


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
    at = Transduction(model, candidates, pool, state)
    *_, state = bystanders.join(at, Plan())
    end = beside_unnamed(at._replace(state=state), bystanders, Plan())
    space = measured(model.space, end.metric)
    if sketch is not None:
        space = behind(sketch, space)
    L, others = len(own), len(own) + len(bystanders.classes)
    biases = np.delete(end.assignment.biases, slice(L, others))
    points, shifted = end.points, end.step.error_scale > SHIFTED
    return Signs(space, points[:L], points[L:others], points[others:], biases, bool(shifted))


def behind(sketch: Space, space: Space) -> Space:
    """Return the space of rows as they were: into the sketch, and from there into this space."""
    if sketch.matrix is None:
        return replace(space, scaling=sketch.scaling)
    # The basis B is orthonormal, so that (x − Bc)B = xB − c.
    basis = sketch.matrix
    return Space(sketch.scaling, basis @ space.center, basis @ space.full_matrix)
