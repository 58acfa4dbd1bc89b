"""The ridges of a class-wise fold, against the closed form on the rows of the other classes."""

import numpy as np
import pytest

from unseen.inductive.bilinear import FoldOf, Path, _Fold, fold_sums
from unseen.rows.labelled import Rows, class_folds
from unseen.solvers.moments import Moments, Sums


@pytest.mark.parametrize("attributes", [3, 30], ids=["fewer than classes", "more than classes"])
def test_both_factors_make_the_closed_form(attributes):
    generator = np.random.default_rng(attributes)
    classes, columns = 12, 7
    codes = np.repeat(np.arange(classes), 6)
    X = generator.normal(size=(len(codes), columns))
    A = generator.normal(size=(attributes, classes))
    C, mu = Path((0.5, 20.0), absolute=True), Path((0.1, 2.0, 9.0), absolute=True)
    parts = class_folds(A.T, 3)
    moments, labels, counts = fold_sums(Rows(X, codes), FoldOf.of(parts, classes))
    total = Sums(Moments.given(sum(moments)), labels, counts, columns)
    for part, held in zip(parts, moments, strict=True):
        fold = _Fold(part, total, held, A, C, mu, X.dtype)
        assert fold.left.shape[2] == min(attributes, classes - len(part))
        others = np.setdiff1d(np.arange(classes), part)
        own = np.isin(codes, others)
        seen, Y = A[:, others], (codes[own, None] == others).astype(float)
        for i, ridge in enumerate(C.values):
            left = np.linalg.inv(2 * X[own].T @ X[own] + ridge * np.eye(columns))
            for j, semantic in enumerate(mu.values):
                right = np.linalg.inv(seen @ seen.T + semantic * np.eye(attributes))
                V = 2 * left @ X[own].T @ Y @ seen.T @ right
                np.testing.assert_allclose(fold.left[:, i] @ fold.right[j], V @ A[:, part], atol=1e-8)
