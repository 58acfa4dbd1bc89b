"""A graph of several views of the same nodes, as in the program of Fu, Hospedales, Xiang and Gong.

Within a view nodes are joined by exp(−d²/median d²), at unit length. Across views the node e of one
view is a hyperedge of the nodes that are nearest to it in the other. Both are mixed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from unseen.rows.kernels import unit_rows
from unseen.statistics.graph import inverse_root
from unseen.typing import Array

EDGES, HYPEREDGES = 0.25, 0.75
"""How the graphs of the views and the hypergraph across views are mixed."""


def similarities(first: Array, second: Array) -> Array:
    """Return exp(−d²/median d²) between two sets of nodes at unit length."""
    squares = cdist(unit_rows(first), unit_rows(second), "sqeuclidean")
    middle = max(float(np.median(squares)), np.finfo(float).tiny)
    return np.asarray(np.exp(-squares / middle), dtype=np.float32)


def multigraph_walk(
    views: list[Array], rows: int, k: int, prototype_times: int
) -> Callable[[Array], Array]:
    """Return the map F → D^(-½) W D^(-½) F,  W = 0.25 Σᵢ Gᵢ + 0.75 Hᵀ Δ H.

    Gᵢ is the graph of view i. H (E, N) holds, for each ordered pair of views, the z-scored similarities
    of a node of one view to its nearest nodes of the other, its columns scaled so that Hᵀ Δ H has a
    diagonal of ones; Δ are the mean similarities of the hyperedges. HᵀΔH is never formed.

    Parameters
    ----------
    views : list of arrays of shape (N, d)
        The same nodes in each view, in one common space. The first ``rows`` are rows, the others
        prototypes.
    rows : int
    k : int
        Neighbours that a row keeps; a prototype keeps ``prototype_times`` as many.
    """
    graph = sum(_nearest(similarities(v, v), rows, k, prototype_times) for v in views)
    pairs = permutations(views, 2)
    H = sparse.vstack(
        [_nearest(z_scores(similarities(a, b)), rows, k, prototype_times) for a, b in pairs]
    ).tocsr()
    hyperedges, weights = scaled_hyperedges(H)

    def spread(F: Array) -> Array:
        across = hyperedges.T @ (weights[:, None] * (hyperedges @ F))
        return np.asarray(EDGES * (graph @ F) + HYPEREDGES * across)

    root = inverse_root(spread(np.ones((len(views[0]), 1))).ravel())[:, None]
    return lambda F: np.asarray(root * spread(root * F))


def scaled_hyperedges(H: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Array]:
    """Return the hyperedges with columns scaled for unit similarity of a node to itself, and Δ."""
    positive = H.multiply(H > 0).tocsr()
    weights = np.asarray(H.sum(axis=1)).ravel() / np.maximum(positive.getnnz(axis=1), 1)
    weights = np.maximum(weights, 0)
    length = np.asarray(positive.multiply(positive).T @ weights).ravel()
    return (positive @ sparse.diags(inverse_root(length))).tocsr(), weights


def z_scores(S: Array) -> Array:
    """Return similarities standardised by rows, and then by columns."""
    for axis in (1, 0):
        spread = S.std(axis=axis, keepdims=True, ddof=1)
        S = (S - S.mean(axis=axis, keepdims=True)) / np.where(spread > 0, spread, 1)
    return S


def _nearest(S: Array, rows: int, k: int, prototype_times: int) -> sparse.csr_matrix:
    """Keep the k largest entries of each row but its largest, made symmetric."""
    nearest = _largest_but_one(S[:rows], k), _largest_but_one(S[rows:], prototype_times * k)
    both = sparse.vstack(nearest).tocsr()
    return ((both + both.T) / 2).tocsr()


def _largest_but_one(S: Array, k: int) -> sparse.csr_matrix:
    """Return the entries of each row from the second to the (k + 1)-th largest, the others zero.

    Within a view the largest is the node itself; the authors' program skips it across views too.
    """
    N = S.shape[1]
    k = max(1, min(k, N - 1))
    place = np.argpartition(S, N - k - 1, axis=1)[:, N - k - 1 :]
    values = np.take_along_axis(S, place, axis=1)
    np.put_along_axis(values, values.argmax(axis=1)[:, None], 0, axis=1)
    source = np.repeat(np.arange(len(S)), k + 1)
    neighbours = sparse.csr_matrix((values.ravel(), (source, place.ravel())), shape=S.shape)
    neighbours.eliminate_zeros()
    return neighbours
