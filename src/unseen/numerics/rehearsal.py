"""Rehearsal: held-out seen classes play the unlabelled pool, to learn what adaptation is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.numerics.evaluation import evenness, fit_temperature, per_class_accuracy
from unseen.numerics.folds import Rows, class_folds
from unseen.numerics.gaussian import Prior, adapt, estimated_shares, scores
from unseen.numerics.predicted import Predictor, fit_predictor
from unseen.numerics.rows import class_sums, class_weights, gram, within_class_scatter
from unseen.numerics.whitening import Whitening

Array = npt.NDArray[Any]

CAUTION = 25.0
"""How much tighter the cautious tie is. Chosen on folds: it does no harm when classes are absent."""

OFFSET = 1.0
"""Variance of a shift that all classes share, in units of a class's own variance."""

MOST_ROWS = 4000
"""Rows of a rehearsal's pool: more would take time and change little."""


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
        C = C / CAUTION if cautious else C + OFFSET * np.diag(C).mean()
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


@dataclass(frozen=True)
class Rehearsal:
    """Accuracies of the rehearsed pools, one entry a fold; a gain is against the start."""

    start: Array
    full: Array
    balanced: Array
    cautious: Array
    half_cautious: Array
    """The gain of the cautious tie when half of the candidates have no row."""
    evenness: Array
    half_evenness: Array
    shift: Array
    """How far the pool lay from its predicted prototypes as a whole."""
    temperature: float

    @property
    def least_evenness(self) -> float:
        """Nearer to rehearsals with all candidates present than to those with half of them."""
        return float(0.6 * self.evenness.mean() + 0.4 * self.half_evenness.mean())


def rehearse(
    rows: Rows,
    vectors: Array,
    moments: Array,
    shrinkage: float | None,
    candidates: int,
    pool_rows: int,
    folds: int,
    rounds: int,
    seed: int,
) -> Rehearsal:
    """Hold out seen classes, as many as there are candidates, with as many rows as the pool has."""
    K = len(vectors)
    held = int(np.clip(candidates, 2, K // 3))
    size = min(pool_rows / candidates * held, MOST_ROWS)
    sums, counts = (
        class_sums(rows.X, rows.codes, K, rows.weights),
        class_weights(*rows[1:2], K, rows.weights),
    )
    draws = -(-folds // (K // held))
    parts = [part for d in range(draws) for part in class_folds(K, K // held, seed + d)][:folds]
    results = []
    for number, part in enumerate(parts):
        away = rows.of_classes(part)
        kept = np.setdiff1d(np.arange(K), part)
        rest = moments - gram(away.X, away.weights)
        model = seen_model(rest, sums[:, kept], counts[kept], vectors[kept], shrinkage, rows.X.dtype)
        rng = np.random.default_rng([seed, number])
        X, codes = _thinned(away, size, rng)
        results.append(_one(model, vectors[part], model.whitening(X), codes, rounds, rng))
    *columns, logs = np.array(results).T
    start, full, balanced, cautious, half, even, half_even, shift = columns
    temperature = float(np.exp(logs.mean()))
    return Rehearsal(start, full, balanced, cautious, half, even, half_even, shift, temperature)


def _thinned(away: Rows, size: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Keep about ``size`` rows, the classes in proportion and none of them empty."""
    share = min(1.0, size / len(away.X))
    chosen = []
    for k in range(int(away.codes.max()) + 1):
        own = np.flatnonzero(away.codes == k)
        chosen.append(rng.permutation(own)[: max(1, round(share * len(own)))])
    index = np.sort(np.concatenate(chosen))
    return away.X[index], away.codes[index]


def _one(
    model: SeenModel, vectors: Array, Z: Array, codes: Array, rounds: int, rng: np.random.Generator
) -> list[float]:
    L = len(vectors)
    unknown = np.full(L, -1)
    bold, careful = model.prior(vectors, unknown, False), model.prior(vectors, unknown, True)

    def accuracy(predicted: Array, true: Array) -> float:
        return float(np.nanmean(per_class_accuracy(true, predicted == true, L)))

    def labels(prior: Prior, shares: Array | None) -> tuple[Array, Array]:
        found = adapt(Z, prior, shares, rounds)
        return found.assignment.Q.argmax(axis=1), found.means

    first = scores(Z, bold.prototypes)
    start = accuracy(first.argmax(axis=1), codes)
    free, means = labels(bold, None)
    even, _ = labels(bold, np.full(L, 1 / L))
    near, near_means = labels(careful, None)
    half = np.isin(codes, rng.permutation(L)[: max(1, L // 2)])
    some = adapt(Z[half], careful, None, rounds)
    half_start = accuracy(first[half].argmax(axis=1), codes[half])
    half_end = accuracy(some.assignment.Q.argmax(axis=1), codes[half])
    few = rng.permutation(len(Z))[:500]
    return [
        start,
        accuracy(free, codes) - start,
        accuracy(even, codes) - start,
        accuracy(near, codes) - start,
        half_end - half_start,
        evenness(estimated_shares(scores(Z, near_means))),
        evenness(estimated_shares(scores(Z[half], some.means))),
        bold.shift(Z, first.argmax(axis=1)),
        float(np.log(fit_temperature(scores(Z[few], means), codes[few], L))),
    ]
