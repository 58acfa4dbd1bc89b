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
import numpy.typing as npt

from unseen.rows.labelled import Rows
from unseen.rows.passes import blocks, class_sums, class_weights, error_sums, in_chunks, summed
from unseen.solvers.cholesky import Solve, joint_eigenvectors, rough_solver
from unseen.solvers.krylov import System
from unseen.solvers.losses import adaptive_structural_cost
from unseen.solvers.moments import Ridge
from unseen.solvers.shared_subspace import LABELLED, POOL, SharedSubspace, first_of
from unseen.typing import Array, Codes, RowValues

PRODUCT_ROWS = 512
"""Rows of a matrix in single precision that are converted to double at a time."""

GAP_SAMPLE_STRIDE = 16
"""One row in so many is in the sample by which the duality gap is estimated before the last round."""

FEWEST_SAMPLE_ROWS = 1000
"""The smallest sample, in rows."""


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


def structural_objective(
    X: RowValues,
    codes: object,
    A: Array,
    V: Array,
    C: float,
    mu: float,
    weights: object = None,
) -> float:
    """Return J(V) for labelled rows only, in one pass: Eq. (11) with the semantic ridge μ."""
    norm = float(np.square(V @ A).sum() + mu * np.square(V).sum())
    given = V.astype(X.dtype), A.astype(X.dtype), mu
    return C / 2 * norm + float(summed(_costs, X, codes, weights, given=given)[0])


def _costs(
    X: Array, codes: Codes, weights: Array | None, V: Array, A: Array, mu: float
) -> tuple[float]:
    embedded = X @ V
    cost, _ = adaptive_structural_cost(embedded @ A, codes)
    cost = cost + mu * np.square(embedded).sum(axis=1)
    return (float(cost.sum(dtype=float) if weights is None else cost @ weights),)


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
    groups = _preconditioners(G, G2, d)

    def operator(v: Array) -> Array:
        image = _product(G2, v)
        image *= d
        image += _product(G, v)
        return image

    return lambda R: _block_cg(operator, lambda r: _apply(groups, r), R, tol, max_iter)


def _product(G: Array, v: Array) -> Array:
    """Return Gv in the precision of v, without a copy of the whole of G in it."""
    if G.dtype == v.dtype:
        return np.asarray(G @ v)
    out = np.empty_like(v)
    for rows in blocks(len(G), PRODUCT_ROWS):
        np.matmul(G[rows].astype(v.dtype), v, out=out[rows])
    return out


def _preconditioners(
    G: Array, G2: Array, d: Array, spread: float = 4.0
) -> list[tuple[npt.NDArray[np.intp], Solve]]:
    """Factor G + d G₂ once for each group of columns whose d are within ``spread``."""
    # Columns whose d·G₂ is small against G share one factor.
    relative = d * (np.trace(G2) / np.trace(G))
    bins = np.floor(np.log(np.maximum(relative, 0.05)) / np.log(spread)).astype(int)
    groups = []
    for bin_ in np.unique(bins):
        columns = np.flatnonzero(bins == bin_)
        middle = float(np.exp(np.log(np.maximum(d[columns], 1e-12)).mean()))
        near = middle * G2
        near += G
        groups.append((columns, rough_solver(near)))
    return groups


def _apply(groups: list[tuple[npt.NDArray[np.intp], Solve]], residual: Array) -> Array:
    out = np.empty_like(residual)
    for columns, solve in groups:
        out[:, columns] = solve(residual[:, columns])
    return out


def _block_cg(operator: Solve, precondition: Solve, right: Array, tol: float, max_iter: int) -> Array:
    """Preconditioned conjugate gradients on all columns at once, each with its own step."""
    x = precondition(right)
    residual = right - operator(x)
    target = tol * np.linalg.norm(right, axis=0)
    z = precondition(residual)
    direction = z
    rho = np.einsum("ij,ij->j", residual, z)
    for _ in range(max_iter):
        if (np.linalg.norm(residual, axis=0) <= target).all():
            break
        image = operator(direction)
        curvature = np.einsum("ij,ij->j", direction, image)
        share = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        x += share * direction
        residual -= share * image
        z = precondition(residual)
        before, rho = rho, np.einsum("ij,ij->j", residual, z)
        direction = z + np.divide(rho, before, out=np.zeros_like(rho), where=before > 0) * direction
    return x
