"""Sparse codes and tied dictionaries: the conditions of optimality."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from unseen.solvers.dictionary import BLOCK_ROWS_OF_CODES, sparse_codes, tied_dictionary


def test_codes_satisfy_the_conditions_of_the_lasso() -> None:
    random = np.random.default_rng(0)
    X, D, prior = random.normal(size=(6, 9)), random.normal(size=(4, 9)), random.normal(size=(6, 4))
    for penalty, tie in ((0.5, 0.0), (0.5, 2.0), (0.0, 1.5)):
        Y = sparse_codes(X, D, penalty, prior, tie)
        slope = (Y @ D - X) @ D.T + tie * (Y - prior)
        np.testing.assert_allclose(slope[Y != 0], -penalty * np.sign(Y[Y != 0]), atol=0.02)
        assert (np.abs(slope) <= penalty + 0.02).all()


def test_a_tied_dictionary_is_stationary() -> None:
    random = np.random.default_rng(1)
    X, Y, anchor = random.normal(size=(20, 5)), random.normal(size=(20, 3)), random.normal(size=(3, 5))
    D = tied_dictionary(X, Y, anchor, 0.7)
    np.testing.assert_allclose(Y.T @ (Y @ D - X) + 0.7 * (D - anchor), 0, atol=1e-9)
    np.testing.assert_allclose(tied_dictionary(X, Y, anchor, 1e12), anchor, atol=1e-6)


def test_a_row_is_coded_alike_whatever_its_block() -> None:
    random = np.random.default_rng(2)
    X, D = random.normal(size=(BLOCK_ROWS_OF_CODES + 3, 9)), random.normal(size=(4, 9))
    prior = random.normal(size=(len(X), 4))
    together = sparse_codes(X, D, 0.5, prior, 2.0)
    for row in (0, BLOCK_ROWS_OF_CODES - 1, BLOCK_ROWS_OF_CODES, BLOCK_ROWS_OF_CODES + 2):
        alone = sparse_codes(X[[row]], D, 0.5, prior[[row]], 2.0)[0]
        np.testing.assert_allclose(together[row], alone, atol=1e-12)


@pytest.mark.parametrize("columns", [3, 4, 9])
def test_codes_are_those_of_a_lasso_whatever_the_width(columns: int) -> None:
    """Fewer, as many and more columns than atoms; a prior without a tie counts for nothing."""
    random = np.random.default_rng(3)
    X, D, prior = random.normal(size=(5, columns)), random.normal(size=(4, columns)), np.ones((5, 4))
    for positive in (False, True):
        lasso = Lasso(0.3 / columns, fit_intercept=False, positive=positive, tol=1e-12, max_iter=9999)
        want = np.stack([lasso.fit(D.T, x).coef_ for x in X])

        def cost(Y):
            return 0.5 * ((X - Y @ D) ** 2).sum(axis=1) + 0.3 * np.abs(Y).sum(axis=1)

        for more in ({}, {"prior": prior}, {"tie": 2.0}):
            found = sparse_codes(X, D, 0.3, positive=positive, **more)
            assert not positive or (found >= 0).all()
            np.testing.assert_allclose(cost(found), cost(want), rtol=1e-4)


def test_without_a_penalty_codes_are_least_squares() -> None:
    random = np.random.default_rng(4)
    X, D = random.normal(size=(5, 9)), random.normal(size=(4, 9))
    want = np.linalg.lstsq(D.T, X.T, rcond=None)[0].T
    np.testing.assert_allclose(sparse_codes(X, D, 0.0), want, atol=1e-9)
    assert (sparse_codes(X, D, 0.0, positive=True) >= 0).all()
    assert (want < 0).any()


def test_a_tie_below_one_counts() -> None:
    random = np.random.default_rng(5)
    X, D, prior = random.normal(size=(5, 9)), random.normal(size=(4, 9)), random.normal(size=(5, 4))
    Y = sparse_codes(X, D, 0.0, prior, 0.5)
    np.testing.assert_allclose((Y @ D - X) @ D.T + 0.5 * (Y - prior), 0, atol=1e-9)
