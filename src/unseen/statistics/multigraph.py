"""A graph of several views of the same nodes, as in the program of Fu, Hospedales, Xiang and Gong.

Each view has the graph exp(−d²/median d²) of its nodes at unit length. A node counts in a view by how
near its nodes in the other views are; the views' graphs are added with these weights.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from unseen.statistics.graph import unit_rows
from unseen.typing import Array


def similarities(first: Array, second: Array) -> Array:
    """Return exp(−d²/median d²) between two sets of nodes at unit length."""
    squares = cdist(unit_rows(first), unit_rows(second), "sqeuclidean")
    middle = max(float(np.median(squares)), np.finfo(float).tiny)
    return np.asarray(np.exp(-squares / middle), dtype=np.float32)


def multigraph(views: list[Array], rows: int, k: int, prototype_times: int) -> sparse.csr_matrix:
    """Return W (N, N) over nodes, of which the first ``rows`` are rows and the others prototypes.

    Parameters
    ----------
    views : list of arrays of shape (N, d)
        The same nodes in each view, in one common space.
    rows : int
    k : int
        Neighbours that a row keeps; a prototype keeps ``prototype_times`` as many.
    """
    N = len(views[0])
    share = view_weights(views, k)
    W = np.zeros((N, N), dtype=np.float32)
    for view, weight in zip(views, share, strict=True):
        W += similarities(view, view) * ((weight[:, None] + weight) / 2)
    np.fill_diagonal(W, 0)
    kept = _nearest_of_each(W[:rows], k), _nearest_of_each(W[rows:], prototype_times * k)
    both = sparse.vstack(kept).tocsr()
    return ((both + both.T) / 2).tocsr()


def view_weights(views: list[Array], k: int) -> list[Array]:
    """Return the weight of each node in each view; those of a node sum to one.

    The hyperedge of a node in another view are its k nearest there, and their mean similarity joins the
    two views at this node. With two views both count alike.
    """
    degree = [np.zeros(len(views[0])) for _ in views]
    for i in range(len(views)):
        for j in range(i + 1, len(views)):
            between = similarities(views[i], views[j])
            joined = (_mean_of_nearest(between, k) + _mean_of_nearest(between.T, k)) / 2
            degree[i] += joined
            degree[j] += joined
    total = np.maximum(sum(degree), np.finfo(float).tiny)
    return [own / total for own in degree]


def _mean_of_nearest(S: Array, k: int) -> Array:
    k = min(k, S.shape[1])
    return np.asarray(np.partition(S, S.shape[1] - k, axis=1)[:, S.shape[1] - k :].mean(axis=1))


def _nearest_of_each(S: Array, k: int) -> sparse.csr_matrix:
    """Return the k largest entries of each row, the others zero."""
    k = max(1, min(k, S.shape[1]))
    place = np.argpartition(S, S.shape[1] - k, axis=1)[:, S.shape[1] - k :]
    values = np.take_along_axis(S, place, axis=1)
    source = np.repeat(np.arange(len(S)), k)
    return sparse.csr_matrix((values.ravel(), (source, place.ravel())), shape=S.shape)
