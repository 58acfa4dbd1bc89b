"""The xlsa17 layout: both MATLAB versions, both splits, and the faults users meet."""

from __future__ import annotations

import shutil
import tracemalloc

import numpy as np
import pytest
import scipy.io

from unseen.datasets import convert, load_xlsa17
from unseen.exceptions import DataError


@pytest.fixture
def folder(small, tmp_path):
    convert(small, tmp_path / "x", "xlsa17")
    (tmp_path / "x" / "unseen.json").unlink()  # as peers have it
    return tmp_path / "x"


def change(path, **changes):
    """Write a MATLAB file again with some variables changed, or (None) left out."""
    held = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
    held |= changes
    scipy.io.savemat(path, {k: v for k, v in held.items() if v is not None})


def test_labels_and_semantics_follow_allclasses_names(folder, small):
    data = load_xlsa17(folder)
    assert data.y.tolist() == small.y.tolist()
    for name in small.semantics:
        assert np.array_equal(data.semantics[name], small.semantics[name])
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert (data.name, data.features) == ("x", "four_numbers")


def test_matlab_73_gives_the_same(folder, small, same):
    h5py = pytest.importorskip("h5py")
    for path in folder.glob("*.mat"):
        held = {k: v for k, v in scipy.io.loadmat(path).items() if not k.startswith("__")}
        path.unlink()
        with h5py.File(path, "w", userblock_size=512) as file:
            for name, value in held.items():
                if value.dtype != object:
                    file[name] = value.T
                    continue
                refs = []
                for i, text in enumerate(v.ravel()[0] for v in value.ravel()):
                    codes = np.frombuffer(text.encode("utf-16-le"), np.uint16)[:, None]
                    refs.append(file.create_dataset(f"#refs#/{name}{i}", data=codes).ref)
                file.create_dataset(name, data=np.array([refs], dtype=h5py.ref_dtype))
    data = load_xlsa17(folder)
    assert isinstance(data.X, np.memmap)
    assert data.y.tolist() == small.y.tolist()
    assert list(data.images) == list(small.images)
    assert data.train.tolist() == small.train.tolist()


def test_the_versions_of_the_splits_are_told_apart(folder, small):
    assert "v2" in load_xlsa17(folder).provenance
    change(folder / "att_splits.mat", train_loc=small.train + 1, val_loc=small.test_seen + 1)
    assert "v1: its train_loc and val_loc hold rows of test_seen" in load_xlsa17(folder).provenance


def test_absolute_image_paths_are_kept_relative_to_their_root(folder, small):
    cells = np.empty((12, 1), dtype=object)
    cells[:, 0] = [f"/BS/work/{name}" for name in small.images]
    change(folder / "four_numbers.mat", image_files=cells)
    data = load_xlsa17(folder)
    assert list(data.images) == list(small.images)
    assert "images relative to /BS/work" in data.provenance


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("four_numbers", {"labels": np.arange(12) % 5}, "labels, entry 1: 0 .*0-based: add 1"),
        ("four_numbers", {"labels": np.arange(1, 13)}, "labels, entry 6: 6 .*classes 1 to 5"),
        ("four_numbers", {"labels": np.full(12, 1.5)}, "labels holds a number that is not whole"),
        ("four_numbers", {"labels": np.ones(11)}, "12 columns, one a sample, but there are 11"),
        ("four_numbers", {"labels": None}, "no variable 'labels'"),
        ("four_numbers", {"features": np.ones((12, 4))}, "transpose it"),
        ("four_numbers", {"image_files": np.ones(12)}, "must be a cell of image names"),
        ("att_splits", {"trainval_loc": np.array([0, 1])}, "trainval_loc, entry 1: 0 .*0-based"),
        ("att_splits", {"test_unseen_loc": np.array([13])}, "13 is not one of the rows 1 to 12"),
        ("att_splits", {"att": np.ones((3, 4))}, "one vector for each of 5 classes"),
        ("att_splits", {"att": np.full((3, 5), np.nan)}, "'att': semantics holds NaN"),
        ("att_splits", {"att": None}, "no variable 'att'"),
        ("att_splits", {"allclasses_names": np.ones(5)}, "must be a cell of class names"),
    ],
)
def test_a_fault_names_the_file_and_the_place(folder, file, changes, message):
    change(folder / f"{file}.mat", **changes)
    with pytest.raises(DataError, match=rf"x/{file}\.mat: .*{message}|{message}"):
        load_xlsa17(folder)


def test_image_names_do_not_lead_out(folder):
    cells = np.empty((12, 1), dtype=object)
    cells[:, 0] = "../../etc/passwd"
    change(folder / "four_numbers.mat", image_files=cells)
    with pytest.raises(DataError, match=r"entry 1: '../../etc/passwd' is not a plain path"):
        load_xlsa17(folder)


def test_feature_files_are_chosen_by_name(folder):
    shutil.copy(folder / "four_numbers.mat", folder / "res101.mat")
    with pytest.raises(DataError, match=r"more than one feature file.*four_numbers, res101"):
        load_xlsa17(folder)
    assert load_xlsa17(folder, "res101").features == "res101"
    with pytest.raises(DataError, match=r"vgg.mat: no such file. Name one of: four_numbers, res101"):
        load_xlsa17(folder, "vgg")
    for path in folder.glob("*s.mat"):
        path.unlink()
    with pytest.raises(DataError, match=r"att_splits\.mat: no such file"):
        load_xlsa17(folder)


def test_the_standard_split_needs_its_classes(folder, tmp_path):
    with pytest.raises(DataError, match=r"not known here. Give class_lists="):
        load_xlsa17(folder, split="SS")
    (tmp_path / "testclasses.txt").write_text("c_owl\n")
    data = load_xlsa17(folder, split="SS", class_lists=tmp_path)
    assert data.unseen_classes.tolist() == ["c_owl"]
    assert (len(data.train), len(data.test_seen), len(data.test_unseen)) == (8, 0, 4)
    (tmp_path / "testclasses.txt").write_text("c_owl\nghost\n")
    with pytest.raises(DataError, match=r"testclasses\.txt: entry 2: the class 'ghost'"):
        load_xlsa17(folder, split="SS", class_lists=tmp_path)
    with pytest.raises(DataError, match="must be 'PS' or 'SS'"):
        load_xlsa17(folder, split="XX")


def test_the_real_cub(shared, real):
    cub = real(shared("xlsa17/CUB"))
    assert cub.X.shape == (11788, 1280)
    assert (len(cub.train), len(cub.test_seen), len(cub.test_unseen)) == (7057, 1764, 2967)
    assert (len(cub.seen_classes), len(cub.unseen_classes)) == (150, 50)
    assert all(i.startswith(f"{c}/") for i, c in zip(cub.images, cub.y, strict=True))


def test_both_splits_of_the_real_awa(shared, real):
    folder = shared("xlsa17/AWA1")
    proposed, standard = real(folder), real(folder, split="SS")
    assert (len(proposed.train), len(proposed.test_unseen)) == (19832, 5685)
    assert (len(standard.train), len(standard.test_unseen)) == (24295, 6180)
    lists = load_xlsa17(folder, split="SS", class_lists=shared("awa"))
    assert np.array_equal(lists.test_unseen, standard.test_unseen)


def test_loading_holds_the_features_once(shared):
    folder = shared("xlsa17/CUB")
    tracemalloc.start()
    data = load_xlsa17(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2.5 * data.X.nbytes  # about 1.1
