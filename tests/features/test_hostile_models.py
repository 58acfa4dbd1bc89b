"""A model file does not choose what is opened, run or fetched: only the person at the keyboard does."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
import types

import pytest
from typer.testing import CliRunner

import unseen
from pictures import picture
from toys import make_toy
from unseen import ESZSL, ClassTable, cli, features
from unseen.exceptions import DataError
from unseen.features import downloads
from unseen.labelling import load_model, recipe_of
from unseen.serving.vision import Vision

NAMED_BY_A_FILE = "not loaded because a file names it"


@pytest.fixture
def stand_in(monkeypatch):
    """A stand-in for transformers that notes how it is called, and for torch where that is absent."""
    calls = []

    class Auto:
        @classmethod
        def from_pretrained(cls, name, **options):
            calls.append((name, options))
            raise OSError("nothing here")

        get_image_processor_dict = from_pretrained

    library = types.ModuleType("transformers")
    library.AutoModel = library.AutoTokenizer = library.BaseImageProcessor = Auto
    monkeypatch.setitem(sys.modules, "transformers", library)
    if importlib.util.find_spec("torch") is None:  # it is asked for first, and nothing of it is used
        torch = types.ModuleType("torch")
        torch.Tensor = type("Tensor", (), {})  # scikit-learn asks whether an array is one
        monkeypatch.setitem(sys.modules, "torch", torch)
    if importlib.util.find_spec("huggingface_hub") is None:
        hub, constants = (types.ModuleType(f"huggingface_hub{end}") for end in ("", ".constants"))
        hub.constants, constants.HF_HUB_OFFLINE = constants, False
        for module in (hub, constants):
            monkeypatch.setitem(sys.modules, module.__name__, module)
    return calls


@pytest.fixture
def model_file(tmp_path):
    def write(**origin):
        toy = make_toy()
        table = ClassTable.of(toy.semantics)
        model = ESZSL(table, candidates="all").fit(toy.X[toy.train], toy.y[toy.train])
        whole = {"backbone": "colours", "identity": "", "words": "", "weight": 0.5, "attributes": []}
        model.origin_ = {**whole, **origin}
        model.save(tmp_path / "model.safetensors")
        return tmp_path / "model.safetensors"

    return write


def _run(*arguments):
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


@pytest.mark.parametrize("name", ["hf:evil/model", "onnx:/etc/passwd", "timm:hf-hub:evil/model"])
def test_predict_and_serve_load_no_backbone_that_a_file_names(name, model_file, tmp_path, stand_in):
    path = model_file(backbone=name)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(picture((220, 30, 30)))
    result = _run("predict", path, tmp_path / "photos", "--out", tmp_path / "labels.csv")
    assert isinstance(result.exception, DataError)
    assert NAMED_BY_A_FILE in str(result.exception)
    assert result.exception.options == ("backbone",)
    model, origin = load_model(path)
    with pytest.raises(DataError, match=NAMED_BY_A_FILE):
        Vision(path, origin, model.n_features_in_)
    assert stand_in == []


@pytest.mark.parametrize("name", ["hf:evil/model", "/etc/passwd.txt", "onnx:x"])
def test_no_words_that_a_file_names_are_loaded(name, model_file, stand_in):
    path = model_file(words=name)
    before = path.read_bytes()
    result = _run("add-class", path, "--name", "owl")
    assert isinstance(result.exception, DataError)
    assert NAMED_BY_A_FILE in str(result.exception)
    from unseen.serving.keeper import Keeper, NewClass

    with pytest.raises(DataError, match=NAMED_BY_A_FILE):
        Keeper(path).add(NewClass("owl", description="a bird"))
    assert stand_in == []
    assert path.read_bytes() == before


def test_who_names_it_may_load_it(model_file, stand_in):
    path = model_file(words="hf:evil/model")
    model, origin = load_model(path)
    assert recipe_of(model, origin, path, "hf:mine").words == "hf:mine"
    _run("add-class", path, "--name", "owl", "--words", "hf:mine")
    assert [name for name, _ in stand_in] == ["mine"]


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("make", [features.backbone, features.words])
def test_every_call_of_transformers_is_explicit(make, allowed, stand_in, monkeypatch):
    monkeypatch.setitem(downloads._permission, "allowed", allowed)
    with pytest.raises(DataError):
        make("hf:someone/model")
    assert stand_in
    for _, options in stand_in:
        assert options["trust_remote_code"] is False
        assert options["local_files_only"] is not allowed


def test_code_in_a_folder_of_transformers_does_not_run(tmp_path):
    pytest.importorskip("transformers")
    marker = tmp_path / "it ran"
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w')\n")
    maps = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model", "AutoTokenizer": ["evil.T", None]}
    (folder / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": maps}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": maps}))
    for make in (features.backbone, features.words):
        with pytest.raises(DataError):
            make(f"hf:{folder}")
    assert not marker.exists()


def test_nothing_is_downloaded_unasked(monkeypatch):
    pytest.importorskip("transformers")
    tried = []

    def connect(self, address):
        tried.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: connect(None, a))
    for make in (features.backbone, features.words):
        with pytest.raises(DataError, match="nothing is downloaded unasked") as caught:
            make("hf:someone/that-nobody-has-cached")
        assert caught.value.options == ("allow_download",)
    assert tried == []


@pytest.mark.parametrize("library", ["timm", "open_clip"])
def test_libraries_that_download_by_themselves_ask_first(library, monkeypatch):
    module = types.ModuleType(library)
    monkeypatch.setitem(sys.modules, library, module)
    with pytest.raises(DataError, match="nothing is downloaded unasked"):
        features.backbone(f"{library}:anything")


def test_the_option_allows_downloads_for_one_command(stand_in, tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.png").write_bytes(picture((220, 30, 30)))
    for extra in (["--allow-download"], []):
        _run("extract", tmp_path / "a", "--backbone", "hf:x/y", *extra)
    assert [options["local_files_only"] for _, options in stand_in] == [False, True]
    assert not downloads.downloads_allowed()


def test_a_file_that_names_a_built_in_backbone_still_works(model_file):
    path = model_file()
    assert unseen.labelling.backbone_to_load(path, load_model(path)[1]) == "colours"
