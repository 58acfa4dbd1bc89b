"""Few rows in the span that they have."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.solvers.row_space import SKETCH_COLUMNS, first_directions, row_space


@pytest.mark.parametrize("columns", [12, 60])
@pytest.mark.parametrize("with_metric", [False, True])
def test_row_space_keeps_products_and_lengths(with_metric: bool, columns: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(5, columns))
    root = random.normal(size=(columns, columns))
    metric = root @ root.T + np.eye(columns) if with_metric else None
    solved = None if metric is None else np.linalg.solve(metric, X.T)
    Z, basis = row_space(X, solved)
    np.testing.assert_allclose(X @ basis, Z, atol=1e-9)
    M = np.eye(columns) if metric is None else metric
    np.testing.assert_allclose(basis.T @ M @ basis, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_rows_that_repeat_others_add_no_coordinate(scale: float) -> None:
    X = scale * np.random.default_rng(0).normal(size=(5, 60))
    X[4] = X[0] - X[1]
    Z, basis = row_space(X)
    assert Z.shape == (5, 4)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-9 * scale**2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("rows", [300, 100])  # of the second a factor does not exist
def test_a_sketch_holds_the_first_directions(rows: int) -> None:
    random = np.random.default_rng(0)
    strong = np.linalg.qr(random.normal(size=(400, 3)))[0]
    X = 100 * random.normal(size=(rows, 3)) @ strong.T + 0.1 * random.normal(size=(rows, 400))
    basis = first_directions(X)
    assert basis.shape == (400, SKETCH_COLUMNS)
    np.testing.assert_allclose(basis.T @ basis, np.eye(SKETCH_COLUMNS), atol=1e-8)
    assert np.linalg.norm(strong - basis @ (basis.T @ strong)) < 0.01


def test_the_digits_of_the_rows_decide_what_repeats_another() -> None:
    """Of a metric's solution in single precision, what is below its digits is no direction."""
    random = np.random.default_rng(1)
    X = random.normal(size=(6, 40))
    X[5] = X[0] + 1e-5 * random.normal(size=40)
    assert row_space(X, X.T)[0].shape == (6, 6)
    single = X.astype(np.float32)
    assert row_space(single, single.T)[0].shape == (6, 5)
    assert row_space(single)[0].shape == (6, 6)


def test_few_wide_rows_are_reduced_by_their_products_others_by_reflections() -> None:
    """A QR of n rows keeps n coordinates, whatever their rank; the products drop what repeats."""
    for columns, coordinates in ((39, 5), (40, 4), (41, 4)):
        X = np.random.default_rng(0).normal(size=(5, columns))
        X[4] = X[0] - X[1]
        assert row_space(X)[0].shape == (5, coordinates)


def test_what_repeats_is_told_by_the_largest_direction() -> None:
    """Two copies of one row and a rounding error: one coordinate, though the next largest is tiny."""
    X = np.random.default_rng(0).normal(size=(1, 60)) * np.array([[1.0], [2.0], [3.0]])
    Z, basis = row_space(X)
    assert Z.shape == (3, 1)
    np.testing.assert_allclose(Z @ basis.T, X, atol=1e-9)
