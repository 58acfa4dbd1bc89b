"""The service: strangers and prediction sets in its answers."""

from __future__ import annotations

import numpy as np
import pytest
from starlette.testclient import TestClient

import unseen
from toys import make_toy
from unseen import NoneOfThese, PrototypeRidge
from unseen.serving import Service


@pytest.fixture(scope="module")
def toy():
    return make_toy(seed=3, seen=18, unseen=6)


@pytest.fixture(scope="module")
def pool(toy):
    """Rows of unseen classes, and rows of seen ones that are no candidates."""
    return np.concatenate([toy.unseen, toy.train[::7][: len(toy.unseen) // 4]])


@pytest.fixture(scope="module")
def client(toy, pool, tmp_path_factory):
    path = tmp_path_factory.mktemp("service") / "model.safetensors"
    train = np.setdiff1d(toy.train, pool)
    rows = np.concatenate([train, pool])
    labels = toy.y[rows].astype(object)
    labels[len(train) :] = None
    model = NoneOfThese(PrototypeRidge(toy.semantics), strangers=0.2, unknown="none of these")
    model.fit(toy.X[rows], labels).save(path)
    with TestClient(Service(path).app) as found:
        found.path = path
        yield found


def test_strangers_are_answered_as_the_model_does(client, toy, pool):
    X, model = toy.X[pool], unseen.load(client.path)
    told = client.post("/predict", json={"features": X.tolist()}).json()
    assert told["labels"] == model.predict(X).tolist()
    assert "none of these" in told["labels"]
    np.testing.assert_allclose(told["strangers"], model.stranger_proba(X))
    np.testing.assert_allclose(told["probabilities"], model.predict_proba(X))
    assert "sets" not in told


def test_prediction_sets(client, toy, pool):
    X, model = toy.X[pool], unseen.load(client.path)
    told = client.post("/predict?coverage=0.8", json={"features": X.tolist()}).json()
    inside, odds = model.predict_set(X, 0.8), model.stranger_proba(X)
    for row, held in enumerate(told["sets"]):
        assert held[0] == told["labels"][row]
        expected = set(model.classes_[inside[row]].tolist())
        if told["labels"][row] == "none of these" or odds[row] > 0.2:
            expected.add("none of these")
        assert set(held) == expected


@pytest.mark.parametrize("asked", ["0", "1", "nan", "many"])
def test_a_coverage_that_cannot_be_is_refused(client, toy, asked):
    answer = client.post(f"/predict?coverage={asked}", json={"features": toy.X[:1].tolist()})
    assert answer.status_code == 422
    assert f"must be a number between 0 and 1, as 0.9. Got '{asked}'" in answer.json()["detail"]


def test_the_description_names_the_parameter(client):
    described = client.get("/openapi.json").json()
    assert described["paths"]["/predict"]["post"]["parameters"][0]["name"] == "coverage"
    assert {"strangers", "sets"} <= set(described["components"]["schemas"]["Prediction"]["properties"])
