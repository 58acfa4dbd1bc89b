"""The same fit on arrays, on chunks of a file and on a Dask array: scores agree to 1e-4."""

from __future__ import annotations

import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from toys import make_toy
from unseen import (
    ASTE,
    ESZSL,
    SJE,
    TASTE,
    FastTraining,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
)
from unseen.exceptions import AdaptationWarning
from unseen.scale.local import LocalChunks
from unseen.transductive.selection import BalancedSelection

ESTIMATORS = [
    ESZSL(),
    ASTE(),
    TASTE(),
    TASTE(selection="threshold"),
    TASTE(selection=BalancedSelection(by="margin", prior="estimated")),
    SelfPaced(ESZSL()),
    SelfPaced(ASTE(), selection="threshold"),
    FastTraining(ASTE()),
    FastTraining(SJE(random_state=0)),
    FastTraining(TASTE()),
    FastTraining(SelfPaced(ESZSL())),
    SelfPaced(FastTraining(ASTE())),
    SelfPaced(FastTraining(PrototypeRidge())),
    SelfPacedPrototypes(),
    SelfPacedPrototypes(class_prior="uniform"),
    SelfPacedPrototypes(class_prior="estimated", normalise="unit"),
    SelfPacedPrototypes(rounds=0),
]
KINDS = ["local", "dask"]


def in_chunks(kind: str, values: Any, size: int) -> Any:
    """The same rows in chunks, some of them uneven."""
    n = len(values)
    sizes = (size,) * (n // size) + ((n % size,) if n % size else ())
    if kind == "local":
        return LocalChunks.of(values, sizes)
    return da.from_array(values, chunks=(sizes, *((w,) for w in values.shape[1:])))


def problem(dtype: Any = np.float64, shuffled: bool = True) -> tuple[Any, Any, Any]:
    toy = make_toy(seen=20, unseen=5, p=24, q=10, rows=60)
    X, y = toy.transductive()
    order = np.random.default_rng(0).permutation(len(X)) if shuffled else np.arange(len(X))
    return X[order].astype(dtype), y[order], toy.semantics


def name_of(estimator: Any) -> str:
    return repr(estimator).replace("\n", "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_scores_agree_with_the_fit_in_memory(estimator: Any, kind: str) -> None:
    X, y, semantics = problem()
    estimator.set_params(semantics=semantics, candidates="unseen")
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore", AdaptationWarning)
        want = estimator.fit(X, y)
        wanted, transduced = want.decision_function(X), getattr(want, "transduction_", None)
        rounds = getattr(want, "labelled_round_", None)
        history = getattr(want, "history_", None)
        temperature, accuracy = want.temperature_, want.set_params(candidates="all").score(X, y)
        assert accuracy > 0.1
        estimator.set_params(candidates="unseen")
        chunks = in_chunks(kind, X, 400)
        got = estimator.fit(chunks, in_chunks(kind, y, 400))
        scores = got.decision_function(chunks)
        assert isinstance(scores, da.Array) == (kind == "dask")
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(np.asarray(scores), wanted, atol=1e-4 * scale)
        np.testing.assert_array_equal(np.asarray(got.predict(chunks)), got.predict(X))
        np.testing.assert_allclose(
            np.asarray(got.predict_proba(chunks)), got.predict_proba(X), atol=1e-6
        )
        assert got.temperature_ == pytest.approx(temperature, rel=1e-4)
        got.set_params(candidates="all")
        assert got.score(chunks, in_chunks(kind, y, 400)) == pytest.approx(accuracy)
        if transduced is not None:
            np.testing.assert_array_equal(np.asarray(got.transduction_), transduced)
            np.testing.assert_array_equal(np.asarray(got.labelled_round_), rounds)
            assert [h.selected for h in got.history_] == [h.selected for h in history]
            np.testing.assert_allclose(
                [h.loss for h in got.history_], [h.loss for h in history], rtol=1e-4
            )
