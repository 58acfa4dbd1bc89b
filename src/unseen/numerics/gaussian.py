"""Gaussian classes of unit covariance whose means are tied to what is known of them.

    F(Q, μ) = Σₙₖ Qₙₖ [ ½‖zₙ − μₖ‖² − ½‖zₙ‖² + log Qₙₖ ] + tie(μ)       subject to Σₙ Qₙₖ = N·πₖ

Q (N×L) are soft labels, rows in the simplex; the constraint is dropped where no class shares π are
given. Where they are learned, −Σₙₖ Qₙₖ log Lπₖ − αN/L Σₖ log Lπₖ is added in its place; counting,
πₖ ∝ Σₙ Qₙₖ + αN/L, minimises it. The tie is ½‖μₖ − mₖ‖²·nₖ for a class with nₖ labelled rows of mean mₖ
(which beside predicted classes is final, nₖ = ∞), and ½ tr(C⁻¹(μ − P)Σ⁻¹(μ − P)ᵀ) over the classes with
predicted prototypes P. All steps are exact minimisers: ``assign`` over Q, ``Prior.means`` over μ,
``counted_shares`` over π.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.known import NOTHING_KNOWN, Known

Array = npt.NDArray[Any]

TRUSTED = 0.5
"""A row is trusted when it is likelier to belong to its class than to all others."""

SMOOTHING = 0.1
"""α: rows, as a share of the mean class, that every class has before any is counted, where shares are
learned. Chosen on folds of seen classes (tried: 0.02, 0.1, 0.3, 1): few enough that a class without
rows fades."""

ROUNDS = 5
"""Rounds by default. On folds of seen classes, ten gain 0.1 points with all candidates present and
lose 1 with half of them."""


@dataclass(frozen=True)
class Prior:
    """What is known of the class means before the pool is seen."""

    prototypes: Array
    """P (L, p): own means, or predictions."""
    own: Array
    """(L,) labelled rows of each class; 0 where the prototype is predicted, inf where it is final."""
    covariance: Array
    """C over the predicted classes, in their order."""
    basis: Array
    variances: Array
    rest: float

    def means(self, Q: Array, Z: Array) -> Array:
        """Minimise F over μ: (C⁻¹/s + diag n)·δ = Qᵀ(Z − P) for each direction of Σ."""
        n = Q.sum(axis=0)
        D = Q.T @ Z - n[:, None] * self.prototypes
        delta = D / np.maximum(self.own + n, 1e-12)[:, None].astype(D.dtype)
        free = self.own == 0
        if free.any():
            delta[free] = self._predicted_step(D[free], n[free].astype(float))
        return np.asarray(self.prototypes + delta)

    def _predicted_step(self, D: Array, n: Array) -> Array:
        V, s = self.basis, self.variances
        # T'C⁻¹T = I and T' diag(n) T = e: one eigenproblem serves every direction.
        root = np.linalg.cholesky(self.covariance)
        e, U = np.linalg.eigh(root.T @ (n[:, None] * root))
        T = root @ U
        along = D @ V
        gain = 1 / (1 / s[None] + np.maximum(e, 0)[:, None])
        inside = T @ ((T.T @ along) * gain)
        outside = (T / (1 / self.rest + np.maximum(e, 0))) @ T.T
        step = outside.astype(D.dtype) @ (D - along @ V.T) + inside.astype(D.dtype) @ V.T
        return np.asarray(step)

    def energy(self, means: Array) -> float:
        """Return the tie of F."""
        D = (means - self.prototypes).astype(float)
        tied = np.where(np.isfinite(self.own), self.own, 0.0)
        total = 0.5 * float(tied @ np.einsum("ij,ij->i", D, D))
        free = self.own == 0
        if free.any():
            D = D[free]
            along = D @ self.basis
            G = (along / self.variances) @ along.T + (D @ D.T - along @ along.T) / self.rest
            total += 0.5 * float(np.trace(np.linalg.solve(self.covariance, G)))
        return total

    def shift(self, Z: Array, labels: Array) -> float:
        """Return how far rows lie, on average, from the prototypes of their labels.

        In units of what errors of prediction that differ from class to class would leave.
        """
        L, p = self.prototypes.shape
        totals = np.bincount(labels, minlength=L) @ self.prototypes
        offset = (Z.sum(axis=0, dtype=float) - totals) / max(len(Z), 1)
        trace = float(self.variances.sum()) + (p - len(self.variances)) * self.rest
        spread = trace * float(np.diag(self.covariance).mean())
        return float(L * (offset @ offset) / spread)


def scores(Z: Array, means: Array) -> Array:
    """Return z·μ − ½‖μ‖², the log-likelihood of each class but for what all classes share."""
    return np.asarray(Z @ means.T - 0.5 * np.einsum("ij,ij->i", means, means))


@dataclass(frozen=True)
class Assignment:
    """Soft labels, and what it takes to label further rows alike."""

    Q: Array
    offsets: Array
    """One number a class, added to its scores: log of Sinkhorn's scaling."""
    energy: float
    """The part of F that is not the tie."""


def assign(
    S: Array, shares: Array | None, offsets: Array | None = None, known: Known = NOTHING_KNOWN
) -> Assignment:
    """Minimise F over Q: the softmax of the scores, scaled to the class shares if they are given.

    Q is held at one-hot for known rows: no other class is open to them.

    The energy is the value of the dual, −Σₙ log Σₖ exp(Sₙₖ + bₖ) + N Σₖ πₖbₖ: it equals the energy of
    Q when Sinkhorn's iteration has converged, and errs to second order before.
    """
    N, L = S.shape
    S = known.clamp_scores(S)
    top = S.max(axis=1, keepdims=True)
    E = np.exp(np.maximum(S - top, -60))  # no denormal numbers: they slow products tenfold
    E = known.clamp_probabilities(E)
    v = np.ones(L, dtype=S.dtype) if offsets is None else np.exp(offsets).astype(S.dtype)
    if shares is not None:
        v = _sinkhorn(E, v, N * shares)
    row = E @ v
    Q = E * v
    Q /= row[:, None]
    Q[Q < 1e-15] = 0
    b = np.log(v.astype(float))
    energy = -float(top.sum(dtype=float)) - float(np.log(row.astype(float)).sum())
    if shares is not None:
        energy += N * float(shares @ b)
    return Assignment(Q, b, energy)


def _sinkhorn(E: Array, v: Array, totals: Array, sweeps: int = 100, tol: float = 1e-4) -> Array:
    for _ in range(sweeps):
        drawn = E.T @ (1 / (E @ v))
        log_v = np.log(totals) - np.log(np.maximum(drawn, 1e-30).astype(float))
        log_v = np.clip(log_v - log_v.mean(), -40, 40)
        done = float(np.abs(log_v - np.log(v.astype(float))).max()) < tol
        v = np.exp(log_v).astype(v.dtype)
        if done:
            break
    return v


def counted_shares(Q: Array) -> Array:
    """Minimise F over π where class shares are learned."""
    counts = Q.sum(axis=0, dtype=float) + SMOOTHING * len(Q) / Q.shape[1]
    return np.asarray(counts / counts.sum())


@dataclass(frozen=True)
class Step:
    """One round of ``adapt``."""

    objective: float
    trusted: int
    covered: int
    changed: float


@dataclass(frozen=True)
class Adaptation:
    """Where the descent ended."""

    means: Array
    assignment: Assignment
    steps: list[Step]
    shares: Array | None
    """Class shares, imposed or learned."""


def adapt(
    Z: Array,
    prior: Prior,
    shares: Array | None = None,
    rounds: int = ROUNDS,
    tol: float = 2e-3,
    on_round: Callable[[int, Array], None] | None = None,
    learn_shares: bool = False,
    known: Known = NOTHING_KNOWN,
) -> Adaptation:
    """Descend on F by turns over μ (and π) and Q; a round that does not lower F is not taken.

    Parameters
    ----------
    Z : array of shape (N, p)
        The whitened pool.
    prior : Prior
    shares : array of shape (L,), optional
        Class shares π to meet.
    rounds : int
    tol : float
        Stop when a round moves less than this share of the label mass.
    on_round : callable, optional
        Called with the number of each round taken, 0 for the start, and its soft labels.
    learn_shares : bool
        Learn the class shares instead; they start equal.
    known : Known
        Rows whose soft label is held at their class, in the start and in every round.
    """
    L = len(prior.prototypes)
    pi: Array | None = np.full(L, 1 / L) if learn_shares else shares
    means = prior.prototypes
    state = assign(scores(Z, means), shares, None, known)
    steps = [_step(state.energy, state.Q, 0.0)]
    if on_round is not None:
        on_round(0, state.Q)
    for number in range(1, rounds + 1):
        moved = prior.means(state.Q, Z)
        counted = counted_shares(state.Q) if learn_shares else None
        if counted is None:
            new = assign(scores(Z, moved), shares, state.offsets, known)
        else:
            new = _weigh(scores(Z, moved), counted, known)
        objective = new.energy + prior.energy(moved)
        if not objective < steps[-1].objective:
            break
        mass = float(np.abs(new.Q - state.Q).sum(dtype=float)) / (2 * len(Z))
        changed = float((new.Q.argmax(axis=1) != state.Q.argmax(axis=1)).mean())
        means, state, pi = moved, new, pi if counted is None else counted
        steps.append(_step(objective, state.Q, changed))
        if on_round is not None:
            on_round(number, state.Q)
        if mass < tol:
            break
    return Adaptation(means, state, steps, pi)


def _weigh(S: Array, pi: Array, known: Known) -> Assignment:
    """Minimise F over Q for learned shares; the energy holds the terms in π, too."""
    b = np.log(len(pi) * pi)
    found = assign(S + b.astype(S.dtype), None, None, known)
    return Assignment(found.Q, b, found.energy - SMOOTHING * len(S) / len(pi) * float(b.sum()))


def _step(objective: float, Q: Array, changed: float) -> Step:
    trusted = int((Q.max(axis=1) >= TRUSTED).sum())
    return Step(objective, trusted, int((Q.sum(axis=0) >= 0.5).sum()), changed)
