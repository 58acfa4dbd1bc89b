"""Model files that were written before classes moved to other modules: they load and answer as then.

``files/`` holds a file of every estimator of version 0.1.0 at a73d80d, when a file named classes by
their modules, and in ``answers.json`` the labels and scores of a few rows. They are not written anew:
a change that makes one of them unreadable makes the files of users unreadable.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from unseen.persistence import model_files
from unseen.persistence.class_keys import BORROWED, file_key, known_classes
from unseen.persistence.former_keys import FORMER_KEYS
from unseen.persistence.model_files import FORMAT, to_bytes
from unseen.version import install_command

FILES = Path(__file__).with_name("files")
RECORD = json.loads((FILES / "answers.json").read_text(encoding="utf-8"))
NAMES = sorted(path.stem for path in FILES.glob("*.safetensors"))


def keys_in(data: bytes) -> set[str]:
    """Return the keys of all objects of a model file."""
    length = int.from_bytes(data[:8], "little")
    node = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unseen"])["model"]
    keys, nodes = set(), [node]
    while nodes:
        part = nodes.pop()
        nodes += part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
        if isinstance(part, dict) and part.get("#") == "object":
            keys.add(part["class"])
    return keys


def record_of(path: Path) -> dict[str, Any]:
    """Return what a model file says about itself."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unseen"])


@pytest.mark.parametrize("name", NAMES)
def test_a_former_file_loads_and_answers_as_then(name: str) -> None:
    model: Any = unseen.load(FILES / f"{name}.safetensors")
    wanted = RECORD["answers"][name]
    X = np.array(RECORD["rows"])
    assert model.predict(X).tolist() == wanted["labels"]
    scores = np.array(wanted["scores"])
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=0, atol=1e-6 * np.ptp(scores))


@pytest.mark.parametrize("name", NAMES)
def test_a_former_file_is_written_with_keys_that_name_no_module(name: str, tmp_path: Path) -> None:
    data = (FILES / f"{name}.safetensors").read_bytes()
    model = unseen.load(FILES / f"{name}.safetensors")
    keys = keys_in(to_bytes(model))
    assert keys == {FORMER_KEYS.get(key, key) for key in keys_in(data)}
    assert all("." not in key for key in keys if key not in {f"sklearn.{c.__name__}" for c in BORROWED})
    (tmp_path / "model").write_bytes(to_bytes(model))
    X = np.array(RECORD["rows"])
    again = unseen.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_file_of_every_class_that_had_a_key_then_is_kept() -> None:
    named = set().union(*(keys_in((FILES / f"{n}.safetensors").read_bytes()) for n in NAMES))
    assert set(FORMER_KEYS) <= named
    assert set(FORMER_KEYS.values()) <= set(known_classes())
    assert set(NAMES) == set(RECORD["answers"])


RELEASING = Path(__file__).parents[2] / "docs" / "releasing.md"


def test_the_upgrade_note_names_every_format_and_a_file_of_each_is_kept() -> None:
    note = RELEASING.read_text(encoding="utf-8").split("## Model files across versions")[1]
    rows = re.findall(r"^\| (\d+) \| ([\d., ]+) \| ", note, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, FORMAT + 1))
    kept = {(r["format"], r["unseen"]) for r in map(record_of, FILES.glob("*.safetensors"))}
    for number, versions in rows:
        assert {(int(number), version) for version in versions.split(", ")} <= kept


def test_a_newer_format_is_refused_with_the_version_that_wrote_it(
    tmp_path: Path, monkeypatch: Any
) -> None:
    model = unseen.load(FILES / "ESZSL.safetensors")
    monkeypatch.setattr(model_files, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(model_files, "__version__", "7.1.0")
    path = tmp_path / "newer.safetensors"
    path.write_bytes(to_bytes(model))
    monkeypatch.undo()
    with pytest.raises(unseen.ModelFileError) as caught:
        unseen.load(path)
    message = str(caught.value)
    assert f"has format {FORMAT + 1}; this version of unseen reads formats up to {FORMAT}" in message
    assert message.endswith(f"It was written by unseen 7.1.0: {install_command()} --upgrade")


EVERY_MODULE = """
import importlib, pkgutil, unseen
for module in pkgutil.walk_packages(unseen.__path__, "unseen."):
    if not module.name.startswith(("unseen.serving", "unseen.scale", "unseen.__main__")):
        importlib.import_module(module.name)
"""


def test_the_table_is_whole_whatever_was_imported_before() -> None:
    ask = "from unseen.persistence.class_keys import known_classes; print(*sorted(known_classes()))"
    tables = [
        subprocess.run(
            [sys.executable, "-c", before + ask], capture_output=True, text=True, check=True
        ).stdout.split()
        for before in ("", EVERY_MODULE)
    ]
    assert tables[0] == tables[1]
    assert "FastTraining" in tables[0]


def test_no_two_classes_have_one_key() -> None:
    modules = [m for name, m in sys.modules.items() if name.partition(".")[0] == "unseen"]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    ours = [c for c in classes if c.__module__.partition(".")[0] == "unseen" and file_key(c)]
    repeated = [key for key, count in Counter(map(file_key, ours)).items() if count > 1]
    assert repeated == []
    assert set(ours) == set(known_classes().values()) - set(BORROWED)
