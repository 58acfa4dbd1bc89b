"""The review of a pool: what held-out seen classes in its place tell about it, with no label of it.

Seen classes are held out, as many as there are candidates and with as many rows, and play the pool:
with every class present, with half of them, and with sizes from 50 to 1. Whether the pool's classes are
even is then a matter of likelihood: the evenness of its learned shares under even rehearsals against
that under uneven ones. Then probabilities are calibrated: seen classes are held out once more, in a
space that knows nothing of them, and labelled through the rounds that the pool will get. All of it is
done in a sketch: some of the rows, in few directions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from unseen.rows.labelled import Rows, by_content, sampled
from unseen.statistics.adaptation import (
    EVEN_TIE,
    FIRM_TIE,
    Assignment,
    Plan,
    State,
    adapt,
    start_of,
)
from unseen.statistics.held_out import fit_calibration, sorted_masses
from unseen.statistics.seen_model import (
    Candidates,
    SeenModel,
    candidates_of,
    model_of_sketch,
    sketched,
)
from unseen.statistics.visual_space import Pool
from unseen.typing import Array, Codes, RowValues

FEWEST_TO_REHEARSE = 6
"""Seen classes below which none can be held out."""

REHEARSALS = 6

SIZE_RATIO = 50.0
"""How many times as many rows the largest class of an uneven rehearsal has as the smallest."""

LEAST_DEVIATION = 0.03
"""Standard deviation of evenness at least, whatever few rehearsals show."""

LOG_ODDS = -2.0
"""Log-odds of an even pool before its evenness is seen. Equal shares cost more in an uneven pool than
they gain in an even one (tried on folds of seen classes: 0, −1, −2, −4)."""

STEEPNESS = 2.0
"""How fast belief in an even pool follows the evidence."""

LEAST_BELIEF = 0.01
"""Belief in an even pool below which learned shares are kept as they are."""

LEAST_SHARE = 1e-6
"""Of a class where shares are imposed: its logarithm is taken."""

LOSS_TO_REPORT = -0.01
"""The mean gain of rehearsals below which the review raises an alarm."""

CALIBRATION_ROWS = 600
"""Rows of a rehearsal on which probabilities are calibrated, at most."""

CALIBRATION_PARTS = 3, 5
"""Every second rehearsal of the calibration holds out a third of the seen classes at most, the others a
fifth: thirds leave fewer classes to learn from than the fit has, fifths ask for answers among fewer."""

SKETCH_ROWS, SKETCH_NUMBERS = 3000, 4_000_000
"""Rows of the pool that the review looks at, and numbers in them, at most; rehearsals have as many."""

LEAST_ROWS = 20
"""Labelled rows of a class that it looks at, if there are so many."""


@dataclass(frozen=True)
class Review:
    """What rehearsals say of a pool, one entry a rehearsal."""

    FILE_KEY = "review"

    start: Array
    """Accuracy before the rounds, every class present."""
    gains: Array
    """What the rounds gained: (rehearsals, 3) for all classes present, half of them, and 50:1."""
    rehearsed: Array
    """Evenness of learned shares, likewise."""
    temperature: float = 1.0
    """Of calibrated probabilities after the rounds, in units of the spread of a row's scores."""
    doubt: float = 0.0
    """How often whole classes bore the wrong name; see ``fit_calibration``."""
    masses: Array | None = None
    """What prediction sets need; see ``sorted_masses``."""
    evenness: float = float("nan")
    """Of the pool."""
    even: float = 0.0
    """Probability that the pool's classes are of like size; the weight of equal shares."""
    learned_shares: Array | None = None
    """Of the pool."""
    halfway: bool = False
    """Whether class shares are imposed halfway only."""

    def of_pool(self, value: float, learned_shares: Array) -> Review:
        """Return the review of a pool whose learned shares have this evenness."""
        full, *uneven = self.rehearsed.T
        deviation = max(float(full.std()), LEAST_DEVIATION)
        below = min(value - float(full.mean()), 0.0) / deviation
        evidence = []
        for kind in uneven:
            spread = max(float(kind.std()), LEAST_DEVIATION)
            above = max(min(value, float(full.mean())) - float(kind.mean()), 0.0) / spread
            evidence.append(0.5 * above**2 - 0.5 * below**2 - np.log(deviation / spread))
        even = float(expit(STEEPNESS * (min(evidence) + LOG_ODDS)))
        return replace(self, evenness=value, even=even, learned_shares=learned_shares)

    @property
    def shares(self) -> Array:
        """Class shares between the learned ones and equal ones."""
        assert self.learned_shares is not None
        shares = (1 - self.even) * self.learned_shares + self.even / len(self.learned_shares)
        shares = np.maximum(shares, LEAST_SHARE)
        return np.asarray(shares / shares.sum())

    def plan(self, plan: Plan) -> Plan:
        """Return rounds that meet these shares, or the same where the pool is not even at all."""
        if self.even < LEAST_BELIEF:
            return plan
        looser = self.even * (EVEN_TIE - FIRM_TIE) / (2 if self.halfway else 1)
        return plan._replace(shares=self.shares, tie=FIRM_TIE + looser, halfway=self.halfway)

    @property
    def alarms(self) -> dict[str, str]:
        """Name -> what is wrong with the pool, and what was done about it."""
        alarms = {}
        if self.even < 0.5 and not np.isnan(self.evenness):
            even, *uneven = self.rehearsed.mean(axis=0)
            alarms["uneven"] = (
                f"The pool's classes look uneven (evenness {self.evenness:.2f}; in rehearsals "
                f"{even:.2f} with every class present, {max(uneven):.2f} with classes missing or rare)."
                " Some candidates may have few rows or none. Class shares follow the pool."
            )
        if 0.1 < self.even < 0.9:
            alarms["undecided"] = (
                f"The pool's classes are even with probability {self.even:.2f}. Class shares are a "
                "blend of equal and learned ones. Give them by hand if you know them."
            )
        if float(self.gains.mean()) < LOSS_TO_REPORT:
            alarms["rehearsal"] = (
                f"Learning from the pool lost {-100 * float(self.gains.mean()):.1f} points of accuracy "
                "on average in rehearsals on held-out seen classes. Compare with an inductive method."
            )
        return alarms


def review_pool(
    rows: Rows,
    pool: RowValues,
    seen: Array,
    vectors: Array,
    rehearsals: int = REHEARSALS,
    calibrates: bool = False,
    halfway: bool = False,
) -> Review | None:
    """Review a pool whose candidates are all unseen; None where too few classes can be rehearsed.

    Parameters
    ----------
    rows : Rows
        The labelled rows.
    pool : array or chunks of shape (M, p)
    seen, vectors : arrays of shape (K, q) and (L, q)
        Semantics of the seen classes and of the candidates.
    rehearsals : int
    calibrates : bool
        Whether probabilities and prediction sets are calibrated as well.
    halfway : bool
        Whether class shares are to be imposed halfway only.
    """
    K, L = len(seen), len(vectors)
    if K < FEWEST_TO_REHEARSE or L < 2 or not len(pool) or not rehearsals:
        return None
    few = sampled(pool, min(SKETCH_ROWS, max(L * LEAST_ROWS, SKETCH_NUMBERS // rows.X.shape[1])))
    some: Rows = rows.thinned(max(LEAST_ROWS, -(-len(few) // min(L, K // 3))))
    order = by_content(some.X)
    some, few, sketch = sketched(some, few, some.thinned(LEAST_ROWS).X)
    some = some.take(order)
    model = model_of_sketch(some, seen, sketch)
    review = replace(rehearse(model, some, L, len(few), rehearsals), halfway=halfway)
    _, end = _adapted(model, candidates_of(model, vectors, np.full(L, -1)), few, Plan())
    review = review.of_pool(evenness(end.shares), end.shares)
    return _calibrated(review, some, model, L, len(few)) if calibrates else review


def _adapted(
    model: SeenModel, candidates: Candidates, X: Array, plan: Plan
) -> tuple[Assignment, State]:
    """Run the rounds on rows of the sketch; return the start and where they ended."""
    pool = Pool(X, model.space)
    start = start_of(model, candidates, pool, plan)
    *_, end = adapt(pool, candidates.prior, start, plan)
    return start, end


def rehearse(model: SeenModel, rows: Rows, candidates: int, pool_rows: int, rehearsals: int) -> Review:
    """Hold out seen classes, drawn by the content of their vectors, and run the rounds on them.

    The whitened spaces are those of all seen classes: held-out classes leave their trace there, which
    saves a factorisation for each rehearsal.
    """
    assert model.vectors is not None
    K = len(model.vectors)
    held = int(np.clip(candidates, 2, K // 3))
    size = max(1, round(pool_rows / candidates))
    sample = rows.first(size)
    results = []
    for number in range(rehearsals):
        order = by_content(model.vectors, number)
        results.append(_rehearsal(model, sample, order[:held]))
    start, gains, rehearsed = zip(*results, strict=True)
    return Review(np.array(start), np.array(gains), np.array(rehearsed))


def _rehearsal(model: SeenModel, sample: Rows, held: Array) -> tuple[float, list[float], list[float]]:
    """Return the start's accuracy, and gain and evenness of each kind of pool."""
    assert model.vectors is not None
    rest = model.restricted(np.setdiff1d(np.arange(len(model.vectors)), held))
    candidates = candidates_of(rest, model.vectors[held], np.full(len(held), -1))
    place = np.full(len(model.vectors), -1)
    place[held] = np.arange(len(held))
    held_rows = np.flatnonzero(place[sample.codes] >= 0)
    X, codes = sample.X[held_rows], place[sample.codes[held_rows]]
    starts, gains, rehearsed = [], [], []
    for chosen in _pools(codes, len(held)):
        start, end = _adapted(model, candidates, X[chosen], Plan())
        state = end.assignment
        starts.append(_accuracy(start.scores, codes[chosen], len(held)))
        accuracy = _accuracy(state.scores + state.biases, codes[chosen], len(held))
        gains.append(accuracy - starts[-1])
        rehearsed.append(evenness(end.shares))
    return starts[0], gains, rehearsed


def _calibrated(review: Review, rows: Rows, model: SeenModel, candidates: int, size: int) -> Review:
    """Return the review with what probabilities and prediction sets need."""
    seen, sketch = np.asarray(model.vectors), model.sketch
    sample = rows.first(max(1, round(size / candidates)))
    answers = []
    for number in range(len(review.start)):
        most = max(2, len(seen) // CALIBRATION_PARTS[number % len(CALIBRATION_PARTS)])
        order = by_content(seen, number)
        held = np.sort(order[: min(candidates, most)])
        others = np.setdiff1d(np.arange(len(seen)), held)
        rest = model_of_sketch(rows.of_classes(others), seen[others], sketch)
        answers.append(_answers(review, rest, sample.of_classes(held), seen[held]))
    calibration = fit_calibration(answers)
    return replace(review, **calibration._asdict(), masses=sorted_masses(answers, calibration))


def _answers(review: Review, model: SeenModel, judged: Rows, vectors: Array) -> tuple[Array, Codes]:
    """Label rows of held-out classes through the rounds of the reviewed pool; return scores and truth.

    The model's spaces know nothing of these classes: the scatter of their rows about the true class
    means would tell the labels.
    """
    candidates = candidates_of(model, vectors, np.full(len(vectors), -1))
    shares = np.full(len(vectors), 1 / len(vectors))
    if LEAST_BELIEF <= review.even <= 1 - LEAST_BELIEF:
        shares = _adapted(model, candidates, judged.X, Plan())[1].shares
    plan = replace(review, learned_shares=shares).plan(Plan())
    _, end = _adapted(model, candidates, judged.X, plan)
    S = end.assignment.scores + end.assignment.biases
    few = slice(CALIBRATION_ROWS)
    return S[few] / max(float(S.std(axis=1).mean()), 1e-12), judged.codes[few]


def _pools(codes: Array, classes: int) -> list[Array]:
    """Return rows with every class present, with half of them, and with sizes from 50 to 1."""
    order = np.argsort(codes, kind="stable")
    by_class = np.split(order, np.searchsorted(codes[order], np.arange(1, classes)))
    fewest = min(map(len, by_class))
    sizes = fewest * SIZE_RATIO ** -np.linspace(0, 1, classes)
    tail = [rows[: max(1, round(n))] for rows, n in zip(by_class, sizes, strict=True)]
    return [np.concatenate(part) for part in (by_class, by_class[: max(1, classes // 2)], tail)]


def _accuracy(S: Array, codes: Array, classes: int) -> float:
    return float(np.nanmean(Rows(S.argmax(axis=1) == codes, codes).shares_right(classes)))


def evenness(shares: Array) -> float:
    """Return the effective number of classes, as a share of all: exp(entropy of the shares) / L.

    It is 1 for equal shares, and ½ when half of the classes share all.
    """
    p = shares[shares > 0]
    return min(1.0, float(np.exp(-(p @ np.log(p)))) / len(shares))
