"""Readers of .npy, Zarr and Parquet; bounded memory; and what is refused, with its place."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

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
    load,
    open_rows,
)
from unseen.exceptions import DataError
from unseen.scale import opening, write_labels
from unseen.scale.local import LocalChunks
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


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet", "lists"])
def test_every_format_gives_the_same_fit(
    kind: str, toy: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CHUNK_BYTES", 50 * 12 * 8)
    y = np.unique(toy.y, return_inverse=True)[1]
    semantics = dict(enumerate(toy.semantics.values()))
    X, labels = stored(kind, tmp_path, toy.X, np.where(y < 8, y, -1))
    assert X.shape == toy.X.shape
    assert len(X.sizes) > 1
    got = ASTE(semantics).fit(X, labels)
    want = ASTE(semantics).fit(toy.X, np.where(y < 8, y, -1))
    np.testing.assert_allclose(got.decision_function(X), want.decision_function(toy.X), atol=1e-8)
    lazy = open_rows(tmp_path / f"X.{kind}", cluster=True) if kind in ("npy", "zarr") else None
    if lazy is not None:
        np.testing.assert_array_equal(lazy.compute(), toy.X)
        np.testing.assert_array_equal(want.predict(lazy).compute(), want.predict(toy.X))


def test_names_and_empty_cells_of_parquet_are_labels(toy: Toy, tmp_path: Path) -> None:
    X, y = toy.transductive()
    pq.write_table(pa.table({"x": list(X), "label": y.tolist()}), tmp_path / "rows.parquet")
    path = tmp_path / "rows.parquet"
    got = ESZSL(toy.semantics).fit(open_rows(path, without=["label"]), open_rows(path, "label"))
    want = ESZSL(toy.semantics).fit(X, y)
    np.testing.assert_allclose(got.compatibility_, want.compatibility_, atol=1e-8)


@pytest.mark.parametrize("kind", ["npy", "memmap"])
def test_memory_is_bounded_by_a_chunk(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What NumPy allocates: X is 32 MB, and a chunk 1 MB; some rows have no label."""
    monkeypatch.setattr(opening, "CHUNK_BYTES", 2**20)
    random = np.random.default_rng(0)
    y = random.integers(-1, 10, size=2**15)
    X = random.normal(size=(len(y), 128)) + y[:, None]
    semantics = dict(enumerate(random.normal(size=(12, 6))))
    np.save(tmp_path / "X.npy", X)
    path, size = tmp_path / "X.npy", X.nbytes
    del X
    rows = open_rows(path) if kind == "npy" else np.load(path, mmap_mode="r")
    tracemalloc.start()
    SelfPaced(ASTE(semantics), selection=ThresholdSelection((0.5,))).fit(rows, y)
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


@pytest.mark.parametrize(
    "estimator", [SelfPacedPrototypes(), CMT(), SelfPaced(SJE()), ASTE(solver="sgd")]
)
def test_who_needs_all_rows_says_who_does_not(estimator: Any, toy: Toy) -> None:
    estimator.set_params(semantics=toy.semantics, candidates="unseen")
    with pytest.raises(ValueError, match=r"needs all rows in memory.*ASTE, ESZSL, FastTraining"):
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
