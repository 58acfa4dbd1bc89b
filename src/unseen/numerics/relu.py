"""Similarities through rectified differences: Σ_d w_d max(0, x_d − v_d), for rows and anchors.

An array of rows × anchors × columns is needed, so rows are taken in small blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.numerics.rows import blocks

Array = npt.NDArray[Any]

ELEMENTS = 4_000_000
"""Numbers in a block: 16 MB of float32."""


def rectified(X: Array, anchors: Array) -> Array:
    """Return max(0, x − v) for each anchor and row, (K, n, p)."""
    gap = X - anchors[:, None]
    return np.asarray(np.maximum(gap, 0, out=gap))


def relu_similarities(X: Array, anchors: Array, weight: Array) -> Array:
    """Return Σ_d w_d max(0, x_d − v_d) for each row and anchor, (N, K), in the dtype of X."""
    out = np.empty((len(X), len(anchors)), dtype=X.dtype)
    V, w = anchors.astype(X.dtype), weight.astype(X.dtype)
    for rows in blocks(len(X), max(1, ELEMENTS // V.size)):
        out[rows] = (rectified(X[rows], V) @ w).T
    return out


def relu_gradients(gap: Array, weight: Array, pull: Array) -> tuple[Array, Array]:
    """Return the gradients of Σ pull·similarity with respect to the weight and to the anchors.

    ``gap`` is what :func:`rectified` gave, ``pull`` is (n, K).
    """
    of_anchor = pull.T[:, None]
    to_weight = (of_anchor @ gap)[:, 0].sum(axis=0)
    above = np.greater(gap, 0, out=gap, casting="unsafe")
    return to_weight, -weight * (of_anchor @ above)[:, 0]
