"""AwA, CUB and aPY in their own layouts."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.datasets import load_apy, load_awa, load_cub
from unseen.exceptions import DataError


def lines(path, *texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{t}\n" for t in texts))


@pytest.fixture
def awa(tmp_path):
    lines(tmp_path / "classes.txt", "     1\tfox", "     2\tred+bat", "     3\towl")
    lines(tmp_path / "predicates.txt", "     1\tfurry", "     2\tflies")
    lines(tmp_path / "predicate-matrix-continuous.txt", " -1.00  2.00", "10.00 4.00", "20.00 -1.00")
    lines(tmp_path / "predicate-matrix-binary.txt", "1 0", "1 1", "0 1")
    lines(tmp_path / "testclasses.txt", "owl")
    lines(tmp_path / "labels.txt", 1, 3, 2, 1)
    np.save(tmp_path / "features.npy", np.arange(8.0).reshape(4, 2))
    return tmp_path


def test_awa(awa):
    data = load_awa(awa)
    assert data.y.tolist() == ["fox", "owl", "red+bat", "fox"]
    assert data.semantics.attributes == ("furry", "flies")
    assert (data.train.tolist(), data.test_unseen.tolist()) == ([0, 2, 3], [1])
    assert len(data.test_seen) == 0
    assert load_awa(awa, semantics="binary").semantics["owl"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("missing", "fox", "owl"),
    [("mean", [15, 2], [20, 3]), ("zero", [0, 2], [20, 0]), ("keep", [-1, 2], [20, -1])],
)
def test_missing_values_of_awa(awa, missing, fox, owl):
    data = load_awa(awa, missing=missing)
    assert data.semantics["fox"].tolist() == fox
    assert data.semantics["owl"].tolist() == owl
    assert "2 missing values" in data.provenance


def test_an_attribute_that_nobody_rated_has_no_mean(awa):
    lines(awa / "predicate-matrix-continuous.txt", "-1 2", "-1 4", "-1 6")
    with pytest.raises(DataError, match="attribute 1 is rated for no class"):
        load_awa(awa)
    with pytest.raises(DataError, match="missing must be"):
        load_awa(awa, missing="median")


@pytest.mark.parametrize(
    ("file", "texts", "message"),
    [
        ("classes.txt", ["1 fox", "3 bat"], r"classes\.txt: entry 2: expected '2 <name>'"),
        ("labels.txt", [1, 3, 2, 0], r"labels\.txt: labels, entry 4: 0 .*0-based"),
        ("labels.txt", [1, 3, 2], r"features\.npy: has 4 rows, but the labels has 3"),
        ("labels.txt", ["1 1 1"] * 4, r"labels\.txt: has 3 columns"),
        ("testclasses.txt", ["fix"], r"testclasses\.txt: entry 1: the class 'fix' is not"),
        ("testclasses.txt", ["owl", "owl"], r"testclasses\.txt: entry 2: .* twice"),
        ("testclasses.txt", ["owl", "fox", "red+bat"], "rows of seen and of unseen"),
        (
            "predicate-matrix-continuous.txt",
            ["1 2", "3 4"],
            r"shape \(2, 2\), but there are 3 classes",
        ),
        (
            "predicate-matrix-continuous.txt",
            ["1 2", "3 x", "5 6"],
            "continuous.txt: cannot be read",
        ),
        ("predicate-matrix-continuous.txt", ["1 2", "nan 4", "5 6"], "NaN"),
    ],
)
def test_faults_of_awa_are_named(awa, file, texts, message):
    lines(awa / file, *texts)
    with pytest.raises(DataError, match=message):
        load_awa(awa)


def test_awa_without_features_or_lists_says_what_to_place(awa):
    (awa / "testclasses.txt").unlink()
    with pytest.raises(DataError, match=r"testclasses\.txt: no such file.*or give unseen="):
        load_awa(awa)
    assert load_awa(awa, unseen=["fox"]).unseen_classes.tolist() == ["fox"]
    with pytest.raises(DataError, match="'wolf' is not among"):
        load_awa(awa, unseen=["wolf"])
    (awa / "features.npy").unlink()
    with pytest.raises(DataError, match=r"no features. Place features\.npy or"):
        load_awa(awa, unseen=["fox"])


@pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "txt", "h5", "parquet"])
def test_features_from_any_format(awa, suffix):
    from unseen.datasets import read_array

    X = np.array(read_array(awa / "features.npy"))
    path = awa / f"other.{suffix}"
    if suffix == "npy":
        np.save(path, X)
    elif suffix == "npz":
        np.savez(path, X=X)
    elif suffix == "mat":
        import scipy.io

        scipy.io.savemat(path, {"features": X.T, "labels": np.array([1, 3, 2, 1])})
        (awa / "labels.txt").unlink()
    elif suffix == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["features"] = X
    elif suffix == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path)
    else:
        np.savetxt(path, X)
    data = load_awa(awa, path)
    assert np.array_equal(data.X, X)
    assert data.y.tolist() == ["fox", "owl", "red+bat", "fox"]


@pytest.fixture
def cub(tmp_path):
    lines(tmp_path / "classes.txt", "1 001.Fox", "2 002.Owl")
    lines(tmp_path / "attributes.txt", "1 has_bill::long", "2 has_wing::blue bright")
    lines(tmp_path / "attributes/class_attribute_labels_continuous.txt", "1.5 2", "3 4")
    lines(tmp_path / "images.txt", "1 001.Fox/b.jpg", "2 001.Fox/a.jpg", "3 002.Owl/c.jpg")
    lines(tmp_path / "image_class_labels.txt", "1 1", "2 1", "3 2")
    lines(tmp_path / "train_test_split.txt", "1 1", "2 0", "3 0")
    lines(tmp_path / "testclasses.txt", "002.Owl")
    np.save(tmp_path / "features.npy", np.arange(6.0).reshape(3, 2))
    return tmp_path


def test_cub(cub):
    data = load_cub(cub)
    assert data.y.tolist() == ["001.Fox", "001.Fox", "002.Owl"]
    assert data.semantics["002.Owl"].tolist() == [3, 4]
    assert (data.train.tolist(), data.test_unseen.tolist()) == ([0, 1], [2])
    held = load_cub(cub, held_out=True)
    assert (held.train.tolist(), held.test_seen.tolist()) == ([0], [1])


def test_cub_rows_are_matched_by_image_name(cub):
    import scipy.io

    cells = np.empty((3, 1), dtype=object)
    cells[:, 0] = ["/x/002.Owl/c.jpg", "/x/001.Fox/a.jpg", "/x/001.Fox/b.jpg"]
    named = {"features": np.array([[3.0, 2, 1]]), "image_files": cells}
    scipy.io.savemat(cub / "n.mat", named)
    assert load_cub(cub, cub / "n.mat").X.ravel().tolist() == [1, 2, 3]
    cells[0, 0] = "/x/002.Owl/other.jpg"
    scipy.io.savemat(cub / "n.mat", named)
    with pytest.raises(DataError, match=r"n\.mat: has no row for '002.Owl/c.jpg'"):
        load_cub(cub, cub / "n.mat")


@pytest.mark.parametrize(
    ("file", "texts", "message"),
    [
        ("images.txt", ["1 ../x.jpg", "2 b", "3 c"], r"images\.txt: line 1: the image name"),
        ("images.txt", ["1 a.jpg", "2 b.jpg"], "has 2 rows, but"),
        ("image_class_labels.txt", ["1 1", "2 1", "3 7"], "7 is not one of the classes 1 to 2"),
        ("train_test_split.txt", ["1 1", "2 2", "3 0"], "must mark each of 3 images"),
    ],
)
def test_faults_of_cub_are_named(cub, file, texts, message):
    lines(cub / file, *texts)
    with pytest.raises(DataError, match=message):
        load_cub(cub, held_out=True)


@pytest.fixture
def apy(tmp_path):
    lines(tmp_path / "attribute_names.txt", "2D Boxy", "Furn. Leg")
    lines(tmp_path / "apascal_train.txt", "a.jpg cat 1 2 3 4 1 0", "a.jpg dog 1 1 9 9 0 0")
    lines(tmp_path / "apascal_test.txt", "b.jpg cat 1 2 3 4 0 0", "c.jpg cat 0 0 1 1 0 1")
    lines(tmp_path / "ayahoo_test.txt", "wolf/d.jpg wolf 0 0 1 1 1 1")
    np.save(tmp_path / "features.npy", np.arange(10.0).reshape(5, 2))
    return tmp_path


def test_apy_averages_attributes_and_holds_out_ayahoo(apy):
    data = load_apy(apy)
    assert data.y.tolist() == ["cat", "dog", "cat", "cat", "wolf"]
    assert np.allclose(data.semantics["cat"], [1 / 3, 1 / 3])
    assert (data.train.tolist(), data.test_unseen.tolist()) == ([0, 1, 2, 3], [4])
    held = load_apy(apy, held_out=True)
    assert (held.train.tolist(), held.test_seen.tolist()) == ([0, 1], [2, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d.jpg wolf 0 0 1 1 1", "line 1 has 7 cells; .* make 8"),
        ("d.jpg wolf 0 0 1 1 1 x", "line 1: could not convert"),
        ("../d.jpg wolf 0 0 1 1 1 1", "line 1: the image name"),
        ("d.jpg wolf 0 0 1 1 1 nan", "NaN"),
    ],
)
def test_faults_of_apy_are_named(apy, text, message):
    lines(apy / "ayahoo_test.txt", text)
    with pytest.raises(DataError, match=message):
        load_apy(apy)


def test_the_real_awa(shared, real, tmp_path):
    peers = real(shared("xlsa17/AWA1"), split="SS")
    features = tmp_path / "few.npz"
    np.savez(features, X=peers.X[:, :3], labels=peers.semantics.positions(peers.y) + 1)
    data = load_awa(shared("awa"), features)
    assert np.array_equal(data.test_unseen, peers.test_unseen)
    assert data.y.tolist() == peers.y.tolist()
    kept = load_awa(shared("awa"), features, missing="keep").semantics.vectors
    unit = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    assert np.allclose(unit, peers.semantics.vectors, atol=1e-12)
    assert (data.semantics["antelope"][:4] > 0).all()


def test_the_real_cub_agrees_with_xlsa17_image_by_image(shared, real):
    folder = shared("xlsa17/CUB")
    peers = real(folder)
    data = load_cub(shared("cub"), folder / "efficientnet_lite0.mat", unseen=folder)
    at = {name: i for i, name in enumerate(peers.images)}
    order = [at[name] for name in data.images]
    assert np.array_equal(peers.y[order], data.y)
    assert np.array_equal(peers.X[order], data.X)
    for name, vector in data.semantics.items():
        assert np.allclose(peers.semantics[name], vector / np.linalg.norm(vector), atol=1e-9)
