"""HDF5 and MATLAB v7.3: opened, not read, and never beyond the file."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from unseen.datasets import read_array
from unseen.datasets.arrays import read_mat
from unseen.datasets.hdf5 import HDF5Rows, is_hdf5, read_hdf5
from unseen.exceptions import DataError

h5py = pytest.importorskip("h5py")

VALUES = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)


def write(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=VALUES, **options)
    return path


def test_a_contiguous_data_set_is_mapped(tmp_path):
    values = read_array(write(tmp_path / "a.h5"))
    assert isinstance(values, np.memmap)
    assert np.array_equal(values, VALUES)


@pytest.mark.parametrize("compression", ["gzip", "lzf"])
def test_a_compressed_data_set_is_read_row_by_row(tmp_path, compression):
    rows = read_array(write(tmp_path / "a.h5", compression=compression, chunks=(4, 3)))
    assert isinstance(rows, HDF5Rows)
    assert len(rows) == 20
    assert "shape=(20, 3)" in repr(rows)
    for index in (3, slice(2, 9, 2), [5, 1, 1, -1], VALUES[:, 0] > 0, np.array([], dtype=int)):
        assert np.array_equal(rows[index], VALUES[index])
    assert np.array_equal(rows[[4, 2], 1:], VALUES[[4, 2], 1:])
    assert np.array_equal(np.asarray(rows), VALUES)


def matlab73(path):
    """Write what MATLAB's ``save -v7.3`` writes: a user block, and cells as references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["features"] = VALUES
        file["labels"] = np.ones((1, 20))
        held = file.create_group("#refs#")
        names = []
        for i, name in enumerate(["fox", "été"]):
            codes = np.frombuffer(name.encode("utf-16-le"), np.uint16)[:, None]
            text = held.create_dataset(str(i), data=codes)
            text.attrs["MATLAB_class"] = np.bytes_("char")
            names.append(text.ref)
        file.create_dataset("names", data=np.array([names], dtype=h5py.ref_dtype))
        file["names"].attrs["MATLAB_class"] = np.bytes_("cell")
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    return path


def test_matlab_73_is_read_like_v5(tmp_path):
    path = matlab73(tmp_path / "a.mat")
    assert is_hdf5(path)
    held = read_mat(path, ["features", "names", "labels"], lazy=["features"])
    assert held["names"] == ["fox", "été"]
    assert held["labels"].shape == (1, 20)
    assert np.array_equal(held["features"], VALUES)


def test_text_is_read(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["names"] = ["fox", "bat"]
        file["fixed"] = np.array([b"fox", b"bat"])
    assert read_hdf5(path) == {"fixed": ["fox", "bat"], "names": ["fox", "bat"]}


def test_text_that_claims_more_than_the_file_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        offset = file.create_dataset("names", data=["fox", "bat"]).id.get_offset()
    raw = bytearray(path.read_bytes())
    raw[offset : offset + 4] = b"\xff\xff\xff\x3f"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=r"a\.h5: .*entry 1: its text is not in the file"):
        read_hdf5(path)


def test_a_damaged_heap_is_refused(tmp_path):
    """libhdf5 2.0 runs for ever on some of these."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["names"] = ["fox", "bat", "", "été"]
    assert read_hdf5(path)["names"] == ["fox", "bat", "", "été"]
    raw = path.read_bytes()
    heap = raw.index(b"GCOL")
    for at in range(heap, heap + 64):
        for value in (0, 1, 0x7F, 0xFF):
            path.write_bytes(raw[:at] + bytes([value]) + raw[at + 1 :])
            with contextlib.suppress(DataError):
                read_hdf5(path)


@pytest.mark.parametrize("kind", ["soft", "external"])
def test_links_are_not_followed(tmp_path, kind):
    secret = write(tmp_path / "secret.h5")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["there"] = VALUES
        link = h5py.SoftLink("/there") if kind == "soft" else h5py.ExternalLink(secret, "features")
        file["features"] = link
    with pytest.raises(DataError, match=r"a\.h5.*'features' is a .*Link"):
        read_array(path)


def test_data_in_other_files_is_not_read(tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(48))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        where = [(str(tmp_path / "secret.bin"), 0, 48)]
        file.create_dataset("features", (2, 3), np.float64, external=where)
    with pytest.raises(DataError, match="in other files"):
        read_array(path)


def test_virtual_data_sets_are_not_read(tmp_path):
    source = write(tmp_path / "secret.h5")
    layout = h5py.VirtualLayout(shape=(20, 3), dtype="f4")
    layout[:] = h5py.VirtualSource(source, "features", shape=(20, 3))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("features", layout)
    with pytest.raises(DataError, match="in other files"):
        read_array(path)


def test_a_bomb_of_fill_values_is_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("features", (2**30, 64), np.float64, chunks=(1024, 64))
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="cannot expand"):
        read_array(path)


def test_what_would_be_read_whole_is_limited(tmp_path):
    path = write(tmp_path / "a.h5")
    with pytest.raises(DataError, match="raise max_bytes"):
        read_hdf5(path, max_bytes=10)


def test_groups_and_compounds_are_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_group("features")
    with pytest.raises(DataError, match="is a group"):
        read_array(path)
    with h5py.File(path, "w") as file:
        file["features"] = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
    with pytest.raises(DataError, match="not numbers"):
        read_array(path)


def test_the_install_command_is_named_where_h5py_is_absent(tmp_path, monkeypatch):
    import sys

    path = write(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match=r'pip install "unseen-zsl\[data\]"'):
        read_array(path)
