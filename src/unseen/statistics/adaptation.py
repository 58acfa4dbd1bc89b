"""Rounds on the pool: Gaussian classes of unit covariance whose means are tied to their prior.

    F(Q, μ, π) = Σₙₖ Qₙₖ [ ½‖zₙ − μₖ‖² + τ log Qₙₖ/πₖ ] − ατN/L Σₖ log πₖ
                 + ½ tr( (cC)⁻¹(μ − P) Σ⁻¹(μ − P)ᵀ )

z are rows of the pool in whitened space, Q (N×L) their soft labels, μ the class means, π the class
shares, P the predicted prototypes, C and Σ the covariance of their errors over classes and over
directions. Where shares are imposed, Σₙ Qₙₖ = N·πₖ takes the place of the terms in π. A class with
labelled rows is tied to their mean instead.

A round minimises over μ and π, then over Q. Two quantities minimise nothing: the scale c of the tie is
estimated by moments in every round, and distances are measured by ω = 1/(1 + posterior variance of μ),
so that directions in which means are not known yet count for less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unseen.rows import kernels
from unseen.rows.passes import gram, kept, mapped, summed
from unseen.statistics.seen_model import (
    TEMPERATURE,
    Answer,
    Candidates,
    Metric,
    Prior,
    SeenModel,
    Task,
    candidates_of,
)
from unseen.statistics.transport import LARGEST_LOG_FACTOR
from unseen.statistics.visual_space import Pool, SeenStatistics, Space, less_square, scaled_rows
from unseen.typing import Array, RowValues

TRUSTED = 0.5
"""A row is trusted when its class is likelier than all others."""

SMOOTHING = 0.3
"""α: rows, as a share of the mean class, that every class has before any is counted, where shares are
learned (tried: 0.03 to 1). Fewer let rare classes fade, more keep absent ones alive."""

MIXED_SMOOTHING = 3.0
"""The same where candidates stand beside classes with labelled rows: shares are then nearly equal.
Learned freely, they let unseen classes grow over rows of seen ones (on folds of eleven data sets, 3 is
1.5 points better than 0.3 in harmonic mean; tried: 0.3, 1, 3, 10, equal shares, and an offset)."""

FIRM_TIE, EVEN_TIE = 0.3, 0.5
"""The scale c of the tie as a share of what errors of prediction suggest: where class shares are
learned or given, and where the pool is even. Loose ties let absent classes settle in others' rows."""

SHIFT_DISCOUNT = 3.0
"""The tie loosens once errors are this many times as large as predicted."""

ROUNDS = 8
"""Rounds at most. On folds of seen classes, 16 change nothing and 4 lose half a point."""

LEAST_MOVED = 2e-3
"""Rounds end when one moves less than this share of the label mass."""

SHIFTED = 2.0
"""Errors this many times as large as predicted show a pool of another domain, whose scatter counts."""

BIAS_RIDGE = 1e-6
"""ε: biases are unique even where hardly any row depends on them; totals err by ε·b/L at most."""

SHIFT_REPEATS, SHIFT_ROUNDS = 2, 4
"""How often its scatter is estimated again, and rounds after each time."""


class Assignment(NamedTuple):
    """Soft labels."""

    scores: Any
    biases: Array
    labels: Any
    """Q = softmax(scores + biases), (N, L)."""
    energy: float
    """The part of F/τ that is not the tie."""


def assign(
    S: RowValues,
    shares: Array | None,
    biases: Array,
    smoothing: float | Array = SMOOTHING,
    learned: Array | None = None,
) -> Assignment:
    """Minimise F over Q; imposed shares are met by one bias a class, else ``biases`` are log Lπ.

    With ``learned``, log Lπ of learned shares, biases lie halfway between these and the exact ones. Of
    more classes than shares, the first meet theirs in the rows that the others leave them.
    """
    free = biases if learned is None else learned
    energy = -len(S) / len(free) * float((smoothing * free).sum())
    if shares is not None:
        biases = exact_biases(S, shares, biases if len(shares) == len(biases) else free)
        force = 1.0 if learned is None else 0.5
        imposed = len(S) * float(shares @ biases[: len(shares)])
        energy = force * imposed + (1 - force) * energy
        biases = force * biases + (1 - force) * free
    (total,) = summed(kernels.log_partition, S, given=(biases,))
    energy -= float(total)
    return Assignment(S, biases, kept(mapped(kernels.soft_labels, S, given=(biases,))), energy)


def exact_biases(
    scores: RowValues, prior: Array, start: Array | None = None, max_iter: int = 50
) -> Array:
    """Return the biases under which the totals of softmax(scores + biases) are N·prior.

    They minimise Σₙ log Σₖ exp(sₙₖ + bₖ) − N·prior·b + ½εN/L ‖b‖² by Newton's method. Third derivatives
    are bounded by second ones times the range of a step, so the step of length log(1 + β)/β, β its
    range, descends from anywhere. Where classes are far apart, the fixed points of
    :func:`~unseen.statistics.transport.class_biases` creep; this takes some ten passes, and the answer
    does not depend on rounding.

    ``scores`` are (M, T), ``prior`` (L,) is positive and sums to one, ``start`` (T,) are biases nearby.
    With L < T, classes behind the first L keep their biases, and N is the mass of the first.
    """
    P = kept(mapped(kernels.relative_probabilities, scores))
    (rows, classes), free = scores.shape, len(prior)
    bias = np.zeros(classes) if start is None else start - (start.mean() if free == classes else 0.0)
    bias, weight = np.clip(bias, -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR), BIAS_RIDGE * rows / classes
    mass = None
    for _ in range(max_iter):
        totals, products = (A[:free] for A in summed(kernels.soft_products, P, given=(np.exp(bias),)))
        mass = float(totals.sum()) if mass is None else mass
        gradient = totals - mass * prior + weight * bias[:free]
        step = np.zeros(classes)
        step[:free] = np.linalg.solve(products[:, :free] - np.diag(totals + weight), gradient)
        width = float(np.ptp(step))
        damping = np.log1p(width) / width if width > 0 else 1.0
        before, bias = bias, np.clip(bias + damping * step, -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR)
        if np.abs(bias - before).max() < 1e-6:
            break
    return bias


def start_of(model: SeenModel, candidates: Candidates, pool: Pool, plan: Plan) -> Assignment:
    """Return the first soft labels, in the strongly shrunk space; no share has been learned yet."""
    S = replace(pool, space=model.start_space).scores(candidates.start)
    biases = learned_biases(np.zeros(len(candidates.start)), plan.smoothing)
    return assign(S, plan.shares, biases, plan.smoothing, biases if plan.halfway else None)


class Plan(NamedTuple):
    """How rounds are run."""

    shares: Array | None = None
    """Class shares to meet; None: they are learned."""
    tie: float = FIRM_TIE
    """The scale of the tie, in units of what errors of prediction suggest."""
    learn_shares: bool = True
    """Without imposed shares: learn them; otherwise classes count alike."""
    smoothing: float | Array = SMOOTHING
    """α, where shares are learned; for all classes or one for each."""
    rounds: int = ROUNDS
    halfway: bool = False
    """Whether shares are imposed halfway only: what the pool says of them counts as much."""

    def biases(self, state: Assignment, mass: Array) -> Array:
        """Return log Lπ where shares are learned; where they are imposed, where to search from."""
        if self.shares is not None:
            return state.biases
        return learned_biases(mass, self.smoothing) if self.learn_shares else np.zeros(len(mass))


def learned_biases(mass: Array, smoothing: float | Array = SMOOTHING) -> Array:
    """Minimise F over π where class shares are learned; return log Lπ. Without any mass, α decides."""
    counts = mass + smoothing * (float(mass.sum()) or 1.0) / len(mass)
    return np.asarray(np.log(len(mass) * counts / counts.sum()))


@dataclass(frozen=True)
class Step:
    """What a round did."""

    objective: float
    trusted: int
    covered: int
    changed: float
    moved: float
    """The share of label mass that changed its class."""
    error_scale: float
    """ĉ."""

    @classmethod
    def between(
        cls, before: Assignment, state: Assignment, objective: float, error_scale: float
    ) -> Step:
        """Compare the soft labels after a round with those before it."""
        changes = summed(kernels.label_changes, before.labels, state.labels, given=(TRUSTED,))
        trusted, mass, changed, moved = map(np.asarray, changes)
        rows, covered = max(len(state.labels), 1), int((mass >= 0.5).sum())
        shares = float(changed) / rows, float(moved) / rows
        return cls(objective, int(trusted), covered, *shares, error_scale)


class State(NamedTuple):
    """Where a round ended; the first state is the start."""

    points: Array
    """The class points ω^½μ/√τ, (L, p)."""
    metric: Metric
    """The metric in which they are compared with rows."""
    assignment: Assignment
    totals: tuple[Array, Array]
    """Mass and sum of each class."""
    step: Step

    @property
    def shares(self) -> Array:
        """The share of each class in the pool."""
        return np.asarray(self.totals[0] / max(self.totals[0].sum(), 1e-300))


def adapt(pool: Pool, prior: Prior, start: Assignment, plan: Plan) -> Iterator[State]:
    """Run rounds until soft labels settle; yield the start and the state after each round."""
    totals = pool.totals(start.labels)
    metric = prior.posterior(*totals, plan.tie).metric
    step = Step.between(start, start, start.energy, 1.0)
    state = State(prior.prototypes, metric, start, totals, step)
    yield state
    for _ in range(plan.rounds):
        scale = prior.error_scale(*state.totals)
        tie = plan.tie * max(1.0, scale / SHIFT_DISCOUNT)
        means, metric = prior.posterior(*state.totals, tie)
        points = metric.root(means) / np.sqrt(TEMPERATURE)
        S = pool.scores(points, metric.root(points) / np.sqrt(TEMPERATURE))
        biases = plan.biases(state.assignment, state.totals[0])
        learned = learned_biases(state.totals[0], plan.smoothing) if plan.halfway else None
        after = assign(S, plan.shares, biases, plan.smoothing, learned)
        energy = after.energy + prior.energy(means, tie) / TEMPERATURE
        step = Step.between(state.assignment, after, energy, scale)
        state = State(points, metric, after, pool.totals(after.labels), step)
        yield state
        if step.moved < LEAST_MOVED:
            return


class Transduction(NamedTuple):
    """A state, and the model in whose space it is."""

    model: SeenModel
    candidates: Candidates
    """The candidates before the pool was seen."""
    pool: Pool
    state: State

    def answer(self) -> Answer:
        """Return the prototypes of this state, in the metric of its rounds."""
        state, space = self.state, measured(self.model.space, self.state.metric)
        return Answer.of(space, self.model, self.candidates, state.points, state.assignment.biases)


def inductive_answer(task: Task) -> Answer:
    """Return the prototypes that labelled rows and semantics give, without a pool."""
    model = task.model(task.statistics())
    candidates = candidates_of(model, task.vectors, task.own)
    return Answer.of(model.start_space, model, candidates, candidates.start)


def transduce(task: Task, X: RowValues, plan: Plan) -> Iterator[Transduction]:
    """Label the rows of a pool; yield the start and where each round ended."""
    statistics = task.statistics()
    model = task.model(statistics)
    candidates = candidates_of(model, task.vectors, task.own)
    pool = Pool(scaled_rows(X, task.scaling), model.space, task.known)
    start = start_of(model, candidates, pool, plan)
    for state in adapt(pool, candidates.prior, start, plan):
        yield Transduction(model, candidates, pool, state)
    if state.step.error_scale <= SHIFTED:
        return
    again = plan._replace(rounds=min(SHIFT_ROUNDS, plan.rounds))
    for _ in range(SHIFT_REPEATS):
        model = task.model(with_pool(statistics, pool, state.assignment))
        candidates = candidates_of(model, task.vectors, task.own)
        pool = replace(pool, space=model.space)
        rounds = adapt(pool, candidates.prior, state.assignment, again)
        state = next(rounds)  # its labels are those of the last round
        for state in rounds:
            yield Transduction(model, candidates, pool, state)


def with_pool(statistics: SeenStatistics, pool: Pool, state: Assignment) -> SeenStatistics:
    """Return statistics that include the scatter of the pool about its classes."""
    mass, sums = summed(kernels.soft_sums, pool.X, state.labels)
    scatter = less_square(gram(pool.X), sums.T / np.sqrt(np.maximum(mass, 1e-9)))
    scatter += statistics.scatter
    return replace(statistics, scatter=scatter, pool_rows=len(pool))


def measured(space: Space, metric: Metric) -> Space:
    """Return the space of the points: Euclidean distance there is the metric, at temperature τ."""
    return space.then(metric.root(space.full_matrix) / np.sqrt(TEMPERATURE))
