"""The one reader of arrays: every format, and every way a file can be wrong."""

from __future__ import annotations

import io
import math
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.io

from unseen.datasets import load_table, read_array
from unseen.datasets.arrays import read_npz
from unseen.datasets.table_files import read_table
from unseen.exceptions import DataError
from unseen.files import safe_image_name

VALUES = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


def write(path):
    if path.suffix == ".npy":
        np.save(path, VALUES)
    elif path.suffix == ".npz":
        np.savez(path, X=VALUES, labels=np.arange(6))
    elif path.suffix == ".mat":
        scipy.io.savemat(path, {"features": VALUES.T})
    elif path.suffix == ".h5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file["data"] = VALUES
    elif path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({f"f{i}": VALUES[:, i] for i in range(4)}), path)
    else:
        separator = {".csv": ",", ".tsv": "\t"}.get(path.suffix, " ")
        np.savetxt(path, VALUES, fmt="%.9g", delimiter=separator)
    return path


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "h5", "parquet", "csv", "tsv", "txt"])
def test_every_format_gives_the_same_numbers(tmp_path, suffix):
    values = read_array(write(tmp_path / f"a.{suffix}"))
    assert np.array_equal(np.asarray(values, dtype=np.float32), VALUES)
    if suffix not in ("csv", "tsv", "txt"):
        assert values.dtype == np.float32


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_what_can_be_mapped_is_not_read(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    big = np.zeros((1000, 1000))
    np.save(path, big) if suffix == "npy" else np.savez(path, X=big)
    tracemalloc.start()
    values = read_array(path)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert isinstance(values, np.memmap)


def test_a_file_of_100_gb_is_opened_not_read(tmp_path):
    path = tmp_path / "huge.npy"
    shape = (50, 500_000_000)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        try:
            file.truncate(file.tell() + 4 * math.prod(shape))  # a hole: it takes no room on disk
        except OSError:
            pytest.skip(f"{tmp_path}: cannot hold a sparse file of 100 GB")
    semantics = {"fox": [0.0, 1.0], "bat": [1.0, 1.0]}
    data = load_table(path, semantics, ["bat"], labels=["fox"] * 30 + ["bat"] * 20)
    assert data.X.shape == shape
    assert data.X[49, -3:].tolist() == [0, 0, 0]


def test_a_compressed_npz_is_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, features=np.asfortranarray(VALUES))
    assert np.array_equal(read_array(path), VALUES)


def test_a_pickled_npy_runs_nothing(tmp_path):
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return (marker.write_text, ("owned",))

    path = tmp_path / "a.npy"
    np.save(path, np.array([[Hostile()]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"a\.npy: holds Python objects"):
        read_array(path)
    np.savez(tmp_path / "a.npz", features=np.array([[Hostile()]], dtype=object))
    with pytest.raises(DataError, match=r"features\.npy: holds Python objects"):
        read_array(tmp_path / "a.npz")
    path.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(DataError, match=r"a\.npy"):
        read_array(path)
    assert not marker.exists()


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_truncated_npy_says_so(tmp_path, cut):
    path = write(tmp_path / "a.npy")
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DataError, match=r"a\.npy: .*truncated"):
        read_array(path)


def test_an_npz_bomb_is_refused_before_it_is_expanded(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, features=np.zeros((2**13, 2**10)))
    tracemalloc.start()
    with pytest.raises(DataError, match="raise max_bytes"):
        read_array(path, max_bytes=2**20)
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert read_array(path).shape == (2**13, 2**10)


def test_an_npz_that_lies_about_its_size_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    inner = io.BytesIO()
    np.save(inner, np.zeros((100, 100)))
    data = inner.getvalue()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("features.npy", data)
    raw = path.read_bytes()
    small = len(data).to_bytes(4, "little")
    path.write_bytes(raw.replace(small, (200).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"a\.npz"):
        read_array(path)


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=VALUES)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("X.npy", archive.read("X.npy"))
    with pytest.raises(DataError, match="'X' twice"):
        read_npz(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(5), "two dimensions"),
        (np.zeros((0, 5)), "two dimensions"),
        (np.zeros((2, 2), dtype=complex), "real numbers"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.zeros((2, 2), dtype=bool), "real numbers"),
    ],
)
def test_a_wrong_shape_or_type_is_named(tmp_path, values, message):
    np.save(tmp_path / "a.npy", values)
    with pytest.raises(DataError, match=rf"a\.npy: .*{message}"):
        read_array(tmp_path / "a.npy")


def test_a_wrong_key_names_what_is_there(tmp_path):
    np.savez(tmp_path / "a.npz", left=VALUES, right=VALUES)
    with pytest.raises(DataError, match="It holds left, right"):
        read_array(tmp_path / "a.npz")
    assert read_array(tmp_path / "a.npz", "left").shape == (6, 4)
    np.savez(tmp_path / "b.npz", only=VALUES)
    assert read_array(tmp_path / "b.npz").shape == (6, 4)


def test_absent_files_folders_and_suffixes_are_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.npy: no such file"):
        read_array(tmp_path / "absent.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        read_array(tmp_path / "folder.npy")
    (tmp_path / "a.pkl").write_bytes(b"")
    with pytest.raises(DataError, match=r"'\.pkl' is not known"):
        read_array(tmp_path / "a.pkl")


def test_parquet_types_and_empty_cells_are_named(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1.0, None], "b": [1.0, 2.0]}), path)
    with pytest.raises(DataError, match="column 'a' has 1 empty cell"):
        read_array(path)
    pq.write_table(pa.table({"a": ["x", "y"]}), path)
    with pytest.raises(DataError, match="column 'a' holds string"):
        read_array(path)
    pq.write_table(pa.table({"a": np.zeros(10_000)}), path)
    assert path.stat().st_size < 1000  # run-length coded: a small bomb
    with pytest.raises(DataError, match="raise max_bytes"):
        read_array(path, max_bytes=79_999)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,a,b\nfox,1,2\nbat,1\n", "line 3 has 2 cells, but the header names 3"),
        ("class,a,b\nfox,1,\n", "line 2, column 'b': is empty"),
        ("class,a,b\nfox,1,two\n", "line 2, column 'b': holds 'two'"),
        ("class,a,a\nfox,1,2\n", "line 1, column 3: the name 'a'"),
        ("class,,a\nfox,1,2\n", "line 1, column 2"),
        ("class,a\n ,1\n", "line 2, column 'class'"),
        ("", "is empty"),
        ('class,a\n"fox,1\n', "cannot be read"),
    ],
)
def test_a_fault_in_a_csv_names_its_place(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"a\.csv: .*{message}"):
        read_table(path, {"class"})


@pytest.mark.parametrize(
    "name",
    [
        "../x.jpg",
        "/etc/passwd",
        "a/../../x",
        "C:\\x.jpg",
        "..\\x.jpg",
        "~/x",
        "",
        "a\x00b",
        "\\\\h\\x",
    ],
)
def test_image_names_that_lead_out_are_refused(name):
    with pytest.raises(DataError, match=r"images\.csv: line 7"):
        safe_image_name(name, "images.csv", 7)


def test_image_names_that_stay_inside_are_kept():
    for name in ("a.jpg", "fox/a..b.jpg", "Ünder score/01 (2).jpg"):
        assert safe_image_name(name, "x", 1) == name
