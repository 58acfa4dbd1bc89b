"""Whitened spaces, and how far a covariance shrinks."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize(("columns", "by_numpy"), [(0, False), (19, False), (20, True), (512, True)])
def test_small_factors_are_numpys_and_large_ones_scipys(
    monkeypatch: pytest.MonkeyPatch, columns: int, by_numpy: bool
) -> None:
    """Threads of two libraries that take turns wait for each other."""
    monkeypatch.setattr(visual_space, "MOST_NUMPY_COLUMNS", columns)
    asked: list[str] = []
    for name in ("cholesky", "solve_triangular"):
        call = getattr(visual_space.linalg, name)

        def noted(*given: Any, name: str = name, call: Any = call, **more: Any) -> Any:
            asked.append(name)
            return call(*given, **more)

        monkeypatch.setattr(visual_space.linalg, name, noted)
    rows = np.random.default_rng(0).normal(size=(30, 20))
    G = rows.T @ rows + np.eye(20)
    inverse = inverse_factor(G.copy())
    np.testing.assert_array_equal(inverse, np.tril(inverse))
    np.testing.assert_allclose(inverse @ G @ inverse.T, np.eye(20), atol=1e-12)
    assert asked == ([] if by_numpy else ["cholesky", "solve_triangular"])
