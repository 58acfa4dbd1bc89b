"""Graphs of nearest neighbours, always sparse, and the propagation of labels along them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import sparse

from unseen.rows.kernels import unit_rows
from unseen.typing import Array


def neighbours(
    queries: Array, k: int, among: Array | None = None
) -> tuple[npt.NDArray[np.intp], Array]:
    """Return the k nearest rows of ``among`` for each query, and their cosines; both (N, k).

    Parameters
    ----------
    queries : array of shape (N, d)
    k : int
        At most as many as there are rows to find.
    among : array of shape (M, d), optional
        Where to look; None: among the queries, each without itself.
    """
    from sklearn.neighbors import NearestNeighbors  # loads slowly, and only graphs need it

    rows = unit_rows(queries)
    others = rows if among is None else unit_rows(among)
    k = max(1, min(k, len(others) - (among is None)))
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(others)
    distance, place = search.kneighbors(None if among is None else rows)
    return place, 1 - distance**2 / 2


def neighbour_graph(Z: Array, k: int) -> sparse.csr_matrix:
    """Return W (N, N): rows joined to their k nearest by max(cosine, 0), made symmetric."""
    N = len(Z)
    if N < 2:
        return sparse.csr_matrix((N, N))
    place, cosine = neighbours(Z, k)
    weight = np.maximum(cosine, 0).ravel()
    source = np.repeat(np.arange(N), place.shape[1])
    W = sparse.csr_matrix((weight, (source, place.ravel())), shape=(N, N))
    return W.maximum(W.T).tocsr()


def incidence(nodes: Array, edges: Array, k: int, power: float = 1.0) -> sparse.csr_matrix:
    """Return H (N, E) of a hypergraph: edge e holds the k nodes nearest to its centre, by cosine.

    Parameters
    ----------
    nodes : array of shape (N, d)
    edges : array of shape (E, d)
        The centres of the edges.
    power : float
        Entries are max(cosine, 0) to this power.
    """
    place, cosine = neighbours(edges, k, nodes)
    weight = np.maximum(cosine, 1e-6) ** power
    edge = np.repeat(np.arange(len(edges)), place.shape[1])
    return sparse.csr_matrix((weight.ravel(), (place.ravel(), edge)), shape=(len(nodes), len(edges)))


def symmetric_walk(W: sparse.csr_matrix) -> Callable[[Array], Array]:
    """Return the map F → D^(-½) W D^(-½) F of a symmetric graph; a lonely node is sent nowhere."""
    root = inverse_root(np.asarray(W.sum(axis=1)).ravel())
    S = sparse.diags(root) @ W @ sparse.diags(root)
    return lambda F: np.asarray(S @ F)


def hypergraph_walk(H: sparse.csr_matrix) -> Callable[[Array], Array]:
    """Return the map F → Dᵥ^(-½) H Dₑ⁻¹ Hᵀ Dᵥ^(-½) F (Zhou, Huang and Schölkopf 2006).

    HHᵀ is never formed.
    """
    size = np.asarray(H.sum(axis=0)).ravel()
    scaled = H @ sparse.diags(1 / np.where(size > 0, size, 1))
    root = inverse_root(np.asarray(H.sum(axis=1)).ravel())[:, None]
    return lambda F: np.asarray(root * (scaled @ (H.T @ (root * F))))


def propagate(
    walk: Callable[[Array], Array], Y: Array, alpha: float, tol: float = 1e-4, max_iter: int = 200
) -> Array:
    """Return (1 − α)(I − αS)⁻¹Y by the iteration F ← αSF + (1 − α)Y; S is the walk.

    The spectrum of S lies in [-1, 1], so that each step shrinks the error by α at least.
    """
    source = (1 - alpha) * Y
    F = Y
    scale = max(float(np.abs(Y).max(initial=0)), np.finfo(float).tiny)
    for _ in range(max_iter):
        before, F = F, alpha * walk(F) + source
        if float(np.abs(F - before).max(initial=0)) < tol * (1 - alpha) * scale:
            break
    return F


def inverse_root(degree: Array) -> Array:
    """Return 1/√degree, and zero for a degree of zero."""
    return np.asarray(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0))
