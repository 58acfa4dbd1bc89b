"""Which rows a person should look at first: uncertain ones that stand for many others."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import entr
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from unseen.typing import Array, Codes

ROWS_A_QUESTION, ROWS_AN_ERROR = 3, 1.0
"""Uncertain rows among which a question is chosen, at least, and the same for every error that the
probabilities foretell. On folds of seen classes of four data sets, three to six per cent of the rows
gained 3.6 points on average; with 8 and 2.0 it was 2.1, as much as random rows, with the least
confident rows 4.4, which may all be of one confusion."""

MOST_ROWS = 20_000
"""Rows that are clustered, at most."""


def rows_to_review(probabilities: Array, n: int) -> Codes:
    """Return the places of ``n`` rows, the most worthwhile first.

    The most uncertain rows are clustered by k-means into n groups, in the space of their probabilities,
    each counting by its entropy: a group is a confusion of some classes. Of each group the row nearest
    to its centre is taken. Groups come in the order of their entropy.

    After V. Prabhu, A. Chandrasekaran, K. Saenko and J. Hoffman, "Active domain adaptation via
    clustering uncertainty-weighted embeddings", ICCV 2021, who cluster embeddings.
    """
    P = np.asarray(probabilities)
    n = min(n, len(P))
    doubt = 1 - P.max(axis=1)
    count = max(ROWS_A_QUESTION * n, int(ROWS_AN_ERROR * float(doubt.sum())))
    few = np.argsort(-doubt, kind="stable")[: min(count, MOST_ROWS)]
    entropy = entr(P[few]).sum(axis=1)
    if n == 0 or not entropy.any():
        return np.arange(n, dtype=np.intp)
    weights = entropy + 1e-9 * float(entropy.max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that are all alike make few groups
        groups = KMeans(n, n_init=1, random_state=0).fit(P[few], sample_weight=weights)
    distances = groups.transform(P[few])
    mass = np.bincount(groups.labels_, weights, n)
    chosen: list[int] = []
    for group in np.argsort(-mass, kind="stable"):
        order = few[np.argsort(distances[:, group], kind="stable")]
        chosen.append(int(next(row for row in order if row not in chosen)))
    return np.array(chosen, dtype=np.intp)
