"""WithinClassWhitening: contract, pipeline, and what it does to distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from unseen import ESZSL, SelfPaced
from unseen.transductive import WithinClassWhitening


@parametrize_with_checks([WithinClassWhitening()])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def planted(rows: int = 300, classes: int = 4, columns: int = 5) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(rows) % classes
    mixing = rng.standard_normal((columns, columns))
    X = 2 * rng.standard_normal((classes, columns))[y] + rng.standard_normal((rows, columns)) @ mixing
    return X, y


def test_nearest_mean_after_whitening_is_linear_discriminant_analysis() -> None:
    X, y = planted()
    nearest = make_pipeline(WithinClassWhitening(shrinkage=0.0), NearestCentroid()).fit(X, y)
    lda = LinearDiscriminantAnalysis(priors=np.full(4, 0.25)).fit(X, y)
    assert (nearest.predict(X) == lda.predict(X)).all()


def test_rows_without_a_label_do_not_count() -> None:
    X, y = planted()
    some = np.where(np.arange(len(y)) < 200, y, -1)
    a = WithinClassWhitening().fit(X, some)
    b = WithinClassWhitening().fit(X[:200], y[:200])
    np.testing.assert_allclose(a.transform(X), b.transform(X))
    named = np.where(some >= 0, some.astype(str), None)
    np.testing.assert_allclose(WithinClassWhitening().fit(X, named).transform(X), a.transform(X))


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_few_rows_constant_columns_and_repeated_rows(columns: int) -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((6, columns)), 2, axis=0)
    X[:, 0] = 7.0
    out = WithinClassWhitening().fit_transform(X, np.arange(12) % 2)
    assert np.isfinite(out).all()
    alone = WithinClassWhitening().fit_transform(X[:3], [0, 1, 2])
    assert np.isfinite(alone).all()


def test_names_and_precision() -> None:
    X, y = planted()
    fitted = WithinClassWhitening().fit(X.astype(np.float32), y)
    assert fitted.transform(X.astype(np.float32)).dtype == np.float32
    assert list(fitted.get_feature_names_out()[:2]) == [
        "withinclasswhitening0",
        "withinclasswhitening1",
    ]
    np.testing.assert_allclose(
        fitted.transform(X), WithinClassWhitening().fit_transform(X, y), atol=1e-4
    )


def test_messages() -> None:
    X, y = planted()
    with pytest.raises(ValueError, match=r"'shrinkage' parameter .* number in \[0, 1\]. Got 2"):
        WithinClassWhitening(shrinkage=2).fit(X, y)
    with pytest.raises(ValueError, match="no labelled row"):
        WithinClassWhitening().fit(X, np.full(len(y), -1))


def test_it_composes_with_self_paced_in_a_pipeline() -> None:
    X, y = planted()
    semantics = {k: np.eye(4)[k] for k in range(4)}
    hidden = np.where(y == 3, -1, y)
    model = make_pipeline(WithinClassWhitening(), SelfPaced(ESZSL(semantics))).fit(X, hidden)
    assert set(model.predict(X[y == 3])) == {3}
