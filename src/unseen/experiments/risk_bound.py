"""The terms of Eq. (25) that do not depend on a method: capacity of the class, and the joint error.

    ε_t(f) ≤ ε_s(f) + 4 √( 2d/m · (log(2m/d) + log(4/δ)) ) + λ + d_H(S, U)

S. Ben-David, J. Blitzer, K. Crammer and F. Pereira, "Analysis of representations for domain
adaptation", NIPS 2006. The distance d_H is in :mod:`unseen.experiments.domain_distance`.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen.datasets import ZeroShotDataset
from unseen.experiments.domain_distance import ROWS

DELTA = 0.05
"""The bound holds with probability 1 − δ."""


def capacity_term(features: int, rows: int, delta: float = DELTA) -> float:
    """Return the second term: d = p + 1 is the VC dimension of linear classifiers of p features.

    Examples
    --------
    >>> round(capacity_term(9, 10**6), 3)
    0.073
    >>> capacity_term(4096, 6180) > 1  # says nothing: errors are at most 1
    True
    """
    d = features + 1
    inside = 2 * d / rows * (np.log(2 * rows / d) + np.log(4 / delta))
    return float(4 * np.sqrt(max(inside, 0.0)))


def joint_error(data: ZeroShotDataset, seed: int, rows: int = ROWS) -> float:
    """Return an upper bound of λ, the least of ε_s + ε_t: both errors of one linear classifier.

    It is taught rows of seen and of unseen classes with their labels and judged on others of them, so
    it needs labels that no method is given. It is a measurement of the data set.
    """
    random = np.random.default_rng(seed)
    parts = [random.permutation(part)[:rows] for part in (data.train, data.test_unseen)]
    taught = np.concatenate([part[: len(part) // 2] for part in parts])
    model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=data.X.shape[1]))
    model.fit(data.X[taught], data.y[taught])
    judged = [part[len(part) // 2 :] for part in parts]
    return float(sum(1 - model.score(data.X[part], data.y[part]) for part in judged))
