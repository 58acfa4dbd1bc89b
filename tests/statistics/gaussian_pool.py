"""A small pool of Gaussian classes, for the tests of its prior and of its rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from unseen.statistics.adaptation import Assignment, assign
from unseen.statistics.seen_model import Prior
from unseen.statistics.semantic_process import ErrorLaw
from unseen.statistics.visual_space import Pool, Space


def problem(seed: int, known: int = 0, final: bool = False, dtype: Any = float) -> tuple[Pool, Prior]:
    """A pool of 40 rows, 6 columns, 4 candidates of which ``known`` have labelled rows."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((4, 6))
    own = np.zeros(4)
    own[:known] = np.inf if final else 5.0
    V = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    B = rng.standard_normal((4 - known, 4 - known))
    C = B @ B.T + np.eye(4 - known) + 1
    prior = Prior(P, own, C, ErrorLaw(V, np.array([2.0, 0.5]), 0.3))
    Z = (P + 0.7 * rng.standard_normal(P.shape))[rng.integers(4, size=40)]
    center, matrix = rng.standard_normal(6), rng.standard_normal((6, 6)) + 3 * np.eye(6)
    X = Z + rng.standard_normal(Z.shape)
    X = (X @ np.linalg.inv(matrix) + center).astype(dtype)
    return Pool(X, Space("none", center.astype(dtype), matrix.astype(dtype))), prior


def started(pool: Pool, prior: Prior, shares: Any = None) -> Assignment:
    return assign(pool.scores(prior.prototypes), shares, np.zeros(len(prior.own)))


def labels(state: Assignment) -> Any:
    return softmax(np.asarray(state.scores) + state.biases, axis=1)
