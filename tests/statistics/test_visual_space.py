"""Whitened spaces, and how far a covariance shrinks."""

from __future__ import annotations

import numpy as np

from unseen.statistics.visual_space import Whitening, oas_shrinkage


def test_whitening_makes_the_covariance_white() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)) @ rng.standard_normal((4, 4))
    X -= X.mean(axis=0)
    white = Whitening.of(X.T @ X, 5000, np.zeros(4), 0.0, float)(X)
    np.testing.assert_allclose(white.T @ white / 5000, np.eye(4), atol=1e-6)


def test_shrinkage_grows_as_rows_get_few() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20)) * np.arange(1, 21)
    many, few = (oas_shrinkage(X[:n].T @ X[:n], n) for n in (400, 10))
    assert 0 < many < few <= 1
    assert oas_shrinkage(np.eye(3), 10) == 1.0
