"""Mini-batch subgradient descent on a bilinear model: one engine for every loss on scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from unseen.typing import Array, Codes

Loss = Callable[[Array, Codes], tuple[Array, Array]]

STEPS_DRAWN_AT_ONCE = 50
"""Steps whose rows are drawn in one call."""


def lipschitz(X: Array, A: Array, ridge: float = 0.0, sample: int = 512) -> float:
    """Bound the curvature of half a squared loss, averaged over rows: mean ‖x‖²·λ_max(AAᵀ + μI)."""
    rows = X[:: max(1, len(X) // sample)].astype(float)
    mean_square = float(np.einsum("ij,ij->i", rows, rows).mean())
    largest = float(np.linalg.norm(A, 2)) ** 2 + ridge
    return max(mean_square * largest, np.finfo(float).tiny)


def latent_scores(X: Array, V: Array, A: Array) -> tuple[Array, Codes]:
    """Return max over i of xᵀVᵢa for each row and class, and the piece i that attains it."""
    scores = np.einsum("inr,rk->ink", X @ V, A, optimize=True)
    best: Codes = scores.argmax(axis=0)
    return np.take_along_axis(scores, best[None], axis=0)[0], best


def descend(
    X: Array,
    codes: Codes,
    A: Array,
    loss: Loss,
    V: Array,
    steps: Iterable[float],
    *,
    batch: int,
    random: np.random.Generator,
    weights: Array | None = None,
    decay: Array | float = 0.0,
    ridge: float = 0.0,
    averaged: bool = True,
) -> Array:
    """Take one step for each value of ``steps``; return the mean of all V, or the last one.

    Parameters
    ----------
    X, codes : arrays of shape (N, p) and (N,)
    A : array of shape (r, K)
        Semantics of the classes that ``codes`` point at.
    loss : callable
        (scores, codes) → (costs, subgradients).
    V : array of shape (p, r) or (pieces, p, r)
        One map, with the score xᵀVa; or several, with the score max over i of xᵀVᵢa (LatEm).
    batch : int
        Rows drawn, with replacement and by weight, for a step.
    decay : array of shape (r,) or float
        The gradient of the regulariser is V * decay.
    ridge : float
        Weight of ‖Vᵀx‖², added to the loss of each row.
    averaged : bool
        Whether the mean over the steps is returned.
    """
    dtype = X.dtype
    V = V.astype(dtype)
    A = A.astype(dtype)
    mean = np.zeros_like(V)
    decay = np.asarray(decay, dtype=dtype)
    decays = bool(decay.any())
    size = min(batch, len(X))
    pull = _pull if V.ndim == 2 else _latent_pull
    steps = tuple(steps)
    draws = _draws(len(X), len(steps), size, weights, random)
    for done, (step, rows) in enumerate(zip(steps, draws, strict=True), start=1):
        gradient = pull(X.take(rows, axis=0), codes.take(rows), A, loss, V, dtype.type(2 * ridge))
        gradient /= dtype.type(size)
        if decays:
            gradient += V * decay
        gradient *= dtype.type(step)
        V -= gradient
        if averaged:
            mean += (V - mean) / done
    return mean if averaged and steps else V


def _draws(
    N: int, steps: int, size: int, weights: Array | None, random: np.random.Generator
) -> Iterator[Codes]:
    """Yield the rows of each step as ``random.choice`` draws them, but of many steps at a time."""
    if weights is not None:
        share = np.cumsum(weights / weights.sum(), dtype=float)
        share /= share[-1]
    for first in range(0, steps, STEPS_DRAWN_AT_ONCE):
        shape = min(STEPS_DRAWN_AT_ONCE, steps - first), size
        if weights is None:
            yield from random.integers(N, size=shape)
        else:
            yield from share.searchsorted(random.random(shape), side="right")


def _pull(block: Array, codes: Codes, A: Array, loss: Loss, V: Array, ridge: object) -> Array:
    """Return the summed gradient of a batch with respect to one map."""
    embedded = block @ V
    _, gradient = loss(embedded @ A, codes)
    taught = gradient.astype(V.dtype, copy=False) @ A.T
    if ridge:
        taught += ridge * embedded
    return np.asarray(block.T @ taught)


def _latent_pull(block: Array, codes: Codes, A: Array, loss: Loss, V: Array, ridge: object) -> Array:
    """Return the summed gradient: each score teaches the piece that attained it."""
    scores, best = latent_scores(block, V, A)
    _, gradient = loss(scores, codes)
    attained = np.arange(len(V))[:, None, None] == best
    taught = (attained * gradient.astype(V.dtype)) @ A.T + ridge * (block @ V)
    return np.asarray(block.T @ taught)
