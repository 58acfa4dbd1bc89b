"""Your own data: tables and folders of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from unseen import image_files
from unseen.datasets import load_image_folder, load_table, thumbnail_features
from unseen.exceptions import DataError


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text(
        "image,class,a,b,split\n"
        "f/1.jpg,fox,1,2,train\nf/2.jpg,fox,3,4,test_seen\nb/1.jpg,bat,5,6,test_unseen\n"
        "b/2.jpg,bat,7,8,none\n"
    )
    (tmp_path / "c.csv").write_text("class,flies,furry\nfox,0,1\nbat,1,1\nemu,0,0\n")
    (tmp_path / "unseen.txt").write_text("bat\n")
    (tmp_path / "rows.csv").write_text("set,row\ntrain,1\ntrain,0\ntest_unseen,3\n")
    np.save(tmp_path / "x.npy", np.arange(8.0).reshape(4, 2))
    (tmp_path / "y.txt").write_text("fox\nfox\nbat\nbat\n")
    return tmp_path


def test_a_csv_with_a_split_column(folder):
    data = load_table(folder / "x.csv", folder / "c.csv")
    assert data.X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert data.train.tolist() == [0]
    assert data.test_seen.tolist() == [1]
    assert data.test_unseen.tolist() == [2]
    assert data.images[2] == "b/1.jpg"
    assert data.semantics.attributes == ("flies", "furry")


@pytest.mark.parametrize("split", ["list", "txt", "csv", "mapping"])
def test_every_form_of_split(folder, split):
    given = {
        "list": ["bat"],
        "txt": folder / "unseen.txt",
        "csv": folder / "rows.csv",
        "mapping": {"train": [0, 1], "test_unseen": [2, 3]},
    }[split]
    data = load_table(folder / "x.csv", folder / "c.csv", split=given)
    assert sorted(data.train.tolist()) == [0, 1]
    assert data.test_unseen.tolist() == ([3] if split == "csv" else [2, 3])


def test_npy_with_labels_and_a_mapping(folder):
    semantics = {"fox": [0, 1], "bat": [1, 1]}
    data = load_table(folder / "x.npy", semantics, ["bat"], labels=folder / "y.txt")
    assert isinstance(data.X, np.memmap)
    assert data.y.tolist() == ["fox", "fox", "bat", "bat"]
    again = load_table(folder / "x.npy", semantics, ["bat"], labels=data.y)
    assert again.y.tolist() == data.y.tolist()


def test_npz_with_labels_inside_and_whole_numbers_as_classes(folder):
    np.savez(folder / "x.npz", X=np.ones((3, 2)), y=np.array([4, 4, 9]))
    data = load_table(folder / "x.npz", {4: [0.0, 1.0], 9: [1.0, 0.0]}, [9])
    assert data.test_unseen.tolist() == [2]
    (folder / "u.txt").write_text("9\n")
    assert load_table(folder / "x.npz", {4: [0.0], 9: [1.0]}, folder / "u.txt").train.tolist() == [
        0,
        1,
    ]


def test_parquet(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"class": ["fox", "bat"], "a": np.float32([1, 2]), "b": np.float32([3, 4])})
    pq.write_table(table, folder / "x.parquet")
    data = load_table(folder / "x.parquet", folder / "c.csv", ["bat"])
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": ["wolf"]}, "1 unseen class.* have no row: wolf"),
        ({"split": ["fox", "bat"]}, "rows of seen and of unseen"),
        ({"split": {"train": ["a"]}}, r"split\['train'\] must be a list of row numbers"),
        ({"split": {"train": [9]}}, "train points at row 9"),
        ({"split": "absent.txt"}, r"absent\.txt: no such file"),
        ({"labels": ["fox"]}, "has 1 labels"),
        ({"semantics": {"fox": [1.0]}}, "no vector for 1 class.*bat"),
        ({"semantics": 3}, "must be a mapping"),
        ({"semantics": {"fox": [1.0], "bat": [1.0, 2.0]}}, "differ in width"),
    ],
)
def test_bad_arguments_are_named(folder, options, message):
    options = {"semantics": folder / "c.csv", **options}
    with pytest.raises(DataError, match=message):
        load_table(folder / "x.csv", **options)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("x.csv", "image,class,a,split\n../../x,fox,1,train\n", r"x\.csv: line 2: the image name"),
        ("x.csv", "class,a,split\nfox,1,trian\n", r"x\.csv: line 2, column 'split': 'trian'"),
        ("x.csv", "class,a\nfox,1\n", "no split. Give split="),
        ("x.csv", "a,split\n1,train\n", "no column 'class'"),
        ("x.csv", "class,split\nfox,train\n", "two dimensions"),
        ("c.csv", "name,a\nfox,1\n", r"c\.csv"),
        ("c.csv", "a,b\n1,2\n", r"c\.csv: line 1 has no column 'class'"),
        ("c.csv", "class,a\nfox,1\nfox,2\n", "'fox'.* more than once"),
        ("c.csv", "class,a\nfox,nan\nbat,1\n", r"c\.csv: .*NaN"),
    ],
)
def test_faults_in_the_files_are_named(folder, file, text, message):
    (folder / file).write_text(text)
    with pytest.raises(DataError, match=message):
        load_table(folder / "x.csv", folder / "c.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set,row\ntrain,4\n", "line 2: row 4, but the data has rows 0 to 3"),
        ("set,row\ntrain,-1\n", "line 2: expected one of"),
        ("set,row\nvalid,1\n", "line 2: expected one of"),
        ("row,set\n", "line 1 must be 'set,row'"),
    ],
)
def test_faults_in_a_split_are_named(folder, text, message):
    (folder / "rows.csv").write_text(text)
    with pytest.raises(DataError, match=rf"rows\.csv: {message}"):
        load_table(folder / "x.csv", folder / "c.csv", folder / "rows.csv")


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("fox", (200, 90, 20)), ("bat", (20, 20, 20)), ("elk", (90, 60, 30))):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(2):
            image.new("RGB", (40 + i, 30), colour).save(tmp_path / "photos" / name / f"{i}.png")
    (tmp_path / "photos" / "fox" / "notes.txt").write_text("not a picture")
    return tmp_path / "photos"


SEMANTICS = {"fox": [0.0, 1.0], "bat": [1.0, 1.0], "elk": [0.0, 0.5]}


def test_a_folder_of_pictures(pictures):
    data = load_image_folder(pictures, SEMANTICS, unseen=["elk"])
    assert data.X.shape == (6, 480)
    assert data.X.dtype == np.float32
    assert data.y.tolist() == ["bat", "bat", "elk", "elk", "fox", "fox"]
    assert data.images[0] == "bat/0.png"
    assert data.unseen_classes.tolist() == ["elk"]
    assert np.allclose(data.X[4, :3] * 255, (200, 90, 20), atol=1)
    assert data.features == "thumbnail_features"


def test_features_of_your_own(pictures):
    def lengths(paths):
        return [[len(p.name), p.stat().st_size] for p in paths]

    data = load_image_folder(pictures, SEMANTICS, ["elk"], extract=lengths)
    assert data.X.shape == (6, 2)
    assert data.features == "lengths"
    with pytest.raises(DataError, match="returned 1 rows for 6 pictures"):
        load_image_folder(pictures, SEMANTICS, ["elk"], extract=lambda paths: [[1.0]])


def test_faults_of_a_folder_are_named(pictures, tmp_path):
    with pytest.raises(DataError, match="no vector for the class 'elk'"):
        load_image_folder(pictures, {"fox": [0.0], "bat": [1.0]}, ["bat"])
    with pytest.raises(DataError, match="'wolf' is not among"):
        load_image_folder(pictures, SEMANTICS, ["wolf"])
    with pytest.raises(DataError, match="no such folder"):
        load_image_folder(tmp_path / "absent", SEMANTICS, ["elk"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no pictures"):
        load_image_folder(tmp_path / "empty", SEMANTICS, ["elk"])
    (pictures / "fox" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut short")
    with pytest.raises(DataError, match=r"broken\.jpg: cannot be read"):
        load_image_folder(pictures, SEMANTICS, ["elk"])


def test_a_link_out_of_the_folder_is_refused(pictures, tmp_path):
    (tmp_path / "secret.png").write_bytes((pictures / "fox" / "0.png").read_bytes())
    (pictures / "fox" / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match=r"link\.png: is a link that leads out"):
        load_image_folder(pictures, SEMANTICS, ["elk"])


def test_a_picture_bomb_is_refused(pictures, monkeypatch):
    monkeypatch.setattr(image_files, "MOST_PIXELS", 100)
    with pytest.raises(DataError, match="pixels are more than the limit"):
        thumbnail_features([pictures / "fox" / "0.png"])


def test_the_real_photographs(shared):
    from unseen.datasets import load_dataset

    data = load_dataset(shared("animal-photos"))
    assert data.X.shape == (840, 480)
    assert sorted(data.unseen_classes) == ["bat", "dolphin", "horse", "rat", "seal", "sheep"]
