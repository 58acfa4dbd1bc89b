"""Rehearsal: held-out seen classes play the unlabelled pool, to learn what adaptation is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.numerics.evaluation import evenness, fit_temperature, per_class_accuracy
from unseen.numerics.folds import Rows, class_folds
from unseen.numerics.gaussian import ROUNDS, Adaptation, Prior, adapt, scores
from unseen.numerics.predicted import Predictor, fit_predictor
from unseen.numerics.rows import class_sums, class_weights, gram, within_class_scatter
from unseen.numerics.whitening import Whitening

Array = npt.NDArray[Any]

FEWEST_TO_REHEARSE = 6
"""Seen classes below which none can be held out."""

FIRMNESS = 2.0
"""How much tighter the tie is than the errors of prediction suggest. On folds of seen classes it costs
½ point with all candidates present and gains 1 with half of them (tried: 1, 2, 3, 25)."""

CAUTION = 25.0
"""The same for the cautious tie, which knows no common shift either."""

OFFSET = 1.0
"""Variance of a shift that all classes share, in units of a class's own variance."""

MOST_ROWS = 4000
"""Rows of a rehearsal's pool: more would take time and change little."""

TAIL = 50.0
"""How many times as many rows the largest class of an uneven rehearsal has as the smallest."""

EVEN = 0.7
"""How far from uneven to even rehearsals a pool must be to count as even. On nested folds of CUB and
AwA1 (0.4, 0.5, 0.6, 0.7, 0.8 tried), 3, 2, 2, 1 and 0 of 105 pools lost more than a point, and no even
pool was held back; from 0.8, small ones were."""

EQUAL_GAIN = 0.015
"""What equal class shares must gain in rehearsal, over learned ones, to be imposed on the pool."""

TOLERATED_LOSS = 0.02
"""What adaptation may lose in rehearsal, so many standard deviations below the mean gain:"""
DEVIATIONS, STRICT_DEVIATIONS = 1.0, 1.5

SHIFTED = 2.0
"""A pool this many times farther from its predicted prototypes than rehearsals were is shifted."""


class SeenModel(NamedTuple):
    """All that labelled rows tell: the whitening, the class means in it, and the predictor."""

    whitening: Whitening
    means: Array
    counts: Array
    predictor: Predictor | None

    def prior(self, vectors: Array, own: Array, cautious: bool) -> Prior:
        """Tie candidates to their own means (``own`` ≥ 0: the seen class) or to predictions."""
        known = own >= 0
        prototypes = np.empty((len(own), self.means.shape[1]), dtype=self.means.dtype)
        prototypes[known] = self.means[own[known]]
        rows = np.zeros(len(own))
        # Beside predicted classes, those with labelled rows stay where they are: they would drift into
        # rows of unseen classes, and far better known as they are, would draw all of them.
        held = not known.all()
        rows[known] = np.inf if held else np.maximum(self.counts[own[known]], 1e-9)
        if self.predictor is None:
            nothing = np.zeros((len(self.means[0]), 0), dtype=self.means.dtype)
            return Prior(prototypes, rows, np.zeros((0, 0)), nothing, nothing[0], 1.0)
        foretold = self.predictor
        prototypes[~known] = foretold.prototypes(vectors[~known])
        C = foretold.class_covariance(vectors[~known])
        shift = OFFSET * float(np.trace(C)) / max(len(C), 1)
        C = C / CAUTION if cautious else (C + shift) / FIRMNESS
        law = foretold.basis, foretold.variances, foretold.rest
        return Prior(prototypes, rows, C, *law)


def seen_model(
    moments: Array,
    sums: Array,
    counts: Array,
    vectors: Array | None,
    shrinkage: float | None,
    dtype: Any,
) -> SeenModel:
    """Build the model from XᵀX, class sums (p, K) and class sizes; ``vectors`` None: one-hot."""
    freedom = float(counts.sum()) - len(counts)
    means = (sums / counts).T
    center = means.mean(axis=0)
    scatter = within_class_scatter(moments, sums, counts)
    whitening = Whitening.of(scatter, freedom, center, shrinkage, dtype)
    white = whitening(means.astype(dtype))
    predictor = None if vectors is None else fit_predictor(white, counts, vectors)
    return SeenModel(whitening, white, counts, predictor)


class Verdict(NamedTuple):
    """What rehearsals advise for a pool."""

    adapt: bool
    equal: bool
    """Impose equal class shares."""
    alarm: str | None
    """"uneven" or "rehearsal": why adaptation is held back, or is made with care."""


@dataclass(frozen=True)
class Rehearsal:
    """What the rehearsed pools gained over their start in accuracy, one entry a fold."""

    temperature: float
    start: Array
    """Accuracy before adaptation."""
    learned: Array
    """Gain with learned class shares."""
    equal: Array
    """Gain with equal class shares imposed."""
    half: Array
    """Gain, shares learned, when half of the candidates have no row."""
    tail: Array
    """Gain, shares learned, when class sizes fall from 50 to 1."""
    evenness: Array
    half_evenness: Array
    tail_evenness: Array
    shift: Array
    """How far the pool lay from its predicted prototypes as a whole."""

    @property
    def least_evenness(self) -> float:
        """Between rehearsals with even classes and those with uneven ones, nearer to the even."""
        uneven = max(self.half_evenness.mean(), self.tail_evenness.mean())
        return float(EVEN * self.evenness.mean() + (1 - EVEN) * uneven)

    def verdict(
        self,
        evenness: float | None,
        shift: float,
        equal: bool | None,
        deviations: float = DEVIATIONS,
    ) -> Verdict:
        """Say what to do with a pool.

        Parameters
        ----------
        evenness : float or None
            Of the pool; None where class sizes are not to be judged.
        shift : float
            Of the pool, in units of the rehearsals' mean. A shift of domain is what seen classes
            cannot rehearse and what adaptation is best at: it is made then unless it did harm.
        equal : bool or None
            Whether equal class shares are imposed; None: as rehearsals advise.
        deviations : float
            How many standard deviations below its mean a gain must still be no loss.
        """
        if evenness is not None and evenness < self.least_evenness:
            pays = all(_pays(gains, STRICT_DEVIATIONS) for gains in (self.half, self.tail))
            return Verdict(pays, False, "uneven")
        choices = [bool(equal)]
        if equal is None and float((self.equal - self.learned).mean()) > EQUAL_GAIN:
            choices = [True, False]
        for choice in choices:
            gains = self.equal if choice else self.learned
            harm = float(np.sqrt(np.mean(np.minimum(gains, 0.0) ** 2)))
            if _pays(gains, deviations) or (shift > SHIFTED and harm <= TOLERATED_LOSS):
                return Verdict(True, choice, None)
        return Verdict(False, False, "rehearsal")


def _pays(gains: Array, deviations: float) -> bool:
    return float(gains.mean() - deviations * gains.std()) >= -TOLERATED_LOSS


def observe(Z: Array, prior: Prior, report: Rehearsal, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the evenness of a whitened pool, and its shift in units of the rehearsals'."""
    free = adapt(Z, prior, None, rounds, learn_shares=True)
    shift = prior.shift(Z, scores(Z, prior.prototypes).argmax(axis=1))
    return _evenness(free), shift / float(report.shift.mean())


def _evenness(found: Adaptation) -> float:
    return evenness(found.assignment.Q.mean(axis=0, dtype=float))


def rehearse(
    rows: Rows,
    vectors: Array,
    moments: Array,
    shrinkage: float | None,
    candidates: int,
    pool_rows: int,
    folds: int,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Rehearsal:
    """Hold out seen classes, as many as there are candidates, with as many rows as the pool has."""
    K = len(vectors)
    held = int(np.clip(candidates, 2, K // 3))
    size = min(pool_rows / candidates * held, MOST_ROWS)
    sums = class_sums(rows.X, rows.codes, K, rows.weights)
    counts = class_weights(rows.codes, K, rows.weights)
    draws = -(-folds // (K // held))
    parts = [part for d in range(draws) for part in class_folds(K, K // held, seed + d)][:folds]
    results = []
    for number, part in enumerate(parts):
        away = rows.of_classes(part)
        kept = np.setdiff1d(np.arange(K), part)
        rest = moments - gram(away.X, away.weights)
        model = seen_model(rest, sums[:, kept], counts[kept], vectors[kept], shrinkage, rows.X.dtype)
        rng = np.random.default_rng([seed, number])
        pool = away.share(min(1.0, size / len(away.X)), rng)
        results.append(_one(model, vectors[part], model.whitening(pool.X), pool.codes, rounds, rng))
    logs, *columns = np.array(results).T
    return Rehearsal(float(np.exp(logs.mean())), *columns)


def _one(
    model: SeenModel, vectors: Array, Z: Array, codes: Array, rounds: int, rng: np.random.Generator
) -> list[float]:
    """Return the log of a fold's temperature, and its entry in every column of a Rehearsal."""
    L = len(vectors)
    prior = model.prior(vectors, np.full(L, -1), False)
    first = scores(Z, prior.prototypes).argmax(axis=1)

    def accuracy(predicted: Array, rows: Array) -> float:
        hits = predicted == codes[rows]
        return float(np.nanmean(per_class_accuracy(codes[rows], hits, L)))

    def gain(rows: Array, equal: bool = False) -> tuple[float, Adaptation]:
        shares = np.full(L, 1 / L) if equal else None
        found = adapt(Z[rows], prior, shares, rounds, learn_shares=not equal)
        labels = found.assignment.Q.argmax(axis=1)
        return accuracy(labels, rows) - accuracy(first[rows], rows), found

    every = np.arange(len(Z))
    learned, whole = gain(every)
    equal, _ = gain(every, equal=True)
    half, half_found = gain(np.flatnonzero(np.isin(codes, rng.permutation(L)[: max(1, L // 2)])))
    tail, tail_found = gain(_tail(codes, L, rng))
    few = rng.permutation(len(Z))[:500]
    temperature = fit_temperature(scores(Z[few], whole.means), codes[few], L)
    return [
        float(np.log(temperature)),
        accuracy(first, every),
        learned,
        equal,
        half,
        tail,
        _evenness(whole),
        _evenness(half_found),
        _evenness(tail_found),
        prior.shift(Z, first),
    ]


def _tail(codes: Array, classes: int, rng: np.random.Generator) -> Array:
    """Return rows such that class sizes fall evenly, on the scale of logarithms, from TAIL to 1."""
    shares = TAIL ** -np.linspace(0, 1, classes)
    chosen = []
    for k, share in zip(rng.permutation(classes), shares, strict=True):
        own = np.flatnonzero(codes == k)
        chosen.append(rng.permutation(own)[: max(1, round(share * len(own)))])
    return np.sort(np.concatenate(chosen))
