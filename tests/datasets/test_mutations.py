"""Thousands of mutated files: each is read, or refused with a DataError, and nothing else."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unseen.datasets import convert, load_dataset, read_array
from unseen.datasets.arrays import read_container
from unseen.datasets.conversion import LAYOUTS
from unseen.datasets.table_files import read_table
from unseen.exceptions import DataError

NASTY = [b"\xff\xff\xff\xff", bytes(4), b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\x01", b"\x0e"]
NASTY += [b",", b"\n", b'"', b"..", b"nan", b"-1", b"1e999", b"\xef\xbb\xbf", b"{", b"O8"]
PLACE = st.floats(0, 1, exclude_max=True)
MUTATION = st.one_of(
    st.tuples(st.just("cut"), PLACE, st.just(b"")),
    st.tuples(st.just("put"), PLACE, st.sampled_from(NASTY) | st.binary(min_size=1, max_size=9)),
    st.tuples(st.just("insert"), PLACE, st.sampled_from(NASTY) | st.binary(max_size=40)),
    st.tuples(st.just("repeat"), PLACE, st.binary(min_size=1, max_size=60)),
)
MUTATIONS = st.lists(MUTATION, min_size=1, max_size=4)
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def mutate(data: bytes, mutations) -> bytes:
    for kind, place, extra in mutations:
        at = int(place * len(data))
        if kind == "cut":
            data = data[:at]
        elif kind == "put":
            data = data[:at] + extra + data[at + len(extra) :]
        elif kind == "insert":
            data = data[:at] + extra + data[at:]
        else:
            data = data[:at] + data[at : at + len(extra)] * 2 + data[at + len(extra) :]
    return data


def read_or_refuse(read, path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(DataError):
            read(path)


def replace_file(path, data: bytes) -> None:
    path.unlink(missing_ok=True)  # an earlier memory map keeps the old file
    path.write_bytes(data)


def example(kind: str, path) -> None:
    """Write a small file of this kind."""
    X = np.random.default_rng(0).standard_normal((20, 5)).astype(np.float32)
    names = np.array(["fox", "bat", "été"], dtype=object)
    if kind == "npy":
        np.save(path, X)
    elif kind.startswith("npz"):
        save = np.savez_compressed if kind == "npz packed" else np.savez
        save(path, features=X, labels=np.arange(20), names=names.astype(str))
    elif kind == "mat 7.3":
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w", userblock_size=512) as file:
            file["features"] = X
            codes = file.create_dataset("#refs#/a", data=np.array([[102], [111]], np.uint16))
            codes.attrs["MATLAB_class"] = np.bytes_("char")
            file.create_dataset("names", data=np.array([[codes.ref]], dtype=h5py.ref_dtype))
    elif kind.startswith("mat"):
        held = {"features": X.T, "labels": np.arange(20), "names": names[:, None]}
        scipy.io.savemat(path, held, do_compression=kind == "mat packed")
    elif kind.startswith("h5"):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            packed = {"chunks": (8, 5), "compression": "gzip"} if kind == "h5 packed" else {}
            file.create_dataset("features", data=X, **packed)
            file["names"] = ["fox", "bat"]
    elif kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {f"f{i}": X[:, i] for i in range(5)}
        pq.write_table(pa.table(columns), path)
    else:
        np.savetxt(path, X, delimiter="," if kind == "csv" else " ", fmt="%.5g")


KINDS = [
    "mat 7.3",
    "npy",
    "npz",
    "npz packed",
    "mat",
    "mat packed",
    "h5",
    "h5 packed",
    "parquet",
    "csv",
    "txt",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_reader_of_arrays(kind, tmp_path):
    suffix = kind.split()[0]
    path = tmp_path / f"a.{suffix}"
    example(kind, path)
    original = path.read_bytes()

    def read(path):
        if suffix in ("npz", "mat", "h5"):
            read_or_refuse(read_container, path)
        if suffix in ("csv", "parquet"):
            read_or_refuse(lambda p: read_table(p, {"class"}), path)
        return np.asarray(read_array(path)).sum()

    assert np.isfinite(read(path))

    @settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=QUIET)
    @given(MUTATIONS)
    def check(mutations):
        replace_file(path, mutate(original, mutations))
        read_or_refuse(read, path)

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(layout, small, tmp_path):
    target = tmp_path / ("a.npz" if layout == "npz" else layout)
    convert(small, target, layout)
    files = sorted(p for p in [target, *target.rglob("*")] if p.is_file())
    originals = {path: path.read_bytes() for path in files}

    @settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=QUIET)
    @given(st.sampled_from(files), MUTATIONS)
    def check(path, mutations):
        replace_file(path, mutate(originals[path], mutations))
        read_or_refuse(lambda p: np.asarray(load_dataset(p).X).sum(), target)
        replace_file(path, originals[path])

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_file_of_a_layout_may_be_missing_or_empty(layout, small, tmp_path):
    target = tmp_path / ("a.npz" if layout == "npz" else layout)
    convert(small, target, layout)
    files = sorted(p for p in [target, *target.rglob("*")] if p.is_file())
    for path in files:
        original = path.read_bytes()
        replace_file(path, b"")
        read_or_refuse(load_dataset, target)
        path.unlink()
        read_or_refuse(load_dataset, target)
        replace_file(path, original)
