"""Mini-batch subgradient descent on a bilinear model: one engine for every loss on scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from unseen.typing import Array, Codes

Loss = Callable[[Array, Codes], tuple[Array, Array]]


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
) -> tuple[Array, Array]:
    """Take one step for each value of ``steps``; return the last V and the mean of all of them.

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
    """
    dtype = X.dtype
    V = V.astype(dtype)
    A = A.astype(dtype)
    mean = np.zeros_like(V)
    decay = np.asarray(decay, dtype=dtype)
    draw = _drawing(len(X), min(batch, len(X)), weights, random)
    pull = _pull if V.ndim == 2 else _latent_pull
    done = 0
    for done, step in enumerate(steps, start=1):
        rows = draw()
        gradient = pull(X[rows], codes[rows], A, loss, V, dtype.type(2 * ridge))
        V -= dtype.type(step) * (gradient / dtype.type(len(rows)) + V * decay)
        mean += (V - mean) / done
    return V, (mean if done else V)


def _drawing(
    N: int, size: int, weights: Array | None, random: np.random.Generator
) -> Callable[[], Codes]:
    """Return what draws rows as ``random.choice`` does; the weights are summed once, not each time."""
    if weights is None:
        return lambda: random.choice(N, size=size)
    share = np.cumsum(weights / weights.sum(), dtype=float)
    share /= share[-1]
    return lambda: share.searchsorted(random.random(size), side="right")


def _pull(block: Array, codes: Codes, A: Array, loss: Loss, V: Array, ridge: object) -> Array:
    """Return the summed gradient of a batch with respect to one map."""
    embedded = block @ V
    _, gradient = loss(embedded @ A, codes)
    return np.asarray(block.T @ (gradient.astype(V.dtype) @ A.T + ridge * embedded))


def _latent_pull(block: Array, codes: Codes, A: Array, loss: Loss, V: Array, ridge: object) -> Array:
    """Return the summed gradient: each score teaches the piece that attained it."""
    scores, best = latent_scores(block, V, A)
    _, gradient = loss(scores, codes)
    own = np.arange(len(V))[:, None, None] == best
    taught = (own * gradient.astype(V.dtype)) @ A.T + ridge * (block @ V)
    return np.asarray(block.T @ taught)
