"""Passes over rows, against plain NumPy; Proposition 1 as a property."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unseen.rows import passes
from unseen.rows.chunks import BLOCK_ROWS
from unseen.scale.local import LocalChunks
from unseen.statistics.visual_space import within_class_scatter

values = st.floats(-100, 100, allow_nan=False, width=32)


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=values))
@settings(max_examples=200, deadline=None)
def test_proposition_1(X: Any) -> None:
    """x̄x̄ᵀ ≼ mean of xxᵀ, in the positive-semidefinite order."""
    totals = passes.class_totals(X, np.zeros(len(X), dtype=int), 1)
    patterns, _ = passes.class_patterns(*totals, X.dtype)
    difference = passes.gram(X) / len(X) - patterns.T @ patterns
    assert np.linalg.eigvalsh(difference).min() >= -1e-9 * max(1.0, np.abs(X).max() ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_blocks(dtype: Any, weighted: bool) -> None:
    random = np.random.default_rng(0)
    n = 4 * BLOCK_ROWS + 7  # more than one block of every pass
    X, codes = random.normal(size=(n, 4)).astype(dtype), random.integers(3, size=n)
    w = random.uniform(0.5, 2, size=n).astype(dtype) if weighted else None
    D = np.eye(3)[codes] * (1 if w is None else w[:, None])
    tight = {
        "rtol": 1e-4 if dtype == np.float32 else 1e-10,
        "atol": 1e-2 if dtype == np.float32 else 1e-8,
    }
    np.testing.assert_allclose(passes.class_sums(X, codes, 3, w), X.T @ D, **tight)
    np.testing.assert_allclose(passes.gram(X, w), (X.T * (1 if w is None else w)) @ X, **tight)
    W = random.normal(size=(4, 3))
    errors = np.eye(3)[(X @ W).argmax(axis=1)] - np.eye(3)[codes]
    errors *= 1 if w is None else w[:, None]
    np.testing.assert_allclose(passes.error_sums(X, codes, W, w), X.T @ errors, **tight)


@pytest.mark.parametrize("weighted", [False, True])
def test_class_means_of_single_numbers_are_the_same_however_rows_are_cut(weighted: bool) -> None:
    """Or a row between two classes goes to one in memory and to the other in chunks."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30_000, 16)).astype(np.float32)
    codes, w = random.integers(3, size=len(X)), random.uniform(size=len(X)) if weighted else None
    want, _ = passes.class_patterns(*passes.class_totals(X, codes, 3, w), X.dtype)
    for size in (1000, 7001):
        sizes = [len(part) for part in np.split(X, range(size, len(X), size))]
        rows, own, heavy = (None if v is None else LocalChunks.of(v, sizes) for v in (X, codes, w))
        got, _ = passes.class_patterns(*passes.class_totals(rows, own, 3, heavy), X.dtype)
        np.testing.assert_array_equal(got, want)
        moments, sums, counts = passes.labelled_sums(rows, own, 3, heavy)
        np.testing.assert_allclose(moments, passes.gram(X, w), rtol=1e-4, atol=1e-1)
        np.testing.assert_array_equal(passes.class_patterns(sums, counts, X.dtype)[0], want)


def test_within_class_scatter_against_residuals() -> None:
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(60, 5)) + 3, random.integers(4, size=60)
    means, _ = passes.class_patterns(*passes.class_totals(X, codes, 4), X.dtype)
    residual = X - means[codes]
    got = within_class_scatter(
        passes.gram(X), passes.class_sums(X, codes, 4), passes.class_weights(codes, 4)
    )
    np.testing.assert_allclose(got, residual.T @ residual, atol=1e-9)
