"""Graphs against dense algebra."""

from __future__ import annotations

import numpy as np

from unseen.statistics.graph import (
    hypergraph_walk,
    incidence,
    neighbour_graph,
    propagate,
    symmetric_walk,
)


def test_propagation_is_the_closed_form() -> None:
    Z = np.random.default_rng(0).normal(size=(30, 4))
    W = neighbour_graph(Z, 5)
    dense = W.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    degree = dense.sum(axis=1)
    S = dense / np.sqrt(np.outer(degree, degree))
    Y = np.eye(30)[:, :3]
    want = 0.2 * np.linalg.solve(np.eye(30) - 0.8 * S, Y)
    np.testing.assert_allclose(propagate(symmetric_walk(W), Y, 0.8, tol=1e-9), want, atol=1e-8)


def test_neighbours_as_a_naive_loop_finds_them() -> None:
    Z = np.random.default_rng(1).normal(size=(20, 3))
    U = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    cosine = U @ U.T
    np.fill_diagonal(cosine, -2)
    want = np.zeros((20, 20))
    for i in range(20):
        for j in np.argsort(-cosine[i])[:4]:
            want[i, j] = want[j, i] = max(cosine[i, j], 0)
    np.testing.assert_allclose(neighbour_graph(Z, 4).toarray(), want, atol=1e-9)


def test_hypergraph_walk_is_the_dense_product() -> None:
    random = np.random.default_rng(2)
    H = incidence(random.normal(size=(12, 3)), random.normal(size=(7, 3)), 4)
    assert (np.diff(H.tocsc().indptr) == 4).all()
    D = H.toarray()
    degree = D.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    want = root[:, None] * (D / D.sum(axis=0)) @ D.T * root
    np.testing.assert_allclose(hypergraph_walk(H)(np.eye(12)), want, atol=1e-12)
