"""Gaussian classes of unit covariance whose means are tied to what is known of them.

    F(Q, μ, π) = Σₙₖ Qₙₖ [ ½‖zₙ − μₖ‖² + τ log Qₙₖ/πₖ ] − ατN/L Σₖ log πₖ
                 + ½ tr( (cC)⁻¹(μ − P) Σ⁻¹(μ − P)ᵀ )

z are rows of the pool in whitened space, Q (N×L) their soft labels, μ the class means, π the class
shares, P the predicted prototypes, C and Σ the covariance of their errors over classes and over
directions. Where shares are imposed, Σₙ Qₙₖ = N·πₖ takes the place of the terms in π. A class with
labelled rows is tied to their mean instead.

A round minimises over μ and π and then over Q. Two quantities minimise nothing: the scale c of the tie
is estimated by moments in every round, and distances are measured by ω = 1/(1 + posterior variance
of μ), so that directions in which means are not known yet count for less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from unseen.rows.chunks import kept, mapped, summed
from unseen.rows.known import NOTHING_KNOWN, Known
from unseen.statistics.semantic_process import ErrorLaw
from unseen.statistics.transport import exact_biases
from unseen.statistics.visual_space import Space
from unseen.typing import Array

TRUSTED = 0.5
"""A row is trusted when it is likelier to belong to its class than to all others."""

TEMPERATURE = 2.0
"""τ: what a row says of its class counts for half (1, 3 and 4 gain nothing on folds)."""

SMOOTHING = 0.3
"""α: rows, as a share of the mean class, that every class has before any is counted, where shares are
learned (tried: 0.03, 0.1, 0.3, 1). Fewer let rare classes fade, more keep absent ones alive."""

FIRM_TIE, EVEN_TIE = 0.3, 0.5
"""The scale c of the tie as a share of what errors of prediction suggest: where class shares are
learned or given, and where the pool is taken to be even. A loose tie lets absent classes settle among
the rows of others."""

SHIFT_DISCOUNT = 3.0
"""The tie loosens once errors are this many times those foretold."""

ROUNDS = 8
"""Rounds at most. On folds of seen classes, 16 change nothing and 4 lose half a point."""

LEAST_MOVED = 2e-3
"""Rounds end when one moves less than this share of the label mass."""


@dataclass(frozen=True)
class Prior:
    """What is known of the class means before the pool is seen, in whitened space."""

    prototypes: Array
    """P (L, p): means of labelled rows, or predictions."""
    own: Array
    """(L,) labelled rows of each class; 0 where the prototype is predicted, inf where it is final."""
    covariance: Array
    """C over the predicted classes, in their order."""
    law: ErrorLaw

    @property
    def predicted(self) -> npt.NDArray[np.bool_]:
        """Which classes have no labelled rows."""
        return np.asarray(self.own == 0)

    def error_scale(self, n: Array, sums: Array) -> float:
        """Return ĉ: squared errors of prediction in the pool, in units of those foretold.

        Parameters
        ----------
        n : array of shape (L,)
            The mass of each class.
        sums : array of shape (L, p)
            Qᵀz.
        """
        free = self.predicted
        if not free.any():
            return 1.0
        n, law = np.maximum(n[free], 1e-9), self.law
        error = sums[free] / n[:, None] - self.prototypes[free]
        along = error @ law.basis
        outside = np.einsum("ij,ij->i", error, error) - np.einsum("ij,ij->i", along, along)
        squares = (along**2 / law.variances).sum(axis=1) + outside / law.rest
        p = error.shape[1]
        noise = (float((1 / law.variances).sum()) + (p - len(law.variances)) / law.rest) / n
        weight = n / (n + 5)
        foretold = float((weight * p * np.diag(self.covariance)).sum())
        return float((weight * (squares - noise)).sum()) / max(foretold, 1e-300)

    def posterior(self, n: Array, sums: Array, tie: float) -> Posterior:
        """Minimise F over μ, and measure how well μ is known then."""
        D = sums - n[:, None] * self.prototypes
        weight = np.maximum(self.own + n, 1e-12)
        delta, free, law = D / weight[:, None], self.predicted, self.law
        inside = np.tile((1 / weight)[:, None], len(law.variances))
        outside = 1 / weight
        if free.any():
            # T'C⁻¹T = I and T' diag(n) T = e: one eigenproblem serves every direction.
            jitter = 1e-10 * float(np.trace(self.covariance)) / len(self.covariance)
            root = np.linalg.cholesky(self.covariance + jitter * np.eye(len(self.covariance)))
            e, U = np.linalg.eigh(root.T @ (n[free][:, None] * root))
            T, e = root @ U, np.maximum(e, 0)
            gain = 1 / (1 / (tie * law.variances) + e[:, None])
            rest = 1 / (1 / (tie * law.rest) + e)
            along = D[free] @ law.basis
            delta[free] = (T * rest) @ (T.T @ (D[free] - along @ law.basis.T))
            delta[free] += (T @ ((T.T @ along) * gain)) @ law.basis.T
            inside[free], outside[free] = (T**2) @ gain, (T**2) @ rest
        metric = Metric(law.basis, 1 / (1 + inside.mean(axis=0)), 1 / (1 + float(outside.mean())))
        return Posterior(np.asarray(self.prototypes + delta), metric)

    def energy(self, means: Array, tie: float) -> float:
        """Return the tie of F."""
        D = means - self.prototypes
        finite = np.where(np.isfinite(self.own), self.own, 0.0)
        total = 0.5 * float(finite @ np.einsum("ij,ij->i", D, D))
        free, law = self.predicted, self.law
        if free.any():
            along = D[free] @ law.basis
            G = (along / law.variances) @ along.T
            G += (D[free] @ D[free].T - along @ along.T) / law.rest
            total += 0.5 * float(np.trace(np.linalg.solve(self.covariance, G))) / tie
        return total


class Metric(NamedTuple):
    """ω = V diag(inside) Vᵀ + outside·(I − VVᵀ)."""

    basis: Array
    inside: Array
    outside: float

    def root(self, points: Array) -> Array:
        """Return ω^½ applied to rows."""
        own, rest = np.sqrt(self.inside), float(np.sqrt(self.outside))
        return np.asarray(rest * points + (points @ self.basis * (own - rest)) @ self.basis.T)


class Posterior(NamedTuple):
    """Class means after the pool was seen, and the metric in which rows are compared with them."""

    means: Array
    metric: Metric


def scores(Z: Array, means: Array) -> Array:
    """Return z·μ − ½‖μ‖², the log-likelihood of each class but for what all classes share."""
    return np.asarray(Z @ means.T - 0.5 * np.einsum("ij,ij->i", means, means))


@dataclass(frozen=True)
class Pool:
    """Unlabelled rows, in memory or in chunks, of which only sums and scores are taken."""

    X: Any
    """Rows, scaled as those of the space."""
    space: Space
    """The whitened space of z; rows never enter it, class means are brought out of it."""
    known: Known = NOTHING_KNOWN

    def __len__(self) -> int:
        return len(self.X)

    def scores(self, points: Array, directions: Array | None = None) -> Any:
        """Return scores z·direction − ½‖point‖², (N, L); known rows have that of their class alone."""
        return kept(self.known.clamp_scores(row_scores(self.X, self.space, points, directions)))

    def totals(self, labels: Any) -> tuple[Array, Array]:
        """Return the mass of each class and its sum Qᵀz."""
        mass, sums = summed(soft_sums, self.X, labels)
        return mass, self.space.of_sums(sums, mass)


def row_scores(X: Any, space: Space, points: Array, directions: Array | None = None) -> Any:
    """Return ``scores`` of scaled rows that are not in the space of the points, block by block."""
    weights = space.weights(points if directions is None else directions)
    constant = -(weights @ space.center) - 0.5 * np.einsum("ij,ij->i", points, points)
    dtype = X.dtype
    return mapped(_affine, X, given=(weights.T.astype(dtype), constant.astype(dtype)))


class Assignment(NamedTuple):
    """Soft labels."""

    scores: Any
    biases: Array
    labels: Any
    """Q = softmax(scores + biases), (N, L)."""
    energy: float
    """The part of F/τ that is not the tie."""


def assign(S: Any, shares: Array | None, biases: Array) -> Assignment:
    """Minimise F over Q; imposed shares are met by one bias a class, else ``biases`` are log Lπ."""
    if shares is not None:
        biases = exact_biases(S, shares, start=biases)
    (total,) = summed(_log_partition, S, given=(biases,))
    energy = -float(total)
    if shares is not None:
        energy += len(S) * float(shares @ biases)
    else:
        energy -= SMOOTHING * len(S) / len(biases) * float(biases.sum())
    return Assignment(S, biases, kept(mapped(_soft_labels, S, given=(biases,))), energy)


def learned_biases(n: Array) -> Array:
    """Minimise F over π where class shares are learned; return log Lπ."""
    counts = n + SMOOTHING * n.sum() / len(n)
    return np.asarray(np.log(len(n) * counts / counts.sum()))


@dataclass(frozen=True)
class Step:
    """One round of ``adapt``."""

    objective: float
    trusted: int
    covered: int
    changed: float
    moved: float
    """The share of label mass that changed its class."""
    error_scale: float
    """ĉ."""


@dataclass(frozen=True)
class Adaptation:
    """Where the rounds ended."""

    points: Array
    """The class points ω^½μ/√τ, (L, p)."""
    metric: Metric
    """In which they are compared with rows."""
    assignment: Assignment
    totals: tuple[Array, Array]
    """Mass and sum of each class."""
    steps: list[Step]

    @property
    def shares(self) -> Array:
        """The share of each class in the pool, as soft labels have it."""
        return np.asarray(self.totals[0] / max(self.totals[0].sum(), 1e-300))

    @property
    def error_scale(self) -> float:
        """ĉ of the last round."""
        return self.steps[-1].error_scale


OnRound = Callable[[int, Assignment], None]


class Plan(NamedTuple):
    """How rounds are run."""

    shares: Array | None = None
    """Class shares to meet, (L,); None: they are learned."""
    tie: float = FIRM_TIE
    """The scale of the tie, in units of what errors of prediction suggest."""
    learn_shares: bool = True
    """Without imposed shares: learn them; otherwise classes count alike."""
    rounds: int = ROUNDS


def adapt(
    pool: Pool, prior: Prior, start: Assignment, plan: Plan, on_round: OnRound | None = None
) -> Adaptation:
    """Run rounds from a start until soft labels rest.

    Parameters
    ----------
    pool : Pool
    prior : Prior
    start : Assignment
        The first soft labels.
    plan : Plan
    on_round : callable, optional
        Called with the number of each round, 0 for the start, and its assignment.
    """
    state, totals = start, pool.totals(start.labels)
    points, metric = prior.prototypes, prior.posterior(*totals, plan.tie).metric
    steps = [_step(state, state, start.energy, 1.0)]
    if on_round is not None:
        on_round(0, state)
    for number in range(1, plan.rounds + 1):
        scale = prior.error_scale(*totals)
        tie = plan.tie * max(1.0, scale / SHIFT_DISCOUNT)
        means, metric = prior.posterior(*totals, tie)
        points = metric.root(means) / np.sqrt(TEMPERATURE)
        S = pool.scores(points, metric.root(points) / np.sqrt(TEMPERATURE))
        before, state = state, assign(S, plan.shares, _biases(plan, state, totals[0]))
        energy = state.energy + prior.energy(means, tie) / TEMPERATURE
        steps.append(_step(before, state, energy, scale))
        totals = pool.totals(state.labels)
        if on_round is not None:
            on_round(number, state)
        if steps[-1].moved < LEAST_MOVED:
            break
    return Adaptation(points, metric, state, totals, steps)


def _biases(plan: Plan, state: Assignment, n: Array) -> Array:
    """Return log Lπ where shares are learned; where they are imposed, where to search from."""
    if plan.shares is not None:
        return state.biases
    return learned_biases(n) if plan.learn_shares else np.zeros(len(n))


def measured(space: Space, metric: Metric) -> Space:
    """Return the space in which points lie: Euclidean distance is the metric's, at temperature τ."""
    return space.then(metric.root(space.full_matrix) / np.sqrt(TEMPERATURE))


def _step(before: Assignment, state: Assignment, objective: float, scale: float) -> Step:
    found = summed(_changes, before.labels, state.labels)
    trusted, mass, changed, moved = (np.asarray(value) for value in found)
    rows = max(len(state.labels), 1)
    covered = int((mass >= 0.5).sum())
    return Step(objective, int(trusted), covered, float(changed) / rows, float(moved) / rows, scale)


# Below: what a pass does with one block of rows.


def _affine(X: Array, weights: Array, constant: Array) -> Array:
    return np.asarray(X @ weights + constant)


def _soft_labels(S: Array, biases: Array) -> Array:
    E = S + biases.astype(S.dtype)
    E -= E.max(axis=1, keepdims=True)
    np.exp(E, out=E)
    E /= E.sum(axis=1, keepdims=True)
    E[E < 1e-15] = 0  # denormal numbers slow products tenfold
    return np.asarray(E)


def soft_sums(X: Array, labels: Array) -> tuple[Array, Array]:
    """Return the mass of each class and the sum of its rows, QᵀX, of one block."""
    return labels.sum(axis=0, dtype=float), labels.T.astype(X.dtype) @ X


def _log_partition(S: Array, biases: Array) -> tuple[Array]:
    return (np.asarray(logsumexp(S + biases, axis=1).sum()),)


def _changes(P: Array, Q: Array) -> tuple[Array, ...]:
    changed = (P.argmax(axis=1) != Q.argmax(axis=1)).sum()
    trusted = (Q.max(axis=1) >= TRUSTED).sum()
    return trusted, Q.sum(axis=0, dtype=float), changed, np.abs(Q - P).sum(dtype=float) / 2
