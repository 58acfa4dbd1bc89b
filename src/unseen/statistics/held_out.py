"""What held-out seen classes tell: the best setting, and what probabilities are worth.

Some seen classes, drawn by the content of their vectors, take the place of the unseen ones. Folds
choose settings by them. In a rehearsal the method itself is fitted again without them and answers among
them: a transductive method with their rows as its pool, through the same rounds. Their labels are
known, so two things can be measured: the temperature and the doubt of names under which probabilities
agree with how often answers are right, and how much probability the classes have that are ranked above
the true one, which decides how large prediction sets must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize
from scipy.special import softmax

from unseen.rows.labelled import Rows, by_content
from unseen.solvers.row_space import SKETCH_COLUMNS, first_directions
from unseen.typing import Array, Codes, RowValues

POOL_REHEARSALS, POOL_HELD_SHARE = 4, 1 / 3
"""Rehearsals of a method that learns from a pool, and the share of the seen classes held out, at most.
With a fifth, answers among few classes are too good, and prediction sets too small."""

FOLD_REHEARSALS, FOLD_HELD_SHARE = 5, 1 / 5
"""The same for a method that does not. With a third, too few classes are left to learn from, and the
probabilities too timid. Both were chosen on folds of seen classes of nine data sets (tried: a third, a
fifth, an eighth)."""

LEAST_ROWS, MOST_ROWS = 30, 60
"""The fewest and the most rows of a class that a rehearsal learns from, if there are so many."""

MOST_ROWS_IN_DIRECTIONS = 200
"""The most where rows are given in few directions and cost little. A pool of hundreds of rows a class
is labelled better than one of sixty: on folds of seen classes of AwA1 and clinc150 the error of TASTE's
confidence is .076 instead of .091."""

FEWEST_HELD = 2
"""The fewest classes that are held out: with one, every answer is right."""

SET_QUANTILES = 1001
"""How many of the numbers that decide the size of prediction sets are kept."""

COVERAGE_SLACK = 0.05
"""How much less than asked prediction sets may cover in the hardest rehearsal. On three folds of seen
classes of ten data sets, sets at 0.9 of four methods then cover 0.90 instead of 0.88, and 8 instead of
15 of 120 pools are covered by less than 0.8 (tried: no such limit, 0.15, 0.1, 0.05)."""

TRUE_CLASS_WEIGHT = 0.3
"""How much the likelihood of the true class counts beside that of a right answer. Chosen on folds of
seen classes of eleven data sets (tried: 0, 0.3, 1, and the true class alone)."""

TEMPERATURE_PRIOR = 1e-6
"""The weight of (log temperature)² beside the mean loss. It decides only where the loss is flat: if
every held-out answer is right, any low temperature is equally likely, and rounding would choose one."""


def first_best(accuracy: Array) -> int:
    """Return the setting with the highest mean over folds, (folds, settings); ties go to the first.

    Means are rounded, so that the order in which classes were summed does not decide.
    """
    return int(np.round(accuracy.mean(axis=0), 9).argmax())


def fit_temperature(scores: Array, codes: Codes, weights: Array | None = None) -> float:
    """Return the T that makes softmax(scores / T) most likely, each class counting alike.

    Targets are smoothed as Platt's are: the true class of a class with n rows gets (n + 1)/(n + 2),
    the others share the rest, so that separable rows have a finite temperature too. The loss is convex
    in 1/T; its derivative has one root.
    """
    scale, classes = float(np.mean(scores.std(axis=1, dtype=float))), scores.shape[1]
    if not scale > 0 or classes < 2:
        return 1.0
    S = scores.astype(float) / scale
    S -= S.max(axis=1, keepdims=True)  # the root stays where it is, and no exponential overflows
    powers = np.empty_like(S)
    counts = np.bincount(codes, weights=weights, minlength=classes).astype(float)
    share = (1.0 if weights is None else weights) / counts[codes]
    slack = 1.0 / (counts[codes] + 2.0)
    own = np.take_along_axis(S, codes[:, None], axis=1).ravel()
    wanted = (1 - slack) * own + slack * (S.sum(axis=1) - own) / (classes - 1)

    def slope(log_beta: float) -> float:
        np.exp(np.multiply(S, np.exp(log_beta), out=powers), out=powers)
        expected = np.einsum("ij,ij->i", powers, S) / powers.sum(axis=1)
        return float((expected - wanted) @ share)

    low, high = -6.0, 12.0
    if slope(low) >= 0:  # the scores say nothing about the classes
        return scale * float(np.exp(-low))
    if slope(high) <= 0:
        return scale * float(np.exp(-high))
    return scale * float(np.exp(-optimize.brentq(slope, low, high, xtol=1e-13, rtol=1e-13)))


def mean_temperature(temperatures: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(temperatures)))))


class Calibration(NamedTuple):
    """Probabilities are (1 − doubt)·softmax(scores / temperature) + doubt/L."""

    temperature: float
    """How far a row's scores are to be trusted."""
    doubt: float
    """How often a whole class has the wrong name, whatever the scores of its rows say."""


def fit_calibration(answers: Sequence[tuple[Array, Codes]]) -> Calibration:
    """Return the calibration under which held-out answers are most likely.

    ``answers`` are scores (N, L) and true classes, one pair a rehearsal; rehearsals count alike. Two
    likelihoods are added: that the answer is right, which is what a user reads off a confidence, and,
    for ``TRUE_CLASS_WEIGHT`` of it, that of the true class, which orders the other classes. Where
    clusters are tight and names wrong, the second alone takes confidence for knowledge. The doubt
    minimises a convex loss at each temperature, which is searched for by a grid and Brent's method.
    Where the loss is flat, the temperature nearest to 1 is taken.
    """
    chance = np.concatenate([np.full(len(codes), 1 / scores.shape[1]) for scores, codes in answers])
    right = np.concatenate([scores.argmax(axis=1) == codes for scores, codes in answers])
    rows = np.concatenate([np.full(len(codes), float(len(codes))) for _, codes in answers])
    target = np.where(right, rows + 1, 1) / (rows + 2)  # smoothed as Platt's are
    weight = 1 / (rows * len(answers))

    def fitted(log_temperature: float) -> tuple[float, float]:
        P = [softmax(S * np.exp(-log_temperature), axis=1) for S, _ in answers]
        best = np.concatenate([own.max(axis=1) for own in P])
        true = np.concatenate(
            [own[np.arange(len(codes)), codes] for own, (_, codes) in zip(P, answers, strict=True)]
        )

        def loss(doubt: float) -> float:
            said = np.clip((1 - doubt) * best + doubt * chance, 1e-9, 1 - 1e-9)
            mixture = np.maximum((1 - doubt) * true + doubt * chance, 1e-300)
            gain = target * np.log(said) + (1 - target) * np.log1p(-said)
            return -float(weight @ (gain + TRUE_CLASS_WEIGHT * np.log(mixture)))

        found = optimize.minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded")
        doubt = float(found.x) if found.fun < loss(0.0) else 0.0
        return loss(doubt) + TEMPERATURE_PRIOR * log_temperature**2, doubt

    grid = np.linspace(-4.0, 3.0, 15)
    start = int(np.argmin([fitted(value)[0] for value in grid]))
    bounds = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(lambda v: fitted(v)[0], bounds=bounds, method="bounded")
    return Calibration(float(np.exp(found.x)), fitted(float(found.x))[1])


def mass_above(scores: Array, codes: Codes, calibration: Calibration) -> Array:
    """Return how much calibrated probability the classes have that are likelier than the true one."""
    P = softmax(scores / calibration.temperature, axis=1)
    P = (1 - calibration.doubt) * P + calibration.doubt / scores.shape[1]
    own = np.take_along_axis(P, codes[:, None], axis=1)
    return np.asarray(np.where(own < P, P, 0.0).sum(axis=1))


def sorted_masses(answers: Sequence[tuple[Array, Codes]], calibration: Calibration) -> Array:
    """Return quantiles of the calibrated mass of the classes above the true one, 0 to 1 in even steps.

    The quantile of all rows, with the finite-sample correction of split-conformal sets; but no less
    than what covers ``COVERAGE_SLACK`` less in each rehearsal. Rows of one class are right or wrong
    together, so that rehearsals differ by more than their rows would, and so will the pool.
    """
    masses = [mass_above(*answer, calibration) for answer in answers]
    rows, levels = sum(map(len, masses)), np.linspace(0, 1, SET_QUANTILES)
    corrected = np.minimum(levels * (rows + 1) / rows, 1.0)
    limits = np.quantile(np.concatenate(masses), corrected, method="higher")
    for own in masses:
        below = np.maximum(levels - COVERAGE_SLACK, 0.0)
        limits = np.maximum(limits, np.quantile(own, below, method="higher"))
    return np.asarray(limits)


class Answers(NamedTuple):
    """Scores of held-out rows over the held-out classes, and the true columns."""

    scores: Array
    codes: Codes
    unit: float
    """The spread of a row's scores, by which scores of two fits are compared: that of the pool where
    there is one, else that of labelled rows over the same classes."""


class Rehearsal(NamedTuple):
    """Rows to learn from and to answer for, when some seen classes are held out."""

    others: Codes
    """The classes that are not held out."""
    held: Codes
    learned: Rows
    """Rows of the others, coded by their place among them."""
    judged: Rows
    """Rows of the held-out classes, coded likewise."""
    shares: tuple[float, float]
    """The shares of the labelled rows and of the seen classes that the rehearsal learns from."""
    as_pool: bool
    """Whether the rows to answer for are the pool of the fit."""

    def training_input(self, classes: Array) -> tuple[Array, Array, Array | None]:
        """Return X, y and the weights for ``fit``; ``classes`` are the seen ones."""
        X, codes, weights = self.learned
        labels = classes[self.others][codes].astype(object)
        if not self.as_pool:
            return X, labels, weights
        size = len(self.judged.X)
        if weights is not None:
            weights = np.append(weights, np.ones(size, weights.dtype))
        pool_labels = np.full(size, None)
        return np.concatenate([X, self.judged.X]), np.concatenate([labels, pool_labels]), weights


class RehearsalPlan(NamedTuple):
    """Rehearsals, and the rows whose scores say what unit the fitted model's scores have."""

    rehearsals: Iterator[Rehearsal]
    """Each holds copies of rows, and is made when its turn comes."""
    compared: RowValues | None
    as_pool: bool


def plan_rehearsals(
    rows: Rows, pool: RowValues | None, vectors: Array, candidates: int, in_directions: bool
) -> RehearsalPlan:
    """Return the rehearsals of a fit; none where too few classes can be held out.

    Parameters
    ----------
    rows : Rows
        The labelled rows.
    pool : array or chunks of shape (M, p), optional
        The rows that the fitted model learned from without labels.
    vectors : array of shape (K, q)
        The vectors of the seen classes.
    candidates : int
        How many classes it answers among.
    in_directions : bool
        Whether rows may be given in their first principal directions alone.
    """
    pool_rows = 0 if pool is None else len(pool)
    as_pool = pool_rows > 0
    share, count = (POOL_HELD_SHARE, POOL_REHEARSALS)
    if not as_pool:
        share, count = FOLD_HELD_SHARE, FOLD_REHEARSALS
    size_held = min(max(candidates, FEWEST_HELD), int(len(vectors) * share + 1e-9))
    if size_held < FEWEST_HELD or candidates < 2:
        return RehearsalPlan(iter(()), pool, as_pool)
    most = MOST_ROWS_IN_DIRECTIONS if in_directions else MOST_ROWS
    size = int(np.clip(round(pool_rows / candidates), 1, most)) if as_pool else LEAST_ROWS
    sample: Rows = rows.thinned(max(size, LEAST_ROWS))
    few: Rows = sample.thinned(LEAST_ROWS)
    at_most = Rows.thinned
    if in_directions and min(sample.X.shape) > SKETCH_COLUMNS:
        order, at_most = by_content(sample.X), Rows.first
        sample = sample._replace(X=sample.X @ first_directions(sample.X)).take(order)

    def rehearsals() -> Iterator[Rehearsal]:
        for number in range(count):
            held = np.sort(by_content(vectors, number)[:size_held])
            others = np.setdiff1d(np.arange(len(vectors)), held)
            learned, judged = sample.of_classes(others), at_most(sample.of_classes(held), size)
            shares = len(learned.X) / len(rows.X), len(others) / len(vectors)
            yield Rehearsal(others, held, learned, judged, shares, as_pool)

    return RehearsalPlan(rehearsals(), pool if as_pool else few.X, as_pool)


class Rehearsed(NamedTuple):
    """What rehearsals say of probabilities and of prediction sets."""

    temperature: float
    """In units of the spread of a row's scores."""
    doubt: float
    """How often a whole class has the wrong name."""
    masses: Array
    """What prediction sets need; see ``sorted_masses``."""
    note: str
    """What probabilities were fitted on, in words."""

    @classmethod
    def of(cls, answers: Sequence[Answers], as_pool: bool) -> Rehearsed:
        """Calibrate on the answers of rehearsals."""
        scaled = [(scores / max(unit, 1e-300), codes) for scores, codes, unit in answers]
        calibration = fit_calibration(scaled)
        kind = " as the pool, through the same rounds" if as_pool else ", in class-wise folds"
        note = f"{len(answers)} rehearsals: held-out seen classes{kind}"
        return cls(*calibration, sorted_masses(scaled, calibration), note)
