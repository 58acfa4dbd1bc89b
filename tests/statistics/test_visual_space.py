"""Whitened spaces, and how far a covariance shrinks."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.statistics import visual_space
from unseen.statistics.visual_space import Whitening, inverse_factor, oas_shrinkage


def test_whitening_makes_the_covariance_white() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4)) @ rng.standard_normal((4, 4))
    X -= X.mean(axis=0)
    white = X @ Whitening.of(X.T @ X, 5000, np.zeros(4), 0.0, float).inverse.T
    np.testing.assert_allclose(white.T @ white / 5000, np.eye(4), atol=1e-6)


def test_shrinkage_grows_as_rows_get_few() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20)) * np.arange(1, 21)
    many, few = (oas_shrinkage(X[:n].T @ X[:n], n) for n in (400, 10))
    assert 0 < many < few <= 1
    assert oas_shrinkage(np.eye(3), 10) == 1.0


@pytest.mark.parametrize("small", [0, 512])
def test_factors_by_either_library(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(visual_space, "MOST_NUMPY_COLUMNS", small)
    rows = np.random.default_rng(0).normal(size=(30, 20))
    G = rows.T @ rows + np.eye(20)
    inverse = inverse_factor(G.copy())
    np.testing.assert_array_equal(inverse, np.tril(inverse))
    np.testing.assert_allclose(inverse @ G @ inverse.T, np.eye(20), atol=1e-12)
