"""How far apart seen and unseen features are: the second term of Eq. (25), measured."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen.datasets import ZeroShotDataset

ROWS = 1000
"""Of each domain, half to train the classifier and half to test it."""


def proxy_a_distance(data: ZeroShotDataset, seed: int, rows: int = ROWS) -> tuple[float, float]:
    """Return 2(1 − 2ε), and ε: the error of a linear classifier that tells the two domains apart.

    0 means that it cannot separate them, 2 that it never errs. It needs no class label, only which rows
    are of seen and which of unseen classes.

    S. Ben-David, J. Blitzer, K. Crammer and F. Pereira, "Analysis of representations for domain
    adaptation", NIPS 2006.
    """
    random = np.random.default_rng(seed)
    count = min(rows, len(data.train), len(data.test_unseen)) // 2 * 2
    parts = [random.permutation(part)[:count] for part in (data.train, data.test_unseen)]
    half = count // 2
    domain = np.repeat([0, 1], half)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200))
    model.fit(data.X[np.concatenate([p[:half] for p in parts])], domain)
    error = 1 - model.score(data.X[np.concatenate([p[half:] for p in parts])], domain)
    return 2 * (1 - 2 * float(error)), float(error)
