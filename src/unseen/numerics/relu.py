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


def relu_similarities(X: Array, anchors: Array, weight: Array) -> Array:
    """Return Σ_d w_d max(0, x_d − v_d) for each row and anchor, (N, K), in the dtype of X."""
    out = np.empty((len(X), len(anchors)), dtype=X.dtype)
    V, w = anchors.astype(X.dtype), weight.astype(X.dtype)
    for rows in blocks(len(X), max(1, ELEMENTS // V.size)):
        gap = X[rows, None] - V
        np.maximum(gap, 0, out=gap)
        out[rows] = gap @ w
    return out


def relu_gradients(X: Array, anchors: Array, weight: Array, pull: Array) -> tuple[Array, Array]:
    """Return the gradients of Σ pull·similarity with respect to the weight and to the anchors.

    ``pull`` is (n, K); the rows are those of one batch.
    """
    gap = X[:, None] - anchors
    above = (gap > 0).astype(X.dtype)
    gap *= above
    to_weight = np.tensordot(pull, gap, axes=2)
    to_anchors = -weight * np.einsum("nk,nkd->kd", pull, above)
    return to_weight, to_anchors
