"""Model files: every estimator comes back as it was; the write is atomic."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import unseen
from estimators import ESTIMATORS, fitted, name_of
from toys import Toy, make_toy
from unseen import ESZSL, SJE, ClassTable, ModelFileError, SelfPaced, WithinClassWhitening, load
from unseen.persistence import save
from unseen.persistence.class_keys import known_classes
from unseen.transductive import AgreementSelection, BalancedSelection

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)


def through_a_file(model: Any, folder: Path) -> Any:
    path = folder / "model.safetensors"
    save(model, path)
    return load(path)


@every
def test_a_model_comes_back_as_it_was(estimator: Any, toy: Toy, tmp_path: Path) -> None:
    model = fitted(estimator, toy)
    again = through_a_file(model, tmp_path)
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    for X in (toy.X, toy.X.astype(np.float32)):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    if hasattr(model, "transduction_"):
        np.testing.assert_array_equal(again.transduction_, model.transduction_)
        np.testing.assert_array_equal(again.labelled_round_, model.labelled_round_)
        assert repr(again.history_) == repr(model.history_)  # NaN equals itself in print only


@every
def test_semantics_and_candidates_may_change_after_load(
    estimator: Any, toy: Toy, tmp_path: Path
) -> None:
    model = fitted(estimator, toy)
    again = through_a_file(model, tmp_path)
    larger = ClassTable.of(toy.semantics).with_classes({"newcomer": np.ones(8)})
    for changes in ({"candidates": "all"}, {"semantics": larger, "candidates": "unseen"}):
        model.set_params(**changes)
        again.set_params(**changes)
        np.testing.assert_array_equal(again.classes_, model.classes_)
        np.testing.assert_array_equal(again.decision_function(toy.X), model.decision_function(toy.X))
    assert "newcomer" in again.classes_


@every
def test_a_model_can_be_cloned_and_fitted_again(estimator: Any, toy: Toy, tmp_path: Path) -> None:
    model = fitted(estimator, toy)
    again = clone(through_a_file(model, tmp_path)).fit(*toy.transductive())
    np.testing.assert_allclose(again.decision_function(toy.X), model.decision_function(toy.X))


@every
def test_the_file_holds_no_training_row(estimator: Any, tmp_path: Path) -> None:
    """Three times the rows make the file longer by labels and rounds at most: a few bytes a row."""
    sizes = []
    for rows in (10, 30):
        model = fitted(estimator, make_toy(rows=rows))
        save(model, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
    more_rows = 20 * 16
    assert sizes[1] - sizes[0] < more_rows * 40  # a row of features has 160 bytes


def test_the_same_model_makes_the_same_bytes(toy: Toy, tmp_path: Path) -> None:
    model = fitted(SelfPaced(ESZSL()), toy)
    for name in "ab":
        model.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_any_reader_of_safetensors_can_read_the_arrays(toy: Toy, tmp_path: Path) -> None:
    model = fitted(ESZSL(), toy)
    model.save(tmp_path / "m.safetensors")
    with safetensors.safe_open(tmp_path / "m.safetensors", framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("compatibility_"), model.compatibility_)
        assert '"class":"ESZSL"' in file.metadata()["unseen"]


@pytest.mark.parametrize("kind", ["frame", "integers", "one-hot", "table"])
def test_semantics_of_every_kind(kind: str, toy: Toy, tmp_path: Path) -> None:
    frame = pd.DataFrame.from_dict(toy.semantics, orient="index")
    names = list(toy.semantics)
    y = toy.y
    semantics: Any = {"frame": frame, "table": ClassTable.of(frame), "one-hot": None}.get(kind)
    if kind == "integers":
        semantics = {k: toy.semantics[name] for k, name in enumerate(names)}
        y = np.array([names.index(name) for name in toy.y])
    model = ESZSL(semantics).fit(toy.X[toy.train], y[toy.train])
    again = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(again.predict(toy.X), model.predict(toy.X))
    assert again.classes_.dtype == model.classes_.dtype
    if kind == "table":
        assert again.semantics == semantics
    assert (again.semantics is None) == (kind == "one-hot")


@pytest.mark.parametrize("labels", [np.array([0.0, 2.0, 5.0]), np.array([False, True, True])])
def test_one_hot_labels_keep_their_type(labels: Any, tmp_path: Path) -> None:
    y = np.repeat(labels, 5)
    X = np.random.default_rng(0).normal(size=(15, 4)) + np.arange(15)[:, None]
    model = ESZSL().fit(X, y.astype(object) if y.dtype == bool else y)
    again = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == model.predict(X).dtype


def test_column_names_strategies_and_random_states(toy: Toy, tmp_path: Path) -> None:
    X, y = toy.transductive()
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    partner = fitted(ESZSL(), toy).predict_proba(toy.X[toy.unseen])
    strategy = AgreementSelection(partner, BalancedSelection(shares=(0.5, 1.0), prior=None))
    inner = SJE(toy.semantics, random_state=np.random.RandomState(3))
    model = SelfPaced(inner, selection=strategy).fit(frame, y)
    again = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    assert again.feature_names_in_.dtype == object
    assert again.selection.strategy == strategy.strategy
    np.testing.assert_array_equal(again.selection.partner, partner)
    assert again.estimator.random_state is None
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame.rename(columns={"column 0": "other"}))


def test_a_pipeline(toy: Toy, tmp_path: Path) -> None:
    steps = StandardScaler(), PCA(10), Normalizer(), WithinClassWhitening(), ESZSL(toy.semantics)
    model = make_pipeline(*steps, memory=str(tmp_path / "cache"))
    model.fit(toy.X[toy.train], toy.y[toy.train])
    again = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(again.decision_function(toy.X), model.decision_function(toy.X))
    assert again.memory is None  # a cache folder holds pickles


def test_an_attribute_of_plain_data_travels_with_the_model(toy: Toy, tmp_path: Path) -> None:
    model = fitted(ESZSL(), toy)
    model.backbone_ = {"name": "efficientnet-lite0", "sizes": (224, 224), 3: [None, True]}
    assert through_a_file(model, tmp_path).backbone_ == model.backbone_


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ESZSL().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


class Own(ESZSL):
    """A user's own estimator."""


def test_what_a_file_cannot_hold_is_named(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match=r"The model: is of the type .*Own.*no other class"):
        fitted(Own(), toy).save(path)
    with pytest.raises(ModelFileError, match=r"estimator: is of the type .*Own"):
        fitted(SelfPaced(Own()), toy).save(path)
    model = fitted(SelfPaced(ESZSL()), toy)
    for value, message in [
        (len, r"estimator_\.extra_: is of the type builtins\.builtin_function_or_method"),
        ([1, {"a": {2}}], r"estimator_\.extra_\[1\]\['a'\]: is of the type builtins\.set"),
        ({(1, 2): 3}, r"estimator_\.extra_: has a key of the type tuple"),
        (np.ones(3, dtype=complex), r"estimator_\.extra_: is an array of the dtype complex128"),
        (np.ma.masked_array([1.0], [True]), r"estimator_\.extra_: is an array"),
        (ModelFileError, r"estimator_\.extra_: is of the type builtins\.type"),
    ]:
        model.estimator_.extra_ = value
        with pytest.raises(ModelFileError, match=message):
            model.save(path)
    circle: list[Any] = []
    circle.append(circle)
    model.estimator_.extra_ = circle
    with pytest.raises(ModelFileError, match="nested too deeply, or holds itself"):
        model.save(path)
    model.estimator_.extra_ = ["a long text " * 1_000_000]
    with pytest.raises(ModelFileError, match="names and texts take more than"):
        model.save(path)
    with pytest.raises(ModelFileError, match=r"an estimator of unseen or a Pipeline. Got list"):
        save([1], path)
    with pytest.raises(ModelFileError, match="is a folder"):
        fitted(ESZSL(), toy).save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_every_public_estimator_can_be_saved() -> None:
    """A new estimator needs no line of code in the registry."""
    known = set(known_classes().values())
    for name in unseen.__all__:
        thing = getattr(unseen, name)
        if isinstance(thing, type) and issubclass(thing, BaseEstimator):
            assert thing in known, name


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_kill_in_the_middle_of_save_leaves_the_old_file(toy: Toy, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = fitted(ESZSL(), toy)
    model.save(path)
    before = path.read_bytes()
    script = textwrap.dedent(
        f"""
        import os, pathlib, signal
        from unseen import load
        model = load({str(path)!r}).set_params(candidates="all")
        whole = pathlib.Path.write_bytes
        def half(self, data):
            whole(self, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        pathlib.Path.write_bytes = half
        model.save({str(path)!r})
        """
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert load(path).candidates == "unseen"


def test_a_model_is_saved_where_nothing_of_files_was_imported(tmp_path):
    """Names are imported when they are first used: an estimator alone can be saved all the same."""
    code = (
        "from unseen import ESZSL\n"
        "model = ESZSL({'cat': [1, 0], 'dog': [0, 1]})\n"
        "model.fit([[1.0, 0.0], [0.0, 1.0]], ['cat', 'dog']).save('m.safetensors')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(unseen.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert unseen.load(tmp_path / "m.safetensors").seen_classes_.tolist() == ["cat", "dog"]
