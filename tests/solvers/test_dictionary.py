"""Sparse codes and tied dictionaries: the conditions of optimality."""

from __future__ import annotations

import numpy as np

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
