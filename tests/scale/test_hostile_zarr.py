"""Zarr arrays that name programs or claim shapes: refused before the library decodes anything."""

from __future__ import annotations

import json
import pickle

import numcodecs
import pytest
import zarr

from unseen import open_rows
from unseen.exceptions import DataError

RAN: list[str] = []


class Payload:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return RAN.append, ("pickle",)


class Program(numcodecs.abc.Codec):
    """A codec that some installed package registered, and that does more than move bytes."""

    codec_id = "program"

    def encode(self, buf):
        return buf

    def decode(self, buf, out=None):
        RAN.append("codec")
        return buf


PLAIN_2 = {
    "zarr_format": 2,
    "shape": [4, 2],
    "chunks": [4, 2],
    "dtype": "<f4",
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "compressor": None,
}
PLAIN_3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 2],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
PROGRAM_3 = {"name": "numcodecs.pickle", "configuration": {}}
SHARDED = {
    "name": "sharding_indexed",
    "configuration": {"chunk_shape": [4, 2], "codecs": [PROGRAM_3], "index_codecs": []},
}
DELTA = {"id": "delta", "dtype": "|O"}
CODES = {
    "compressor": {**PLAIN_2, "compressor": {"id": "pickle"}},
    "filter": {**PLAIN_2, "filters": [{"id": "pickle"}]},
    "objects": {**PLAIN_2, "dtype": "|O", "filters": [{"id": "pickle"}]},
    "registered": {**PLAIN_2, "compressor": {"id": "program"}},
    "filter of objects": {**PLAIN_2, "filters": [DELTA]},
    "records": {**PLAIN_2, "dtype": [["a", "|O"]]},
    "format 3": {**PLAIN_3, "codecs": [PROGRAM_3]},
    "shard": {**PLAIN_3, "codecs": [SHARDED]},
    "type 3": {**PLAIN_3, "data_type": {"name": "object", "configuration": {}}},
    "variable texts": {**PLAIN_3, "data_type": "string"},
    "transformer": {**PLAIN_3, "storage_transformers": [{"name": "program"}]},
}


def _write(folder, metadata, chunk=b""):
    path = folder / "X.zarr"
    path.mkdir()
    name, key = ("zarr.json", "c/0/0") if metadata["zarr_format"] == 3 else (".zarray", "0.0")
    (path / name).write_text(json.dumps(metadata))
    (path / key).parent.mkdir(parents=True, exist_ok=True)
    if chunk:
        (path / key).write_bytes(chunk)
    return path


@pytest.mark.parametrize("metadata", CODES.values(), ids=list(CODES))
def test_no_codec_that_a_file_names_runs(metadata, tmp_path, monkeypatch):
    RAN.clear()
    numcodecs.register_codec(Program)
    monkeypatch.setattr(zarr, "open_array", lambda *_, **__: RAN.append("library"))
    path = _write(tmp_path, metadata, pickle.dumps(Payload()))
    with pytest.raises(DataError, match=r"X\.zarr: .*(codec|type|transformer)"):
        open_rows(path)
    assert RAN == []


@pytest.mark.parametrize("metadata", [PLAIN_2, PLAIN_3], ids=["2", "3"])
def test_plain_arrays_are_read(metadata, tmp_path):
    assert open_rows(_write(tmp_path, metadata)).shape == (4, 2)


def _shaped(shape, chunks):
    grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
    return [
        {**PLAIN_2, "shape": shape, "chunks": chunks},
        {**PLAIN_3, "shape": shape, "chunk_grid": grid},
    ]


SHAPES = [
    *_shaped([10**15, 4], [1000, 4]),
    *_shaped([10**15, 4], [10**15, 4]),
    *_shaped([10**15], [10**9]),
    *_shaped([4, 10**15], [1, 1]),
    *_shaped([4, 2], [0, 2]),
    *_shaped([-4, 2], [4, 2]),
    *_shaped([4, 2], [4]),
]


@pytest.mark.parametrize("metadata", SHAPES)
def test_absurd_shapes_are_refused(metadata, tmp_path):
    with pytest.raises(DataError, match=r"X\.zarr: (claims|one (chunk|row))"):
        open_rows(_write(tmp_path, metadata))


def test_metadata_is_bounded(tmp_path):
    path = _write(tmp_path, {**PLAIN_2, "padding": " " * 2**21})
    with pytest.raises(DataError, match="the description of the array"):
        open_rows(path)
