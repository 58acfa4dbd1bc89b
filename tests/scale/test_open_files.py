"""Readers of .npy, Zarr and Parquet; bounded memory; and what is refused, with its place."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from sklearn.base import clone

from toys import Toy, make_toy
from unseen import (
    ASTE,
    CMT,
    ESZSL,
    SJE,
    TASTE,
    FastTraining,
    SelfPaced,
    SelfPacedPrototypes,
    WDVSc,
    load,
    open_rows,
)
from unseen.exceptions import DataError
from unseen.scale import open_files, write_labels
from unseen.scale.local import LocalChunks
from unseen.statistics import review
from unseen.transductive.selection import ThresholdSelection


@pytest.fixture(scope="module")
def toy() -> Toy:
    return make_toy(seen=8, unseen=3, p=12, rows=40)


def stored(kind: str, folder: Path, X: Any, y: Any) -> tuple[Any, Any]:
    """Write rows and labels, and open them again."""
    if kind == "npy":
        np.save(folder / "X.npy", X)
        np.save(folder / "y.npy", y)
        return open_rows(folder / "X.npy"), open_rows(folder / "y.npy")
    if kind == "zarr":
        zarr.create_array(folder / "X.zarr", data=X, chunks=(50, X.shape[1]))
        zarr.create_array(folder / "y.zarr", data=y, chunks=(50,))
        return open_rows(folder / "X.zarr"), open_rows(folder / "y.zarr")
    columns = {f"f{i}": X[:, i] for i in range(X.shape[1])}
    if kind == "lists":
        columns = {"features": list(X)}
    table = pa.table({**columns, "label": y})
    for number, start in enumerate(range(0, len(X), 100)):  # two row groups a file
        pq.write_table(table.slice(start, 100), folder / f"part-{number}.parquet", row_group_size=60)
    return open_rows(folder, without=["label"]), open_rows(folder, "label")


@pytest.mark.parametrize("estimator", [ASTE, SelfPacedPrototypes])
@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet", "lists"])
def test_every_format_gives_the_same_fit(
    kind: str, estimator: Any, toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "CHUNK_BYTES", 50 * 12 * 8)
    y = np.unique(toy.y, return_inverse=True)[1]
    semantics = dict(enumerate(toy.semantics.values()))
    X, labels = stored(kind, tmp_path, toy.X, np.where(y < 8, y, -1))
    assert X.shape == toy.X.shape
    assert len(X.sizes) > 1
    got = estimator(semantics).fit(X, labels)
    want = estimator(semantics).fit(toy.X, np.where(y < 8, y, -1))
    np.testing.assert_allclose(got.decision_function(X), want.decision_function(toy.X), atol=1e-8)
    lazy = open_rows(tmp_path / f"X.{kind}", cluster=True) if kind in ("npy", "zarr") else None
    if lazy is not None:
        np.testing.assert_array_equal(lazy.compute(), toy.X)
        np.testing.assert_array_equal(want.predict(lazy).compute(), want.predict(toy.X))


PLAIN = {"compressors": None}
KINDS: dict[str, tuple[dict[str, Any], bool]] = {  # how rows are stored, and whether files are mapped
    "plain": (PLAIN, True),
    "older": ({**PLAIN, "zarr_format": 2}, True),
    "compressed": ({}, False),
    "older-compressed": ({"zarr_format": 2}, False),
    "filtered": ({**PLAIN, "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]}, False),
    "sharded": ({**PLAIN, "shards": (20, 3)}, False),
    "swapped": ({**PLAIN, "serializer": zarr.codecs.BytesCodec(endian="big")}, False),
    "older-swapped": ({**PLAIN, "zarr_format": 2, "dtype": ">f4"}, False),
    "by-columns": ({**PLAIN, "zarr_format": 2, "order": "F"}, False),
    "cut-in-columns": ({**PLAIN, "chunks": (10, 2)}, False),
    "several-at-a-time": ({**PLAIN, "chunks": (5, 3)}, False),
}


@pytest.mark.skipif(sys.byteorder == "big", reason="'swapped' is this machine's own order")
@pytest.mark.parametrize("kind", KINDS)
def test_a_chunk_is_mapped_where_its_file_is_plain_numbers(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "CHUNK_BYTES", 10 * 3 * 4)
    options, mapped = KINDS[kind]
    X = np.random.default_rng(0).normal(size=(37, 3)).astype("f4")
    options = {"dtype": "f4", "chunks": (10, 3), **options}
    stored = zarr.create_array(tmp_path / "X.zarr", shape=X.shape, **options)
    stored[:] = X
    rows = open_rows(tmp_path / "X.zarr", cluster=False)
    np.testing.assert_array_equal(rows.result(), X)
    assert isinstance(rows, LocalChunks)
    own = rows.read(1)
    assert own.flags.writeable is not mapped  # a map is read only
    np.testing.assert_array_equal(own, stored[10:20] if len(own) == 10 else stored[20:])
    np.testing.assert_array_equal(open_rows(tmp_path / "X.zarr", cluster=True).compute(), X)


def test_a_chunk_without_a_file_holds_the_fill_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "CHUNK_BYTES", 10 * 3 * 4)
    stored = zarr.create_array(
        tmp_path / "X.zarr", shape=(30, 3), dtype="f4", chunks=(10, 3), fill_value=7, compressors=None
    )
    stored[:10] = 1
    rows = open_rows(tmp_path / "X.zarr", cluster=False)
    np.testing.assert_array_equal(rows.result()[:, 0], np.repeat([1, 7, 7], 10))
    whole = tmp_path / "X.zarr" / stored.metadata.encode_chunk_key((0, 0))
    whole.write_bytes(whole.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"X\.zarr: chunk 0"):
        rows.read(0)


def test_labels_are_read_in_the_chunks_of_rows(tmp_path: Path) -> None:
    """So that a pass needs no chunk of labels of another place: 65,536 rows of 256 single numbers."""
    for name, shape in (("X", (140_000, 256)), ("y", (140_000,))):
        zarr.create_array(tmp_path / name, shape=shape, dtype="f4", chunks=(8192, *shape[1:]))
    X, y = (open_rows(tmp_path / name, cluster=False) for name in "Xy")
    assert X.sizes == y.sizes == (65_536, 65_536, 8928)


def test_names_and_empty_cells_of_parquet_are_labels(toy: Toy, tmp_path: Path) -> None:
    X, y = toy.transductive()
    pq.write_table(pa.table({"x": list(X), "label": y.tolist()}), tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    got = ESZSL(toy.semantics).fit(open_rows(path, without=["label"]), open_rows(path, "label"))
    want = ESZSL(toy.semantics).fit(X, y)
    np.testing.assert_allclose(got.compatibility_, want.compatibility_, atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [SelfPaced(ASTE(), selection=ThresholdSelection((0.5,))), SelfPacedPrototypes(rounds=2)],
    ids=["SelfPaced", "SelfPacedPrototypes"],
)
@pytest.mark.parametrize("kind", ["npy", "memmap"])
def test_memory_is_bounded_by_a_chunk(
    kind: str, estimator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What NumPy allocates: X is 32 MB, and a chunk 1 MB; some rows have no label."""
    monkeypatch.setattr(open_files, "CHUNK_BYTES", 2**20)
    monkeypatch.setattr(review, "SKETCH_ROWS", 50)  # a sample that is small against the rows
    random = np.random.default_rng(0)
    y = random.integers(-1, 10, size=2**15)
    X = random.normal(size=(len(y), 128)) + y[:, None]
    semantics = dict(enumerate(random.normal(size=(12, 6))))
    np.save(tmp_path / "X.npy", X)
    path, size = tmp_path / "X.npy", X.nbytes
    del X
    rows = open_rows(path) if kind == "npy" else np.load(path, mmap_mode="r")
    tracemalloc.start()
    clone(estimator).set_params(semantics=semantics, candidates="unseen").fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 4


def test_a_number_that_is_not_finite_is_named_with_its_place(toy: Toy) -> None:
    X = toy.X.copy()
    X[123, 7] = np.nan
    chunks = LocalChunks.of(X, (100,) * 4 + (40,))
    with pytest.raises(ValueError, match="contains NaN or infinity: chunk 1, row 123, column 7"):
        ESZSL(toy.semantics).fit(chunks, toy.y)
    fitted = ESZSL(toy.semantics).fit(toy.X[toy.train], toy.y[toy.train])
    with pytest.raises(ValueError, match="chunk 1, row 123, column 7"):
        fitted.predict(da.from_array(X, chunks=(100, 12))).compute()


@pytest.mark.parametrize("estimator", [WDVSc(), CMT(), SelfPaced(SJE()), ASTE(solver="sgd")])
def test_who_needs_all_rows_says_who_does_not(estimator: Any, toy: Toy) -> None:
    estimator.set_params(semantics=toy.semantics, candidates="unseen")
    with pytest.raises(
        ValueError,
        match=r"needs all rows in memory.*np.asarray\(X\).*FastTraining.*takes_chunks=True\)",
    ):
        estimator.fit(da.from_array(toy.X, chunks=(100, 12)), toy.y)


def test_weights_leave_rows_and_classes_out(toy: Toy) -> None:
    weights = np.where(toy.y == "class 01", 0.0, 1.0 + (np.arange(len(toy.y)) % 3))
    labels = toy.y.astype(object)
    labels[toy.unseen] = None
    for model in (ESZSL(toy.semantics), FastTraining(ASTE(toy.semantics))):
        want = model.fit(toy.X, labels, weights).decision_function(toy.X)
        chunks = da.from_array(toy.X, chunks=(100, 5))  # columns in chunks, too
        got = model.fit(chunks, labels, da.from_array(weights, chunks=77))
        assert "class 01" not in got.seen_classes_.tolist()
        np.testing.assert_allclose(got.decision_function(toy.X), want, atol=1e-7)
    with pytest.raises(ValueError, match="sample_weight must hold numbers >= 0"):
        model.fit(chunks, labels, -weights)
    with pytest.raises(ValueError, match="440 rows, but y has shape"):
        model.fit(chunks, labels[:-1])


def test_fast_trainings_errors_are_those_in_memory(toy: Toy) -> None:
    X, y = toy.transductive()
    model = FastTraining(ESZSL(toy.semantics)).fit(X, y)
    want = model.training_errors(X, y)
    assert model.training_errors(da.from_array(X, chunks=(90, 12)), y) == pytest.approx(want)


def test_a_model_file_holds_no_labels_of_a_cluster(toy: Toy, tmp_path: Path) -> None:
    X, y = toy.transductive()
    model = FastTraining(TASTE(toy.semantics)).fit(da.from_array(X, chunks=(90, 12)), y)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "transduction_")


def test_a_pool_that_is_left_alone_has_a_lazy_answer(toy: Toy) -> None:
    X, y = toy.transductive()
    model = TASTE(toy.semantics, candidates="all").fit(da.from_array(X, chunks=(90, 12)), y)
    assert model.transduction_.shape == y.shape
    assert (model.labelled_round_.compute()[: len(toy.train)] == 0).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.npy", "no such file"),
        ("rows.csv", "is no .npy, Zarr array or Parquet"),
        ("x.zarr", "x.zarr"),
    ],
)
def test_what_cannot_be_opened_is_named(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        open_rows(tmp_path / name)


def test_parquet_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0, None], "b": ["x", "y"]}), path)
    with pytest.raises(DataError, match="column 'b' holds string"):
        open_rows(path, without=["a"])
    with pytest.raises(DataError, match="column 'a' has 1 empty cell"):
        open_rows(path, without=["b"])
    with pytest.raises(DataError, match="has no column 'c'"):
        open_rows(path, "c")
    pq.write_table(pa.table({"a": [[1.0], [2.0, 3.0], [4.0, 5.0, 6.0]]}), path)
    with pytest.raises(DataError, match="several lengths"):
        open_rows(path)


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_labels_are_written_in_parts(suffix: str, tmp_path: Path) -> None:
    labels = np.array(["fox", "bat", "fox", "owl"])
    path = tmp_path / f"labels.{suffix}"
    counts = write_labels(path, da.from_array(labels, chunks=3))
    assert counts == {"bat": 1, "fox": 2, "owl": 1}
    read = np.load(path) if suffix == "npy" else np.array(path.read_text().split()[1:])
    np.testing.assert_array_equal(read, labels)
