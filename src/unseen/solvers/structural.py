"""Exact solver of ASTE and of TASTE's inner problem: Frank–Wolfe on the dual, with a certificate.

The problem, for labelled rows X with one-hot labels Y, semantics A (q × K), weights w and, when
there are any, pseudo-labelled rows U with labels Z, semantics B (q × L) and weights u:

    J(V) = C/2 ‖VA‖² + Σₙ wₙ [ ‖AᵀVᵀxₙ − yₙ‖² + maxₖ (AᵀVᵀxₙ)ₖ − (AᵀVᵀxₙ)·yₙ ]
         + C/2 ‖VB‖² + Σₘ uₘ ‖BᵀVᵀxₘ − zₘ‖²
         + μ ridge on the semantic side: AAᵀ and BBᵀ become AAᵀ + μI and BBᵀ + μI

It is convex: a maximum of linear functions. The maximum is ⟨α, ·⟩ over the simplex, so the dual
variable is one simplex point a row, and for a fixed α the minimiser V solves

    G V H + G' V H' = (3XᵀY − Xᵀα) Aᵀ + 2 Uᵀ Z Bᵀ,
    G = 2XᵀX + C·M,  H = AAᵀ + μI,  G' = 2UᵀU + C·M,  H' = BBᵀ + μI

(M is the metric of the regulariser: the identity, or a within-class covariance). The best vertex
for a given V is the one-hot prediction: each step predicts, moves towards the predictions by an
exact line search, and solves again. Only p × K sums are kept, never α. The duality gap
Σ max F − ⟨Xᵀα, VA⟩ bounds how far J(V) is above the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unseen.rows.labelled import Rows
from unseen.rows.passes import (
    between_factor,
    class_sums,
    class_weights,
    error_sums,
    in_chunks,
)
from unseen.solvers.block_cg import shifted_solver
from unseen.solvers.krylov import Subspace, System, joint_eigenvectors
from unseen.solvers.moments import Moments, Ridge, Sums, pays, ridge_solver
from unseen.solvers.shared_subspace import LABELLED, MOST, POOL, SharedSubspace, first_of
from unseen.typing import Array, RowValues, Solve

METRIC_ERROR = 0.3
"""Bound on the relative error of M⁻¹R for the first right-hand sides R where XᵀX is not formed. What M
is in the span that this takes is then the metric. On folds of seen classes of AwA1 (two draws),
Fast-TASTE has 36.2 % with it, 37.2 % with the whole of M, 33.1 % with the first 256 directions of M."""

GAP_SAMPLE_STRIDE = 16
"""One row in so many is in the sample by which the duality gap is estimated before the last round."""

FEWEST_SAMPLE_ROWS = 1000
"""The smallest sample, in rows."""


@dataclass(frozen=True)
class Metric:
    """M = share·(XᵀX − FFᵀ) + rest·I, by which a regulariser measures weights: a shrunk covariance."""

    moments: Moments
    factor: Array
    """F (p, K): class sums over the roots of class sizes, so that XᵀX − FFᵀ is the scatter."""
    share: float
    rest: float

    @property
    def scatter(self) -> Array:
        """share·(XᵀX − FFᵀ), (p, p); computed at each call, since solvers keep what they need."""
        moments = self.moments.dense
        factor = self.factor.astype(moments.dtype, copy=False)
        M: Array = factor @ factor.T
        np.subtract(moments, M, out=M)
        M *= moments.dtype.type(self.share)
        return M

    @property
    def dense(self) -> Array:
        """The matrix, (p, p)."""
        M = self.scatter
        M[np.diag_indices_from(M)] += self.rest
        return M

    def solver(self, columns: int) -> Solve:
        """Return the map R → M⁻¹R for right-hand sides of about so many columns, given all at once.

        Of few right-hand sides of many wide rows whose XᵀX is not formed, in a subspace of few passes.
        """
        rows, width, dtype = self.moments.rows, self.moments.width, self.moments.dtype
        if rows is None or len(rows) < width or not pays(self.moments, columns):
            return self._formed_solver(columns)
        space = Subspace([self.moments.__matmul__, self.spread], width, width // MOST, dtype)
        system = System(np.array([self.share, -self.share, self.rest]))

        def solve(R: Array) -> Array:
            tol = np.inf if space.rank else METRIC_ERROR  # the first right-hand sides decide the span
            return space.solve(R, system, tol)[0].astype(float)

        return first_of(solve, lambda: self._formed_solver(columns))

    def _formed_solver(self, columns: int) -> Solve:
        """Solve with the scatter: of XᵀX·R − FFᵀR, in single precision, too little would be left."""
        solve = ridge_solver(Ridge(Moments.given(self.scatter), 2 * self.rest), columns)
        return lambda R: 2 * solve(R)

    def spread(self, B: Array) -> Array:
        """Return FFᵀB."""
        F = self.factor.astype(B.dtype, copy=False)
        return np.asarray(F @ (F.T @ B))


def covariance_metric(sums: Sums, shrinkage: float | None) -> Metric | None:
    """Return the within-class covariance, shrunk to its mean variance and of mean variance 1.

    ``None`` means the identity: the plain ridge of the paper.
    """
    if shrinkage is None:
        return None
    factor = between_factor(sums.labels, sums.counts)
    mean = (sums.second.trace - float(np.square(factor).sum())) / len(factor)
    if not mean > 0:
        return None
    return Metric(sums.second, factor, (1.0 - shrinkage) / mean, shrinkage)


@dataclass(frozen=True)
class MetricRidge(Ridge):
    """G = 2XᵀX + C·M."""

    metric: Metric

    @property
    def dense(self) -> Array:
        """The matrix, (p, p)."""
        G: Array = 2 * self.moments.dense
        M = self.metric.dense
        M *= G.dtype.type(self.C)
        G += M
        return G

    def coefficients(self, place: int) -> Array:
        """Return the factors of the operators of a shared subspace; XᵀX of G is at ``place``."""
        share, rest = self.metric.share, self.metric.rest
        kappa = self.C * np.array([share, 0.0, -share, rest])
        kappa[place] += 2.0
        return kappa

    def subspace(self) -> SharedSubspace:
        """Return a subspace in which systems with G are solved."""
        space = self.moments.subspace()
        space.with_metric(self.metric.spread)
        return space


def ridge_by(metric: Metric | None, moments: Moments, C: float) -> Ridge:
    """Return 2XᵀX + C·M, with the identity for M where there is no metric."""
    return Ridge(moments, C) if metric is None else MetricRidge(moments, C, metric)


@dataclass(frozen=True)
class StructuralSolution:
    """A solution, and how far its objective can be above the optimum."""

    compatibility: Array
    """V, of shape (p, q)."""
    dual_sums: Array
    """Xᵀα, of shape (p, K): where a next solve may start."""
    objective: float
    gap: float
    n_iter: int
    certified: bool = True
    """Whether the gap was computed on all rows, or estimated on a sample."""

    @property
    def relative_gap(self) -> float:
        """The duality gap as a share of the objective."""
        return self.gap / max(abs(self.objective), np.finfo(float).tiny)


def two_domains(
    G: Ridge,
    H: Array,
    G2: Ridge,
    H2: Array,
    space: SharedSubspace | None = None,
    near: Array | None = None,
    rough: float | None = None,
    tol: float = 1e-5,
    max_iter: int = 200,
) -> Solve:
    """Return the map R → V with G V H + G₂ V H₂ = R.

    The generalised eigenvectors T of (H₂, H) make the columns of V T⁻ᵀ independent: column j
    solves (G + dⱼ G₂) v = r. In a ``space`` that rounds share, all of them are solved by its basis,
    which begins with the solution ``near``, to a relative error of ``rough``. Where there is none, all
    columns run in one block of preconditioned conjugate gradients; the preconditioner factors G + d G₂
    at a few values d between the smallest and the largest dⱼ. When p is small, a second eigenproblem
    solves all of them exactly.
    """
    d, T = joint_eigenvectors(H2, H)
    d = np.maximum(d, 0.0)

    def apart(columns: Solve) -> Solve:
        return lambda R: np.asarray(columns(R @ T) @ T.T)

    def whole() -> Solve:
        return apart(_all_shifts(G.dense, G2.dense, d, tol, max_iter))

    if space is None or near is None:
        return whole()
    space.with_pool(G2.moments.operator, G2.moments.rows, near)
    system = System(G.coefficients(LABELLED), G2.coefficients(POOL), d)
    return first_of(apart(space.system(system, rough)), whole)


def frank_wolfe(
    X: RowValues,
    codes: object,
    A: Array,
    solve: Solve,
    *,
    weights: object = None,
    labels: Array | None = None,
    start: Array | None = None,
    pseudo_sums: Array | float = 0.0,
    pseudo_weight: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 100,
    certified: bool = True,
) -> StructuralSolution:
    """Minimise J to a relative duality gap of ``tol``.

    Parameters
    ----------
    X, codes : arrays or chunks of shape (N, p) and (N,)
        Labelled rows and the column of A that each belongs to.
    A : array of shape (q, K)
    solve : callable
        The map R → V of `one_domain` or :func:`two_domains`.
    weights : array of shape (N,), optional
    labels : array of shape (p, K), optional
        XᵀY, where it is known.
    start : array of shape (p, K), optional
        Xᵀα to start from; the labels (α = Y) when not given.
    pseudo_sums : array of shape (p, q)
        2 Uᵀ diag(u) Z Bᵀ, the pull of the pseudo-labelled rows.
    pseudo_weight : float
        Σ uₘ, the constant that they add to J.
    certified : bool
        Whether the gap must be computed on all rows, or may be estimated on a sample where it is clear.
    """
    classes = A.shape[1]
    if labels is None:
        labels = class_sums(X, codes, classes, weights)
    alpha = labels if start is None else start
    constant = float(class_weights(codes, classes, weights).sum()) + pseudo_weight
    right = (3 * labels - alpha) @ A.T + pseudo_sums
    V = solve(right)
    sampled = not certified and not in_chunks(X) and len(X) >= GAP_SAMPLE_STRIDE * FEWEST_SAMPLE_ROWS
    sample = Rows(X, codes, weights).take(slice(None, None, GAP_SAMPLE_STRIDE)) if sampled else None
    for step in range(max_iter + 1):
        W = V @ A
        # V minimises the Lagrangian at α, so the dual value is constant − ½⟨R, V⟩.
        dual = constant - 0.5 * float(np.vdot(right, V))
        apart = float(np.vdot(labels - alpha, W))
        if sample is not None:
            # The gap is the cost of errors, estimated on the sample, plus this exact term. The estimate
            # is an upper bound: a negative term is not subtracted, since only noise would be left.
            errors = error_sums(sample.X, sample.codes, W, sample.weights)
            most = GAP_SAMPLE_STRIDE * float(np.vdot(errors, W)) + max(apart, 0.0)
            solution = StructuralSolution(V, alpha, dual + most, most, step, certified=False)
            if solution.relative_gap <= tol / 2:
                break
        errors = error_sums(X, codes, W, weights)
        gap = max(float(np.vdot(errors, W)) + apart, 0.0)
        solution = StructuralSolution(V, alpha, dual + gap, gap, step)
        if solution.relative_gap <= tol or step == max_iter:
            break
        direction = labels + errors - alpha
        toward = solve(direction @ A.T)
        curvature = float(np.vdot(direction, toward @ A))
        if curvature <= 0:  # the predictions are the dual point: nothing to move
            break
        share = min(1.0, gap / curvature)
        alpha = alpha + share * direction
        right = right - share * (direction @ A.T)
        V = V - share * toward
    return solution


def _all_shifts(G: Array, G2: Array, d: Array, tol: float, max_iter: int) -> Solve:
    """Return the map R → Z with (G + dⱼ G₂) zⱼ = rⱼ for every column j."""
    if len(G) <= 512:
        e, P = joint_eigenvectors(G2, G)
        scale = 1.0 / (1.0 + np.maximum(e, 0.0)[:, None] * d)
        return lambda R: np.asarray(P @ ((P.T @ R) * scale))
    return shifted_solver(G, G2, d, tol, max_iter)
