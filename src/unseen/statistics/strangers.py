"""Strangers: rows of the pool that belong to no candidate.

Three signs tell a stranger: a seen class that is no candidate explains it better than every candidate
does, it is far from every candidate, or a class without a name takes it. The first two are in units of
the pool's own spread. How much each counts, and how large they get without strangers, is learned in
rehearsals: seen classes are held out, most of them play candidates, the rest classes that nobody named;
held-out rows of the other seen classes are strangers as well.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unseen.rows.labelled import Rows, by_content, sampled
from unseen.statistics.seen_model import SeenModel, model_of_sketch, sketched
from unseen.statistics.stranger_signs import Signs, signs_of, standard_signs, usual_signs
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

LEAST_RISE = 0.1
"""The least unit of a sign, where it is the same for nearly all rows."""

TAIL_SHARES = np.geomspace(0.005, 0.2, 24)
"""Shares of the rows with the largest signs. For each the threshold is known that no larger share of
the rows exceeds in any rehearsal without strangers."""

FALSE_AMONG_CALLED = 0.1
"""Rows are called strangers above the lowest threshold above which the pool has so many rows that those
to be expected without strangers are at most this share of them, and none if there is no such threshold
(Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995). On three folds of seen
classes of eleven data sets, 0.1, 0.2 and 0.3 call 0, 0.2 and 0.4 % of the rows where there is no
stranger, at most 0, 1.8 and 2.7 % on one set; they call 19, 25 and 34 % of the rows of seen classes
that are no candidates, and with them 0.1, 0.3 and 1.0 % of the others."""

REHEARSED_SHARE = 0.2
"""The share of strangers for which log-odds hold."""

LEAST_SHARE, MOST_SHARE = 1e-3, 0.7
"""Bounds of the learned share of strangers."""


@dataclass(frozen=True)
class SignScale:
    """What rehearsals say of signs."""

    FILE_KEY = "stranger-sign-scale"

    middle: Array
    """Of the standard signs without strangers: medians, (3,)."""
    rise: Array
    """How far the largest hundredth is above the median, or the deviation if that is more, (3,)."""
    weights: Array
    """Of the signs, in these units, (3,)."""
    constant: float
    """The weighted sum and this constant are the log-odds, for ``REHEARSED_SHARE`` of strangers."""
    tail: Array
    """The sign that each of ``TAIL_SHARES`` of the rows exceeds, at most, without strangers."""

    def __call__(self, standard: Array) -> Array:
        """Return one sign a row, the log-odds of being a stranger."""
        return np.asarray((standard - self.middle) / self.rise @ self.weights + self.constant)

    def probabilities(self, sign: Array, share: float) -> Array:
        """Return the probability of being a stranger where so many are."""
        shift = np.log(share / (1 - share)) - np.log(REHEARSED_SHARE / (1 - REHEARSED_SHARE))
        return np.asarray(expit(sign + shift))

    def learned_share(self, sign: Array) -> float:
        """Return the share of strangers: what the tail of the pool has too much of."""
        excess = (self._above(sign) - TAIL_SHARES) / (1 - TAIL_SHARES)
        return float(np.clip(excess.max(), LEAST_SHARE, MOST_SHARE))

    def threshold(self, sign: Array) -> float:
        """Return the sign above which rows of a pool are called strangers; ∞: none is."""
        sure = np.flatnonzero(FALSE_AMONG_CALLED * self._above(sign) >= TAIL_SHARES)
        return float(self.tail[sure[-1]]) if len(sure) else float("inf")

    def _above(self, sign: Array) -> Array:
        """Return the share of the rows above each threshold of the tail."""
        return np.asarray((sign[:, None] > self.tail).mean(axis=0))


@dataclass(frozen=True)
class StrangerModel:
    """What tells strangers from the rows of candidates."""

    FILE_KEY = "stranger-model"
    judges_rows: ClassVar[bool] = True
    """Whether it looks at rows, which no fit changes, or at their distances to the classes of one."""

    signs: Signs
    usual: Array
    """Median and median deviation of the first two signs in the pool, (2, 2)."""
    scale: SignScale
    share: float
    """Of strangers in the pool; given or learned."""
    threshold: float
    """The sign above which a row is called a stranger."""

    @property
    def other_domain(self) -> bool:
        """Whether the pool is of another domain than the labelled rows."""
        return self.signs.other_domain

    def sign(self, X: Array) -> Array:
        """Return the sign of being a stranger, one number a row."""
        return self.scale(standard_signs(self.signs(X), self.usual))

    def probabilities(self, X: Array) -> Array:
        """Return the probability of being a stranger."""
        return self.scale.probabilities(self.sign(X), self.share)

    def called(self, X: Array) -> Mask:
        """Tell which rows are called strangers."""
        return np.asarray(self.sign(X) > self.threshold)


def fit_strangers(
    rows: Rows, pool: Any, seen: Array, vectors: Array, own: Codes, share: float | None
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
        Of strangers in the pool; None: it is learned, and in a pool of another domain no row is called.
    """
    sample: Rows = rows.thinned(MOST_ROWS)
    order = by_content(sample.X)
    few, sketched_pool, sketch = sketched(sample, sampled(pool, len(pool)), sample.X)
    few = few.take(order)
    learned = _kept_for_means(few)
    model = model_of_sketch(few.take(np.flatnonzero(learned)), seen, sketch)
    size = int(np.clip(round(len(pool) / len(vectors)), 3, MOST_ROWS))
    scale = _rehearse(model, few, learned, len(vectors), size)
    signs = signs_of(model, sketched_pool, vectors, own, sketch)
    found_signs = signs(pool)
    usual = usual_signs(found_signs)
    sign = scale(standard_signs(found_signs, usual))
    if share is not None:
        found, threshold = share, float(np.quantile(sign, 1 - share))
    elif signs.other_domain:
        found, threshold = LEAST_SHARE, float("inf")
    else:
        found, threshold = scale.learned_share(sign), scale.threshold(sign)
    return StrangerModel(signs, usual, scale, found, threshold)


def _kept_for_means(sketch: Rows) -> Mask:
    """Mark the rows that class means are taken of: all but one in ``HELD_OUT_ROWS`` of each class."""
    return np.asarray(sketch.places() % HELD_OUT_ROWS != HELD_OUT_ROWS - 1)


def _rehearse(model: SeenModel, sketch: Rows, learned: Mask, candidates: int, size: int) -> SignScale:
    """Learn what signs mean."""
    assert model.vectors is not None
    K = len(model.vectors)
    if K < FEWEST_CLASSES:
        raise ValueError(
            f"Strangers need labelled rows of at least {FEWEST_CLASSES} seen classes: some of them "
            f"play strangers in rehearsals. Got {K}. Label rows of more classes, or set strangers=None."
        )
    held = min(max(3, round(candidates / (1 - UNNAMED_SHARE))), int(K * HELD_SHARE))
    pairs, alone = [], []
    for number in range(REHEARSALS):
        order = by_content(model.vectors, number)[:held]
        unnamed = max(1, round(UNNAMED_SHARE * held))
        with_strangers, without = _rehearsal(model, sketch, learned, order[unnamed:], order, size)
        pairs.append(with_strangers)
        alone.append(without)
    signs, strange = (np.concatenate(part) for part in zip(*pairs, strict=True))
    usual = np.concatenate(alone)
    middle = np.median(usual, axis=0)
    rise = np.maximum(np.quantile(usual, 0.99, axis=0) - middle, usual.std(axis=0))
    rise = np.maximum(rise, LEAST_RISE)
    wanted = np.where(strange, REHEARSED_SHARE, 1 - REHEARSED_SHARE)
    balance = wanted / np.where(strange, strange.mean(), 1 - strange.mean())
    odds = LogisticRegression().fit((signs - middle) / rise, strange, sample_weight=balance)
    weights = np.maximum(odds.coef_[0], 0.0)  # a sign never speaks against a stranger
    scale = SignScale(middle, rise, weights, float(odds.intercept_[0]), TAIL_SHARES)
    tails = [np.quantile(scale(own), 1 - TAIL_SHARES, method="higher") for own in alone]
    return dataclasses.replace(scale, tail=np.max(tails, axis=0))


def _rehearsal(
    model: SeenModel, sketch: Rows, learned: Mask, named: Codes, held: Codes, size: int
) -> tuple[tuple[Array, Mask], Array]:
    """Return standard signs and which rows are strangers; standard signs of a pool without any."""
    assert model.vectors is not None
    rest = np.setdiff1d(np.arange(len(model.vectors)), held)
    own = sketch.of_classes(np.sort(held)).first(size)
    is_named = np.isin(np.sort(held)[own.codes], named)
    spare = sketch.take(np.flatnonzero(np.isin(sketch.codes, rest) & ~learned))
    known, unnamed = own.X[is_named], own.X[~is_named]
    pool = np.concatenate([known, unnamed, spare.X[: len(unnamed)]])
    strange = np.arange(len(pool)) >= len(known)
    found = []
    for X in (pool, known):
        unseen = model.vectors[named], np.full(len(named), -1)
        signs = signs_of(model.restricted(rest), X, *unseen)(X)
        found.append(standard_signs(signs, usual_signs(signs)))
    return (found[0], strange), found[1]
