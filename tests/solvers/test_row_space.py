"""Few rows in the span that they have."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.solvers.row_space import row_space


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
