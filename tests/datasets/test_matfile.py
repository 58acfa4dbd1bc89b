"""MATLAB v5 against scipy's reader, and what is refused."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from unseen.datasets.arrays import read_mat
from unseen.datasets.matfile import read_mat5
from unseen.exceptions import DataError


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_numbers_agree_with_scipy(tmp_path, dtype, compressed):
    path = tmp_path / "a.mat"
    values = (np.random.default_rng(0).random((3, 5)) * 100).astype(dtype)
    named = {"a": values, "small": values[:1, :1], "empty": values[:0], "b": values}
    scipy.io.savemat(path, named, do_compression=compressed)
    ours, theirs = read_mat5(path), scipy.io.loadmat(path)
    for name in named:
        assert ours[name].dtype == theirs[name].dtype
        assert np.array_equal(ours[name], theirs[name])
    assert set(read_mat5(path, ["small"])) == {"small"}


def test_text_and_cells_agree_with_what_was_written(tmp_path):
    path = tmp_path / "a.mat"
    texts = ["fox", "", "été 日本", "a longer name, with spaces"]
    cells = np.empty((4, 1), dtype=object)
    cells[:, 0] = texts
    matrix = np.array(["fox", "bat", "elk"])
    scipy.io.savemat(path, {"cells": cells, "one": "word", "matrix": matrix})
    found = read_mat5(path)
    assert found["cells"] == texts
    assert found["one"] == "word"
    assert found["matrix"] == ["fox", "bat", "elk"]


def test_big_endian_is_read(tmp_path):
    body = struct.pack(">IIII", 6, 8, 6, 0) + struct.pack(">IIii", 5, 8, 1, 2)
    body += struct.pack(">IHHI", 1, 0, 0, 0)[:8] + struct.pack(">II2d", 9, 16, 1.5, -2.0)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
    path = tmp_path / "a.mat"
    path.write_bytes(header + struct.pack(">II", 14, len(body)) + body)
    assert read_mat5(path)[""].tolist() == [[1.5, -2.0]]


def test_whole_doubles_that_matlab_stores_small_come_back_as_doubles(tmp_path):
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 1, 3)
    body += struct.pack("<HH4s", 1, 1, b"a") + struct.pack("<HH4s", 2, 3, b"\x01\x02\x03")
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    path = tmp_path / "a.mat"
    path.write_bytes(header + struct.pack("<II", 14, len(body)) + body)
    values = read_mat5(path)["a"]
    assert values.dtype == np.float64
    assert values.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": 1}, "'v' is a struct"),
        (scipy.sparse.csc_array(np.eye(3)), "'v' is a sparse matrix"),
        (np.array([[1 + 2j]]), "'v' is complex"),
        (np.array([np.ones((2, 2)), "a"], dtype=object), "'v', cell 1: is not a text"),
    ],
)
def test_other_classes_are_refused_only_where_they_are_asked_for(tmp_path, value, message):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"v": value, "w": np.ones(2)})
    with pytest.raises(DataError, match=message):
        read_mat5(path)
    assert read_mat5(path, ["w"])["w"].tolist() == [[1, 1]]


@pytest.mark.parametrize("compressed", [False, True])
def test_every_truncation_is_an_error(tmp_path, compressed):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"a": np.arange(20.0)}, do_compression=compressed)
    whole = path.read_bytes()
    for size in [*range(128), *range(129, len(whole), 3)]:
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"a\.mat"):
            read_mat5(path)


def _bomb(path, declared: int, real: int) -> None:
    """Write a compressed matrix that claims ``declared`` bytes and expands to ``real``."""
    body = struct.pack("<IIII", 6, 8, 6, 0) + struct.pack("<IIii", 5, 8, 1, declared // 8)
    body += struct.pack("<HH4s", 1, 1, b"a") + struct.pack("<II", 9, declared)
    packed = zlib.compress(struct.pack("<II", 14, len(body) + declared) + body + bytes(real), 9)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    path.write_bytes(header + struct.pack("<II", 15, len(packed)) + packed)


def test_a_bomb_is_refused_before_it_is_expanded(tmp_path):
    path = tmp_path / "a.mat"
    _bomb(path, 2**26, 2**26)
    tracemalloc.start()
    with pytest.raises(DataError, match="raise max_bytes"):
        read_mat5(path, max_bytes=2**20)
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()
    assert read_mat5(path)["a"].nbytes == 2**26


def test_a_claim_beyond_what_compression_can_do_is_refused(tmp_path):
    path = tmp_path / "a.mat"
    _bomb(path, 2**30, 8)
    with pytest.raises(DataError, match="cannot hold"):
        read_mat5(path)


def test_a_damaged_stream_fails_its_checksum(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"a": np.random.default_rng(0).random(500)}, do_compression=True)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="variable at byte 128"):
        read_mat5(path)


def test_other_versions_are_named(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"a": np.ones(200)}, format="4")
    with pytest.raises(DataError, match="MATLAB 4"):
        read_mat5(path)


def test_read_mat_gives_rows_first_without_a_copy(tmp_path):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"features": np.arange(6.0).reshape(2, 3)})
    values = read_mat(path)["features"]
    assert values.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert values.flags.c_contiguous
