"""Files that are damaged, or made to do harm: refused with the file's name, and nothing is run."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import ESZSL, ModelFileError, load
from unseen.labelling import load_model
from unseen.persistence.model_files import LONGEST_HEADER, PLACE, to_bytes

FORMER_FILES = Path(__file__).with_name("files")
X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
SEMANTICS = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}


@pytest.fixture(scope="module")
def good() -> bytes:
    return to_bytes(ESZSL(SEMANTICS).fit(X, ["cat", "cat", "dog", "dog"]))


def refused(data: bytes, folder: Path) -> str:
    path = folder / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert re.search(r"again|upgrade", message), message  # the remedy
    return message


def signed(data: bytes) -> bytes:
    """Give a forged file a valid checksum."""
    zeroed = data[: PLACE.start] + b"0" * 64 + data[PLACE.stop :]
    return data[: PLACE.start] + hashlib.sha256(zeroed).hexdigest().encode() + data[PLACE.stop :]


def forged(good: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """Change the record and the header of a good file, and sign it."""
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    record = json.loads(header["__metadata__"]["unseen"])
    change(record, header)
    return packed(header, record, good[8 + length :])


def packed(header: dict[str, Any], record: Any, body: bytes) -> bytes:
    header["__metadata__"] = {"unseen": json.dumps(record, separators=(",", ":"))}
    text = json.dumps(header, separators=(",", ":")).encode()
    return signed(len(text).to_bytes(8, "little") + text + body)


def test_the_forgery_of_these_tests_is_read_when_nothing_is_changed(
    good: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "model"
    path.write_bytes(forged(good, lambda record, header: None))
    assert load(path).predict([[0.8, 0.9]]) == ["fox"]


def test_any_byte_that_is_changed_is_noticed(good: bytes, tmp_path: Path) -> None:
    for place in range(len(good)):
        for flip in (1, 0x20):
            data = bytearray(good)
            data[place] ^= flip
            refused(bytes(data), tmp_path)


def test_any_length_but_its_own_is_refused(good: bytes, tmp_path: Path) -> None:
    for length in range(len(good)):
        refused(good[:length], tmp_path)
    refused(good + b"\0", tmp_path)
    refused(good + good, tmp_path)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_edits_are_refused(good: bytes, tmp_path_factory: Any, data: Any) -> None:
    start = data.draw(st.integers(0, len(good)))
    stop = data.draw(st.integers(start, min(len(good), start + 40)))
    other = data.draw(st.binary(max_size=40))
    altered = good[:start] + other + good[stop:]
    if altered != good:
        refused(altered, tmp_path_factory.getbasetemp())


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=400))
def test_random_bytes_are_refused(data: bytes, tmp_path_factory: Any) -> None:
    refused(data, tmp_path_factory.getbasetemp())


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.dictionaries(st.sampled_from(["#", "class", "state", "items", "tensor", "value"]), parts)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(junk=JUNK, data=st.data())
def test_signed_nonsense_is_refused_or_is_a_model(
    good: bytes, tmp_path_factory: Any, junk: Any, data: Any
) -> None:
    """A forger may sign a file. Whatever takes the place of a node, there is a model or one error."""
    name = data.draw(st.sampled_from(["compatibility_", "seen_classes_", "semantics", "temperature_"]))

    def change(record: dict[str, Any], header: dict[str, Any]) -> None:
        if data.draw(st.booleans()):
            record["model"]["state"][name] = junk
        else:
            record["model"] = junk

    path = tmp_path_factory.getbasetemp() / "forged"
    path.write_bytes(forged(good, change))
    with suppress(ModelFileError):
        assert isinstance(load(path), ESZSL)


def node(record: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = record["model"]["state"][name]
    return found


FORGERIES: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], None], str]] = {
    "a later format": (lambda r, h: r.update(format=2), r"has format 2.*pip install .* --upgrade"),
    "a format of text": (lambda r, h: r.update(format="1"), "unknown format '1'"),
    "an unknown class": (
        lambda r, h: r["model"].update({"class": "os.system"}),
        r"names the class 'os\.system', which this version",
    ),
    "a class by its module": (
        lambda r, h: r["model"].update({"class": "unseen.inductive.eszsl.ESZSL"}),
        "names the class",
    ),
    "a class that is no name": (lambda r, h: r["model"].update({"class": [1]}), "names the class"),
    "no model": (lambda r, h: r.update(model=3), "holds no model but int"),
    "a record for a model": (
        lambda r, h: r.update(model=node(r, "semantics")),
        "no model but ClassTable",
    ),
    "an unfitted model": (
        lambda r, h: [r["model"]["state"].pop(n) for n in list(r["model"]["state"]) if n[-1] == "_"],
        "not fitted yet|nothing uses",
    ),
    "an unknown kind": (
        lambda r, h: node(r, "semantics").update({"#": "pickle"}),
        "unknown kind 'pickle'",
    ),
    "an attribute with two underscores": (
        lambda r, h: r["model"]["state"].update(__class__=1),
        "impossible name",
    ),
    "a tensor that is not there": (
        lambda r, h: node(r, "compatibility_").update(tensor="other"),
        "other",
    ),
    "a tensor that nothing uses": (
        lambda r, h: r["model"]["state"].pop("compatibility_"),
        "nothing uses",
    ),
    "codes beyond the texts": (
        lambda r, h: node(r, "seen_classes_").update(texts=["cat"]),
        "out of bounds",
    ),
    "texts too wide": (lambda r, h: node(r, "seen_classes_").update(width=10**12), "arrays of text"),
    "texts too narrow": (lambda r, h: node(r, "seen_classes_").update(width=1), "too narrow"),
    "texts that are numbers": (
        lambda r, h: node(r, "seen_classes_").update(texts=[1, 2]),
        "wrong dtype",
    ),
    "floats for codes": (
        lambda r, h: node(r, "seen_classes_").update(tensor="compatibility_"),
        "wrong dtype",
    ),
    "a field too many": (
        lambda r, h: node(r, "semantics")["state"].update(more=1),
        "unexpected keyword",
    ),
    "another dtype": (lambda r, h: h["compatibility_"].update(dtype="BF16"), "model file"),
    "an unknown dtype": (lambda r, h: h["compatibility_"].update(dtype="PICKLE"), "model file"),
    "another shape": (lambda r, h: h["compatibility_"].update(shape=[10**9, 10**9]), "model file"),
    "a negative shape": (lambda r, h: h["compatibility_"].update(shape=[-2, -2]), "model file"),
    "tensors that overlap": (
        lambda r, h: h["semantics.vectors"].update(data_offsets=h["compatibility_"]["data_offsets"]),
        "model file",
    ),
    "offsets beyond the end": (
        lambda r, h: h["compatibility_"].update(data_offsets=[0, 10**15]),
        "not what its header says",
    ),
    "offsets of text": (lambda r, h: h["compatibility_"].update(data_offsets="ab"), "cannot be read"),
    "no offsets": (lambda r, h: h["compatibility_"].pop("data_offsets"), "cannot be read"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries(name: str, good: bytes, tmp_path: Path) -> None:
    change, message = FORGERIES[name]
    found = refused(forged(good, change), tmp_path)
    assert re.search(message, found), found


def _replaced(parts: Any, junk: Any, place: int) -> Any:
    """Return a copy of a node of JSON with one of its values, counted from the top, replaced."""
    counter = iter(range(10**9))

    def visit(part: Any) -> Any:
        if next(counter) == place:
            return junk
        if isinstance(part, dict):
            return {
                key: value if key in ("#", "class") else visit(value) for key, value in part.items()
            }
        return [visit(value) for value in part] if isinstance(part, list) else part

    return visit(parts)


SUBSTITUTES: list[Any] = [None, True, -1, 1e300, "x", [], [1, "x"], {"#": "tuple", "items": []}]


@pytest.mark.parametrize("file", sorted(FORMER_FILES.glob("*.safetensors")), ids=lambda p: p.stem)
def test_forged_models_answer_or_are_refused(file: Path, tmp_path: Path) -> None:
    """What passes the checksum and is read also answers: no TypeError or AttributeError comes later."""
    good = file.read_bytes()
    draw = np.random.default_rng(len(good))
    path = tmp_path / "forged"
    read = 0
    for _ in range(24):
        junk = SUBSTITUTES[draw.integers(len(SUBSTITUTES))]
        place = int(draw.integers(1, 120))

        def change(record: dict[str, Any], header: dict[str, Any], junk=junk, place=place) -> None:
            record["model"]["state"] = _replaced(record["model"]["state"], junk, place)

        path.write_bytes(forged(good, change))
        with suppress(ModelFileError):
            model = load(path)
            read += 1
            rows = np.ones((2, model.n_features_in_))
            with suppress(ValueError):  # no candidates, until the user names some
                assert len(model.classes_)
                with np.errstate(all="ignore"):
                    model.predict(rows)
                    model.decision_function(rows)
                    model.predict_proba(rows)
    assert read < 24


@pytest.mark.parametrize(
    ("name", "junk"),
    [
        ("temperature_", "x"),
        ("temperature_", None),
        ("n_features_in_", 10**12),
        ("n_features_in_", "2"),
        ("n_features_in_", None),
        ("semantics", "x"),
        ("seen_classes_", [1]),
    ],
)
def test_a_forged_attribute_is_refused_on_reading(
    name: str, junk: Any, good: bytes, tmp_path: Path
) -> None:
    refused(forged(good, lambda r, h: r["model"]["state"].update({name: junk})), tmp_path)


@pytest.mark.parametrize(
    "origin",
    [
        3,
        {"backbone": 3},
        {"backbone": "x"},
        {"words": []},
        {"attributes": [3], "identity": "", "words": ""},
    ],
)
def test_a_forged_origin_is_refused(origin: Any, tmp_path: Path) -> None:
    model = ESZSL(SEMANTICS).fit(X, ["cat", "cat", "dog", "dog"])
    model.origin_ = origin
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="what it says of its features"):
        load_model(tmp_path / "model")


def test_deep_nesting(good: bytes, tmp_path: Path) -> None:
    def deep(levels: int) -> Callable[[dict[str, Any], dict[str, Any]], None]:
        nested: list[Any] = []
        for _ in range(levels):
            nested = [nested]
        return lambda record, header: record["model"]["state"].update(deep_=nested)

    assert "nested too deeply" in refused(forged(good, deep(60)), tmp_path)
    length = int.from_bytes(good[:8], "little")
    header = json.loads(good[8 : 8 + length])
    text = header["__metadata__"]["unseen"].replace('"model":', '"model":' + "[" * 10**6, 1)
    header["__metadata__"]["unseen"] = text
    raw = json.dumps(header, separators=(",", ":")).encode()
    refused(signed(len(raw).to_bytes(8, "little") + raw + good[8 + length :]), tmp_path)
    raw = good[8 : PLACE.stop] + b'"}","x":' + b"[" * 10**6
    refused(signed(len(raw).to_bytes(8, "little") + raw), tmp_path)


def test_sizes_that_a_header_claims_are_not_allocated(good: bytes, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        for claim in (LONGEST_HEADER + 1, 2**40, 2**63, 2**64 - 1, 0):
            refused(claim.to_bytes(8, "little") + good[8:], tmp_path)
        wide = forged(good, lambda r, h: node(r, "seen_classes_").update(width=10**8))
        refused(wide, tmp_path)
        path = tmp_path / "sparse"
        with path.open("wb") as file:
            file.write(good)
            file.truncate(2**36)  # no byte of it is on the disk
        with pytest.raises(ModelFileError, match="not what its header says"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


class Bomb:
    """What a pickle could do."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("executed"),)


def test_other_files(good: bytes, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model.safetensors", good)
    array = io.BytesIO()
    np.save(array, np.ones(3))
    for data in (pickle.dumps(Bomb()), archive.getvalue(), array.getvalue(), b"", b"{}", b"\x89PNG"):
        refused(data, tmp_path)
    assert not Path("executed").exists()
    other = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    data = len(other).to_bytes(8, "little") + other + b"\0" * 4
    assert "does not begin as a model file does" in refused(data + b" " * 200, tmp_path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nothing: no such file\. Check the name"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="is a folder, but a file is needed"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="no regular file"):
        load("/dev/zero")
