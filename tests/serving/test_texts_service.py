"""Texts over HTTP, for a model that was fitted on texts."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from texts import Bags, write_classes, write_texts
from unseen import DataError
from unseen.labelling import Task, extract_texts, fit, prepare_texts, save_model, text_models
from unseen.serving import Keeper, Limits, Service
from unseen.serving.text_reader import TextReader


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setattr(text_models, "text_encoder", lambda name: Bags())
    monkeypatch.setattr(text_models, "BUILT_IN_ENCODERS", ("bags",))
    prepared = prepare_texts(write_texts(tmp_path / "t.csv"), write_classes(tmp_path / "c.csv"))
    save_model(
        tmp_path / "m.safetensors",
        fit(Task(extract_texts(prepared, Bags(), None), "SharedSpacePrototypes")),
    )
    return tmp_path / "m.safetensors"


def test_texts_are_labelled(model):
    keeper = Keeper(model)
    reader = TextReader(model, keeper.origin, keeper.features)
    with TestClient(Service(model, Limits(texts=2), reader=reader, keeper=keeper).app) as client:
        assert client.get("/health").json()["texts"] is True
        asked = ["money back please", "reset my password"]
        told = client.post("/predict", json={"texts": asked})
        assert told.status_code == 200, told.text
        assert told.json()["labels"] == ["refund", "login"]
        for texts, message in (
            ([], "send 1 to 2"),
            (asked * 2, "send 1 to 2"),
            (["  "], "Text 0 is empty"),
            (["a" * 10_001], "send at most 10,000"),
        ):
            refused = client.post("/predict", json={"texts": texts})
            assert refused.status_code == 422
            assert message in refused.json()["detail"]
        twice = client.post("/predict", json={"texts": asked, "features": [[0.0] * 48]})
        assert "Give one of 'features', 'images' and 'texts'" in twice.json()["detail"]
        assert "texts" in str(client.get("/openapi.json").json()["paths"]["/predict"])


def test_texts_are_refused_where_there_is_no_encoder(model):
    with TestClient(Service(model).app) as client:
        refused = client.post("/predict", json={"texts": ["hello"]})
        assert refused.status_code == 422
        assert "takes no texts" in refused.json()["detail"]


def test_no_encoder_is_loaded_because_a_file_names_it(model, monkeypatch):
    monkeypatch.setattr(text_models, "BUILT_IN_ENCODERS", ("minilm",))
    keeper = Keeper(model)
    with pytest.raises(DataError, match="not loaded because a file names it"):
        TextReader(model, keeper.origin, keeper.features)
    assert TextReader(model, keeper.origin, keeper.features, "bags").encoder.name == "bags"
    with TestClient(Service(model, keeper=keeper).app) as client:
        refused = client.post("/classes", json={"name": "fees", "description": "costs of an account"})
        assert refused.status_code == 422
        assert "not loaded because a file names it" in refused.json()["detail"]


def test_other_weights_are_refused(model, monkeypatch):
    monkeypatch.setattr(Bags, "identity", "bags | 2")
    keeper = Keeper(model)
    with pytest.raises(DataError, match="with other weights"):
        TextReader(model, keeper.origin, keeper.features)
