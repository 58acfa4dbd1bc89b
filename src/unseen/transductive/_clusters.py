"""Clusters of a pool, and how they are given to classes: by transport, by matching, by nearness."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_random_state

from unseen.statistics.prototype_map import nearest_scores
from unseen.typing import Array, RandomState

KMEANS_STARTS = 50
"""Random starts of k-means, as in the authors' program of WDVSc."""


def pool_clusters(
    Z: Array, points: Array, random_state: RandomState = None, random: bool = True
) -> Array:
    """Return as many cluster centres of the pool as there are points.

    k-means starts at random, or at the points.
    """
    distinct = np.unique(Z, axis=0) if len(Z) <= len(points) else Z
    if len(distinct) <= len(points):  # each row is a cluster of its own
        return np.asarray(distinct, dtype=float)
    from sklearn.cluster import KMeans

    if random:
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        clustering = KMeans(len(points), n_init=KMEANS_STARTS, random_state=seed).fit(Z)
    else:
        clustering = KMeans(len(points), init=points, n_init=1, max_iter=100).fit(Z)
    return np.asarray(clustering.cluster_centers_, dtype=float)


def matched_clusters(points: Array, clusters: Array) -> Array:
    """Return one cluster a point, at the least total distance; with fewer clusters a point may stay.

    Examples
    --------
    >>> matched_clusters(np.array([[0.0], [1.0]]), np.array([[0.9], [0.4]]))
    array([[0.4],
           [0.9]])
    """
    matched = np.array(points, dtype=float)
    rows, columns = linear_sum_assignment(-nearest_scores(matched, clusters))
    matched[rows] = clusters[columns]
    return matched


def matching_plan(points: Array, clusters: Array) -> tuple[Array, Array]:
    """Return the plan that gives each point one cluster (BMVSc), and the weight of each point."""
    plan = np.zeros((len(points), len(clusters)))
    rows, columns = linear_sum_assignment(-nearest_scores(points.astype(float), clusters))
    plan[rows, columns] = 1
    return plan, plan.sum(axis=1)


def chamfer_plan(points: Array, clusters: Array) -> tuple[Array, Array]:
    """Return the plan of the Chamfer distance (CDVSc), and the weight of each point.

    A point is drawn to its nearest cluster, and to each cluster that it is nearest to.
    """
    scores = nearest_scores(points.astype(float), clusters)
    plan = np.zeros(scores.shape)
    np.add.at(plan, (np.arange(len(points)), scores.argmax(axis=1)), 1)
    np.add.at(plan, (scores.argmax(axis=0), np.arange(len(clusters))), 1)
    weight = plan.sum(axis=1)
    return plan / weight[:, None], weight
