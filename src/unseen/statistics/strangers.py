"""Strangers: rows of the pool that belong to no candidate.

What their signs mean is learned in rehearsals: seen classes are held out, most of them play candidates,
the rest classes that nobody named; held-out rows of the other seen classes are strangers as well. The
same rehearsals tell which rounds answer better for the rows of candidates: those of the estimator, or
rounds beside bystanders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unseen.rows.labelled import Rows, content_keys, places_in_class
from unseen.solvers.row_space import SKETCH_COLUMNS, first_directions
from unseen.statistics.adaptation import (
    EVEN_TIE,
    FIRM_TIE,
    SHIFT_DISCOUNT,
    SHIFTED,
    Plan,
    adapt,
    measured,
    start_of,
)
from unseen.statistics.bystanders import bystanders_of, labels_beside_bystanders
from unseen.statistics.seen_model import Prior, SeenModel, candidates_of, seen_model
from unseen.statistics.stranger_signs import (
    SignScale,
    standard_signs,
    stranger_signs,
    usual_signs,
)
from unseen.statistics.visual_space import Pool, Space, scaled_rows, seen_statistics, usual_scaling
from unseen.typing import Array, Codes, Mask

FEWEST_CLASSES = 10
"""Seen classes below which no stranger can be rehearsed."""

REHEARSALS, HELD_SHARE, UNNAMED_SHARE = 4, 1 / 3, 1 / 5
"""How many rehearsals, which share of the seen classes they hold out, at most, and which share of these
plays classes that nobody named."""

HELD_OUT_ROWS = 5
"""Of each seen class one row in so many is kept from the class means: the strangers of rehearsals."""

MOST_ROWS = 60
"""Rows of a class that a rehearsal uses, at most."""

PASSES = 1
"""How often class means are taken again, each row counting by its probability of being no stranger."""

MOST_LOST = 0.02
"""How much accuracy rounds beside bystanders may lose in rehearsals without strangers. On three folds
of seen classes of eleven data sets, accuracy beside classes that nobody named is then 1.1 points below
that without them, beside rows of seen classes 0.6 and in pools without strangers 0.1 (with the
estimator's own rounds always: 3.5, 1.2 and 0.2; without this limit: 0.5, 0.8 and 0.3)."""


@dataclass(frozen=True)
class StrangerModel:
    """What tells strangers from the rows of candidates."""

    FILE_KEY = "stranger-model"
    judges_rows: ClassVar[bool] = True
    """Whether it looks at rows, which no fit changes, or at their distances to the classes of one."""

    space: Space
    """In which rows are compared with points."""
    points: Array
    """The candidates, (L, d)."""
    others: Array
    """The seen classes that are no candidates, (K, d)."""
    usual: Array
    """Median and median deviation of both signs in the pool, (2, 2)."""
    scale: SignScale
    share: float
    """Of strangers in the pool; given or learned."""
    threshold: float
    """The sign above which a row is called a stranger."""
    gains_beside: Array | None = None
    """By how much rounds beside bystanders were more accurate than the estimator's own in rehearsals:
    the share of right answers for the rows of candidates, by class, in pools with strangers and in
    pools without, (2,). None where they were not compared."""

    @property
    def beside_bystanders(self) -> bool:
        """Whether rounds beside bystanders are the better ones."""
        if self.gains_beside is None:
            return False
        with_strangers, without = self.gains_beside
        return bool(with_strangers > 0 and without >= -MOST_LOST)

    def sign(self, X: Array) -> Array:
        """Return the sign of being a stranger, one number a row."""
        return self.scale(
            standard_signs(stranger_signs(self.space(X), self.points, self.others), self.usual)
        )

    def probabilities(self, X: Array) -> Array:
        """Return the probability of being a stranger."""
        return self.scale.probabilities(self.sign(X), self.share)

    def called(self, X: Array) -> Mask:
        """Tell which rows are called strangers."""
        return np.asarray(self.sign(X) > self.threshold)


class _View(NamedTuple):
    """Rows and classes as the detector sees them."""

    prior: Prior
    others: Array
    """Means of the seen classes that are no candidates, in the space of the model."""

    def signs(self, Z: Array, labels: Array) -> tuple[Array, Array, Array]:
        """Take class means by soft labels; return signs, the metric's root and the points.

        ``Z`` are rows in the whitened space of the model.
        """
        mass, sums = labels.sum(axis=0), labels.T @ Z
        tie = FIRM_TIE * max(1.0, self.prior.error_scale(mass, sums) / SHIFT_DISCOUNT)
        means, metric = self.prior.posterior(mass, sums, tie)
        identity = Space("none", np.zeros(Z.shape[1]), np.eye(Z.shape[1]))
        root = measured(identity, metric).full_matrix
        return stranger_signs(Z @ root, means @ root, self.others @ root), root, means @ root


def fit_strangers(
    rows: Rows,
    pool: Any,
    seen: Array,
    vectors: Array,
    own: Codes,
    share: float | None,
    even: bool | None = None,
) -> StrangerModel:
    """Learn what tells strangers.

    Parameters
    ----------
    rows : Rows
        The labelled rows.
    pool : array of shape (M, p)
    seen, vectors : arrays of shape (K, q) and (L, q)
        Semantics of the seen classes and of the candidates.
    own : array of shape (L,)
        The place of each candidate among the seen classes, -1 for an unseen one.
    share : float, optional
        Of strangers in the pool; None: it is learned.
    even : bool, optional
        Whether the estimator's own rounds impose equal class shares, if it can run rounds beside
        bystanders in their place; None: it cannot. In a pool of another domain they are not compared.
    """
    scaling = usual_scaling(rows.X)
    sample = rows.thinned(MOST_ROWS)
    X = np.asarray(scaled_rows(sample.X, scaling))
    basis = first_directions(X) if min(X.shape) > SKETCH_COLUMNS else np.eye(X.shape[1], dtype=X.dtype)
    learned = _kept_for_means(sample)
    sketch = Rows(X @ basis, sample.codes)
    model = seen_model(
        seen_statistics(sketch.take(np.flatnonzero(learned)), len(seen), "none"), seen, None, X.dtype
    )
    size = int(np.clip(round(len(pool) / len(vectors)), 3, MOST_ROWS))
    sketched = np.asarray(scaled_rows(pool, scaling)) @ basis
    prior, labels = labels_beside_bystanders(model, Pool(sketched, model.space), vectors, own)
    others = bystanders_of(len(seen), own)
    view = _View(prior, model.space.of_means(model.means[others]))
    Z = np.asarray(model.space(sketched), dtype=float)
    if prior.error_scale(labels.sum(axis=0), labels.T @ Z) > SHIFTED:
        even = None  # the pool is of another domain: rehearsals cannot tell which rounds are better
    scale, gains = _rehearse(model, sketch, learned, len(vectors), size, even)
    weight = np.ones(len(Z))
    for _ in range(PASSES + 1):
        signs, root, points = view.signs(Z, labels * weight[:, None])
        usual = usual_signs(signs)
        sign = scale(standard_signs(signs, usual))
        found = scale.learned_share(sign) if share is None else share
        weight = 1 - scale.probabilities(sign, found)
    threshold = scale.threshold(sign) if share is None else float(np.quantile(sign, 1 - share))
    # The basis is orthonormal, so that (x − basis·c)·basis = x·basis − c.
    space = Space(scaling, basis @ model.space.center, basis @ model.space.full_matrix @ root)
    return StrangerModel(space, points, view.others @ root, usual, scale, found, threshold, gains)


def _kept_for_means(sample: Rows) -> Mask:
    """Mark the rows that class means are taken of: all but one in ``HELD_OUT_ROWS`` of each class."""
    return np.asarray(places_in_class(sample.X, sample.codes) % HELD_OUT_ROWS != HELD_OUT_ROWS - 1)


def _rehearse(
    model: SeenModel, sketch: Rows, learned: Mask, candidates: int, size: int, even: bool | None
) -> tuple[SignScale, Array | None]:
    """Learn what signs mean, and what rounds beside bystanders gain with strangers and without."""
    assert model.vectors is not None
    K = len(model.vectors)
    if K < FEWEST_CLASSES:
        raise ValueError(
            f"Strangers need labelled rows of at least {FEWEST_CLASSES} seen classes: some of them "
            f"play strangers in rehearsals. Got {K}. Label rows of more classes, or set strangers=None."
        )
    held = min(max(3, round(candidates / (1 - UNNAMED_SHARE))), int(K * HELD_SHARE))
    rehearsed = []
    for number in range(REHEARSALS):
        order = np.argsort(content_keys(model.vectors, number), kind="stable")[:held]
        unnamed = max(1, round(UNNAMED_SHARE * held))
        rehearsed.append(_rehearsal(model, sketch, learned, order[unnamed:], order, size, even))
    signs, strange, alone, gains = zip(*rehearsed, strict=True)
    scale = SignScale.learned(np.concatenate(signs), np.concatenate(strange), alone)
    return scale, None if even is None else np.mean(gains, axis=0)


class _Rehearsal(NamedTuple):
    """What a pool of held-out seen classes shows, beside strangers and without any."""

    signs: Array
    """Standard signs beside strangers, (N, 2)."""
    strange: Mask
    """Which of these rows are strangers."""
    alone: Array
    """Standard signs without strangers, (M, 2)."""
    gains: list[float]
    """Of rounds beside bystanders, with strangers and without; empty where they are not compared."""


def _rehearsal(
    model: SeenModel,
    sketch: Rows,
    learned: Mask,
    named: Codes,
    held: Codes,
    size: int,
    even: bool | None,
) -> _Rehearsal:
    """Hold out classes, of which some are named and play candidates."""
    assert model.vectors is not None
    rest = np.setdiff1d(np.arange(len(model.vectors)), held)
    without_held, others = model.restricted(rest), model.space.of_means(model.means[rest])
    own = sketch.of_classes(np.sort(held)).thinned(size)
    place = np.full(len(model.vectors), -1)
    place[named] = np.arange(len(named))
    own_places = place[np.sort(held)[own.codes]]
    spare = sketch.take(np.flatnonzero(np.isin(sketch.codes, rest) & ~learned))
    known, unnamed, codes = own.X[own_places >= 0], own.X[own_places < 0], own_places[own_places >= 0]
    few = np.argsort(content_keys(spare.X), kind="stable")[: len(unnamed)]
    pool = np.concatenate([known, unnamed, spare.X[few]])
    unseen = model.vectors[named], np.full(len(named), -1)
    found, gains = [], []
    for X in (pool, known):
        rehearsed = Pool(X, model.space)
        prior, labels = labels_beside_bystanders(without_held, rehearsed, *unseen)
        signs, *_ = _View(prior, others).signs(np.asarray(model.space(X), dtype=float), labels)
        found.append(standard_signs(signs, usual_signs(signs)))
        if even is not None:
            own_labels = _labels_of_own_rounds(without_held, rehearsed, *unseen, even)
            gains.append(_accuracy(labels, codes) - _accuracy(own_labels, codes))
    strange = np.arange(len(pool)) >= len(known)
    return _Rehearsal(found[0], strange, found[1], gains)


def _labels_of_own_rounds(
    model: SeenModel, pool: Pool, vectors: Array, own: Codes, even: bool
) -> Array:
    """Label a pool as an estimator does that looks for no strangers; return soft labels, (N, L)."""
    candidates = candidates_of(model, vectors, own)
    plan = Plan(np.full(len(vectors), 1 / len(vectors)), EVEN_TIE) if even else Plan()
    start = start_of(model, candidates, pool, plan.shares)
    *_, end = adapt(pool, candidates.prior, start, plan)
    return np.asarray(end.assignment.labels)


def _accuracy(labels: Array, codes: Codes) -> float:
    """Return the share of right answers for the first rows of a pool, the mean of their classes."""
    answers = labels[: len(codes)].argmax(axis=1)
    return float(np.mean(Rows(answers == codes, codes).shares_right(labels.shape[1])))
