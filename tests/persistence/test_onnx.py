"""The ONNX graph: the model's scores in another runtime, and classes that are added to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from estimators import ESTIMATORS, fitted, name_of
from toys import Toy, make_toy
from unseen import (
    ESZSL,
    ClassTable,
    DataError,
    ModelFileError,
    PrototypeRidge,
    SelfPaced,
    SelfPacedPrototypes,
    WithinClassWhitening,
    add_classes_to_onnx,
    export_onnx,
)
from unseen.base import ZeroShotClassifier
from unseen.statistics.scorer import Affine, Scorer, UnitLength

NEW = {"newcomer": np.linspace(-1, 1, 8), "another": np.linspace(2, 0, 8)}


class NoFormula(ESZSL):
    """Its scores have no formula that a graph can hold."""

    def _scorer(self, vectors: Any) -> Any:
        return ZeroShotClassifier._scorer(self, vectors)


class OldFormula(ESZSL):
    """A formula that is inherited, and scores that are not."""

    def _scores(self, X: Any, vectors: Any) -> Any:
        return np.tanh(super()._scores(X, vectors))


class WrongFormula(OldFormula):
    """A formula that is not that of the scores."""

    def _scorer(self, vectors: Any) -> Any:
        return super()._scorer(vectors)


every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
FORMULAS = ["ESZSL", "SJE", "ASTE", "ASTE-sgd", "TASTE", "PrototypeRidge", "SelfPacedPrototypes"]


def is_exported(model: Any, path: Path, dtype: str = "float32") -> bool:
    """Export; tell whether the scores have a formula. One that has none must be refused."""
    try:
        model._formula(model._resolve()[1])
    except NotImplementedError:
        assert name_of(model).rstrip(")").rpartition("(")[2] not in FORMULAS
        with pytest.raises(ModelFileError, match="are no formula"):
            export_onnx(model, path)
        return False
    export_onnx(model, path, dtype)
    return True


@pytest.fixture(scope="module")
def wide() -> Toy:
    """Columns enough for the flagship to take roots and unit lengths."""
    return make_toy(p=70)


class Cosine(ESZSL):
    """Cosines of rows and classes, both about their centres."""

    def _scores(self, X: Any, vectors: Any) -> Any:
        own, points = X - 0.5, (vectors - 0.1) @ self.compatibility_.T
        own = own / np.linalg.norm(own, axis=1, keepdims=True)
        return own @ (points / np.linalg.norm(points, axis=1, keepdims=True)).T

    def _scorer(self, vectors: Any) -> Any:
        V = self.compatibility_
        scorer = Scorer(V, -V @ np.full(V.shape[1], 0.1), unit_points=True)
        return scorer.after(Affine(np.full(len(V), 0.5), np.ones(len(V))), UnitLength())


def test_cosines(toy: Toy, tmp_path: Path) -> None:
    model = fitted(Cosine(), toy)
    export_onnx(model, tmp_path / "scorer.onnx")
    X = toy.X.astype(np.float32)
    assert_agrees(run(tmp_path / "scorer.onnx", X), model.decision_function(X.astype(float)))


def run(path: Path, X: Any) -> Any:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"features": X})[0]


def assert_agrees(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def classes_of(path: Path) -> Any:
    facts = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    return json.loads(facts["classes"])


@every
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_agree_in_onnxruntime(
    estimator: Any, dtype: str, toy: Toy, wide: Toy, tmp_path: Path
) -> None:
    path = tmp_path / "scorer.onnx"
    for data in (toy, wide):
        model = fitted(estimator, data)
        if not is_exported(model, path, dtype):
            return
        X = data.X.astype(dtype)
        found = run(path, X)
        assert found.dtype == dtype
        assert_agrees(found, model.decision_function(X.astype(float)))
        assert classes_of(path) == model.classes_.tolist()
        np.testing.assert_allclose(run(path, X[:1]), found[:1], rtol=1e-4, atol=1e-4)
        assert run(path, X[:0]).shape == (0, 4)


@every
def test_classes_are_added_without_the_model(estimator: Any, wide: Toy, tmp_path: Path) -> None:
    path, larger = tmp_path / "scorer.onnx", tmp_path / "larger.onnx"
    model = fitted(estimator, wide)
    if not is_exported(model, path):
        return
    before = path.read_bytes()
    add_classes_to_onnx(path, NEW, larger)
    assert path.read_bytes() == before
    model.set_params(semantics=ClassTable.of(wide.semantics).with_classes(NEW))
    X = wide.X.astype(np.float32)
    assert classes_of(larger) == model.classes_.tolist()
    assert_agrees(run(larger, X), model.decision_function(X.astype(float)))
    add_classes_to_onnx(path, NEW)
    assert path.read_bytes() == larger.read_bytes()
    onnx.checker.check_model(onnx.load(path), full_check=True)


@pytest.mark.parametrize("estimator", [NoFormula(), OldFormula(), SelfPaced(OldFormula())], ids=name_of)
def test_scores_without_a_formula_are_refused(estimator: Any, toy: Toy, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"The scores of .* are no formula.*Use model\.save"):
        export_onnx(fitted(estimator, toy), tmp_path / "scorer.onnx")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_differs_from_the_model_is_not_written(toy: Toy, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"WrongFormula differs from the model by"):
        export_onnx(fitted(WrongFormula(), toy), tmp_path / "scorer.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("candidates", ["seen", "all", ["class 13", "class 02"]])
def test_the_candidates_in_force_are_exported(candidates: Any, toy: Toy, tmp_path: Path) -> None:
    for estimator in (ESZSL(), SelfPacedPrototypes()):
        model = fitted(estimator, toy).set_params(candidates=candidates)
        export_onnx(model, tmp_path / "scorer.onnx")
        found = run(tmp_path / "scorer.onnx", toy.X.astype(np.float32))
        wanted = model._candidate_scores(toy.X.astype(np.float32).astype(float))
        assert_agrees(found, wanted)
        assert classes_of(tmp_path / "scorer.onnx") == model.classes_.tolist()


@pytest.mark.parametrize(
    "steps",
    [
        [WithinClassWhitening()],
        [StandardScaler(), Normalizer()],
        [StandardScaler(with_mean=False, with_std=False), "passthrough"],
    ],
    ids=["whitening", "scaled", "nothing"],
)
def test_a_pipeline(steps: list[Any], toy: Toy, tmp_path: Path) -> None:
    model = make_pipeline(*steps, PrototypeRidge(toy.semantics))
    model.fit(toy.X[toy.train], toy.y[toy.train])
    export_onnx(model, tmp_path / "scorer.onnx")
    X = toy.X.astype(np.float32)
    assert_agrees(run(tmp_path / "scorer.onnx", X), model.decision_function(X.astype(float)))


def test_a_zero_row_stays_zero(wide: Toy, tmp_path: Path) -> None:
    model = fitted(SelfPacedPrototypes(), wide)
    export_onnx(model, tmp_path / "scorer.onnx")
    X = np.zeros((2, 70), dtype=np.float32)
    assert_agrees(run(tmp_path / "scorer.onnx", X), model.decision_function(X.astype(float)))


@pytest.mark.parametrize("estimator", [ESZSL(), SelfPacedPrototypes()], ids=name_of)
def test_without_semantics(estimator: Any, toy: Toy, tmp_path: Path) -> None:
    model = clone(estimator).fit(toy.X, toy.y)
    path = tmp_path / "scorer.onnx"
    export_onnx(model, path)
    assert_agrees(run(path, toy.X.astype(np.float32)), model.decision_function(toy.X))
    with pytest.raises(ModelFileError, match="fitted without semantics"):
        add_classes_to_onnx(path, {"new": np.ones(16)})


def test_integer_classes_stay_integers(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "scorer.onnx"
    names = list(toy.semantics)
    y = np.array([names.index(name) for name in toy.y])
    semantics = {k: toy.semantics[name] for k, name in enumerate(names)}
    export_onnx(ESZSL(semantics).fit(toy.X[toy.train], y[toy.train]), path)
    assert classes_of(path) == [12, 13, 14, 15]
    with pytest.raises(ValueError, match=r"of the type int, the new ones are of the type str"):
        add_classes_to_onnx(path, {"new": np.ones(8)})
    add_classes_to_onnx(path, {20: np.ones(8)})
    assert classes_of(path) == [12, 13, 14, 15, 20]


def test_mistakes_are_named(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "scorer.onnx"
    model = fitted(ESZSL(), toy)
    with pytest.raises(ValueError, match="'float32' or 'float64'"):
        export_onnx(model, path, "float16")
    with pytest.raises(NotFittedError):
        export_onnx(ESZSL(), path)
    with pytest.raises(ModelFileError, match=r"Only an estimator of unseen is exported\. Got PCA"):
        export_onnx(PCA(2).fit(toy.X), path)
    pipeline = make_pipeline(PCA(5), ESZSL(toy.semantics)).fit(toy.X[toy.train], toy.y[toy.train])
    with pytest.raises(ModelFileError, match="The step PCA cannot be exported"):
        export_onnx(pipeline, path)
    export_onnx(SelfPaced(ESZSL(toy.semantics)).fit(*toy.transductive()), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"vectors of 3 columns, but those of .* have 8"):
        add_classes_to_onnx(path, {"new": [1, 2, 3]})
    with pytest.raises(ValueError, match="already has the class 'class 12'"):
        add_classes_to_onnx(path, {"class 12": np.ones(8)})
    assert path.read_bytes() == before


def test_other_files_are_refused(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "scorer.onnx"
    export_onnx(fitted(ESZSL(), toy), path)
    good = path.read_bytes()
    foreign = onnx.load(path)
    del foreign.metadata_props[:]
    broken = onnx.load(path)
    broken.graph.initializer[0].raw_data = b"abc"
    nameless = onnx.load(path)
    nameless.metadata_props[0].value = "no JSON"
    forms = [foreign.SerializeToString(), broken.SerializeToString(), nameless.SerializeToString()]
    for data in [*forms, b"", b"PK", good[: len(good) // 2]]:
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=r"scorer\.onnx: .*again"):
            add_classes_to_onnx(path, NEW)
        assert path.read_bytes() == data
    with pytest.raises(ModelFileError, match="no such file"):
        add_classes_to_onnx(tmp_path / "nothing", NEW)


def test_a_missing_extra_is_named(toy: Toy, tmp_path: Path, monkeypatch: Any) -> None:
    model = fitted(ESZSL(), toy)
    monkeypatch.setitem(sys.modules, "onnx", None)
    for call in (lambda: export_onnx(model, "a.onnx"), lambda: add_classes_to_onnx("a.onnx", NEW)):
        with pytest.raises(DataError, match=r'needs onnx.*pip install "unseen-zsl\[onnx\]"'):
            call()
