"""Every layout to every other, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unseen.datasets import audit, convert, detect_layout, load_dataset
from unseen.datasets.conversion import FOLDER_WRITERS, LAYOUTS
from unseen.datasets.hdf5 import HDF5Rows
from unseen.exceptions import DataError
from unseen.semantics import ClassTable


def place(folder, layout):
    return folder / (f"{layout}.npz" if layout == "npz" else layout)


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", LAYOUTS)
def test_any_layout_to_any_other_and_back(small, same, tmp_path, first, second):
    convert(small, place(tmp_path / "1", first), first)
    convert(place(tmp_path / "1", first), place(tmp_path / "2", second), second)
    same(load_dataset(place(tmp_path / "2", second)), small)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_types_and_absent_images_and_names_survive(small, same, tmp_path, layout, dtype):
    table = ClassTable(small.semantics.classes, small.semantics.vectors.astype(np.float32))
    other = replace(small, X=(small.X * 100).astype(dtype), images=None, semantics=table)
    convert(other, place(tmp_path, layout), layout)
    same(load_dataset(place(tmp_path, layout)), other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_whole_numbers_as_classes_survive(small, same, tmp_path, layout):
    numbers = dict(zip(small.semantics.classes.tolist(), [7, 3, 12, 5, 1], strict=True))
    other = replace(
        small,
        y=np.array([numbers[c] for c in small.y.tolist()]),
        semantics=ClassTable(list(numbers.values()), small.semantics.vectors),
    )
    convert(other, place(tmp_path, layout), layout)
    same(load_dataset(place(tmp_path, layout)), other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_that_text_cannot_hold_survive(small, same, tmp_path, layout):
    names = ["two\nlines", "tab\there", " spaced ", "#hash,comma", '"quoted"']
    spelt = dict(zip(small.semantics.classes.tolist(), names, strict=True))
    other = replace(
        small,
        y=np.array([spelt[c] for c in small.y.tolist()]),
        semantics=ClassTable(names, small.semantics.vectors, ["class", "", "a\nb"]),
    )
    convert(other, place(tmp_path, layout), layout)
    same(load_dataset(place(tmp_path, layout)), other)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_values_of_a_benchmark_survive(shared, real, same, tmp_path, layout):
    """300 rows of CUB: real attributes, real image names, classes without rows."""
    cub = real(shared("xlsa17/CUB"))
    rows = np.sort(np.random.default_rng(0).permutation(len(cub.X))[:300])
    at = {int(r): i for i, r in enumerate(rows)}
    parts = {
        part: np.array([at[r] for r in getattr(cub, part).tolist() if r in at])
        for part in ("train", "test_seen", "test_unseen")
    }
    images = [cub.images[r] for r in rows]
    less = replace(cub, X=cub.X[rows, :50], y=cub.y[rows], images=images, **parts)
    convert(less, place(tmp_path, layout), layout)
    same(load_dataset(place(tmp_path, layout)), less)


def test_peers_read_the_mat_files(small, tmp_path):
    import scipy.io

    convert(small, tmp_path / "x", "xlsa17")
    features = scipy.io.loadmat(tmp_path / "x" / "four_numbers.mat")
    splits = scipy.io.loadmat(tmp_path / "x" / "att_splits.mat")
    assert np.array_equal(features["features"].T, small.X)
    names = [cell[0] for cell in splits["allclasses_names"].ravel()]
    assert [names[i - 1] for i in features["labels"].ravel()] == small.y.tolist()
    assert np.array_equal(splits["att"].T, small.semantics.vectors)
    assert np.array_equal(splits["trainval_loc"].ravel() - 1, small.train)


def test_what_a_layout_cannot_hold_is_said(small, tmp_path):
    notes = convert(small, tmp_path / "apy", "apy")
    assert any("boxes" in note for note in notes)
    assert any("unseen.json" in note for note in notes)


def test_nothing_is_left_where_writing_fails(small, tmp_path, monkeypatch):
    def fail(dataset, folder):
        (folder / "half").write_text("written")
        raise OSError("disk full")

    monkeypatch.setitem(FOLDER_WRITERS, "awa", fail)
    with pytest.raises(OSError, match="disk full"):
        convert(small, tmp_path / "new", "awa")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["awa", "npz"])
def test_what_is_there_is_not_overwritten(small, tmp_path, to):
    target = place(tmp_path, to)
    convert(small, target, to)
    with pytest.raises(DataError, match="already there"):
        convert(small, target, to)


def test_bad_arguments_are_named(small, tmp_path):
    with pytest.raises(DataError, match="to must be one of xlsa17"):
        convert(small, tmp_path / "x", "excel")
    with pytest.raises(DataError, match=r"ends in \.npz"):
        convert(small, tmp_path / "x.zip", "npz")
    with pytest.raises(DataError, match="no such file or folder"):
        detect_layout(tmp_path / "absent")
    with pytest.raises(DataError, match="in no layout known"):
        detect_layout(tmp_path)
    with pytest.raises(DataError, match="layout must be one of"):
        load_dataset(tmp_path, "excel")
    convert(small, tmp_path / "x", "awa")
    with pytest.raises(DataError, match="takes no option 'colour'"):
        load_dataset(tmp_path / "x", colour="red")


@pytest.mark.parametrize("layout", ["awa", "cub", "apy", "csv", "xlsa17"])
def test_a_sidecar_that_does_not_fit_is_refused(small, tmp_path, layout):
    convert(small, tmp_path / "x", layout)
    path = tmp_path / "x" / "unseen.json"
    path.write_text(path.read_text().replace('"unused"', '"unused", "another"'))
    with pytest.raises(DataError, match=r"5 classes, but unseen\.json beside it 6"):
        load_dataset(tmp_path / "x")


def test_lazy_features_convert_and_audit_like_others(small, same, tmp_path):
    h5py = pytest.importorskip("h5py")
    convert(small, tmp_path / "awa", "awa")
    (tmp_path / "awa" / "features.npy").unlink()
    with h5py.File(tmp_path / "awa" / "features.h5", "w") as file:
        file.create_dataset("X", data=small.X, chunks=(5, 4), compression="gzip")
    lazy = load_dataset(tmp_path / "awa")
    assert isinstance(lazy.X, HDF5Rows)
    for to in LAYOUTS:
        convert(lazy, place(tmp_path / "out", to), to)
        same(load_dataset(place(tmp_path / "out", to)), small)
    assert audit(lazy).findings == audit(small).findings


def test_half_precision_is_refused_for_matlab(small, tmp_path):
    with pytest.raises(DataError, match="no 16-bit"):
        convert(replace(small, X=small.X.astype(np.float16)), tmp_path / "x", "xlsa17")


def test_the_bundle_is_mapped_not_read(small, tmp_path):
    convert(small, tmp_path / "b.npz", "npz")
    assert isinstance(load_dataset(tmp_path / "b.npz").X, np.memmap)
