"""Readers end: pipes and devices, tables that expand, long headers and pictures of absurd size."""

from __future__ import annotations

import gzip
import io
import os
import struct
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import unseen
from unseen import features, image_files, labelling, open_rows, parquet_budget
from unseen.datasets import load_table
from unseen.datasets.arrays import read_array, read_container
from unseen.datasets.image_folder import thumbnail_features
from unseen.datasets.matfile import read_mat5
from unseen.datasets.splits import read_class_list, read_lines, read_split
from unseen.datasets.table_files import read_table
from unseen.exceptions import DataError
from unseen.experiments.specification import read as read_specification
from unseen.features.word_files import read_words
from unseen.labelling import table_cells, text_files

READERS = {
    ".npy": read_array,
    ".csv": lambda path: read_table(path, {"class"}),
    ".tsv": read_array,
    ".h5": read_array,
    ".mat": read_mat5,
    ".npz": read_array,
    ".parquet": lambda path: read_table(path, {"class"}),
    ".rows.npy": open_rows,
    ".rows.parquet": open_rows,
    ".txt": read_lines,
    ".split.csv": lambda path: read_split(path, 3),
    ".vec": lambda path: read_words(path, {"fox"}),
    ".bin": lambda path: read_words(path, {"fox"}),
    ".vec.gz": lambda path: read_words(path, {"fox"}),
    ".png": lambda path: thumbnail_features([path]),
    ".toml": read_specification,
    ".xlsx": labelling.read_classes,
    ".classes.csv": labelling.read_classes,
    ".jsonl": labelling.read_texts,
    ".texts.csv.gz": labelling.read_texts,
    ".pt": lambda path: features.backbone("vgg19-fc7", path),
    ".onnx": lambda path: features.backbone(f"onnx:{path}"),
    ".safetensors": unseen.load,
}
LINEAR_CPU_SECONDS = 20
"""What takes this long is not linear: the quadratic checks took one to two minutes."""


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("suffix", READERS)
def test_only_regular_files_are_read(suffix, kind, tmp_path):
    """Before, opening the pipe waited for a writer for ever, and the device never ended."""
    if suffix == ".pt":
        pytest.importorskip("torch", reason="weights of torch are read by torch")
    path = tmp_path / f"data{suffix}"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="no regular file"):
        READERS[suffix](path)


def test_a_pipe_among_photographs_is_skipped(tmp_path):
    from pictures import Colours, picture

    good, pipe = tmp_path / "a.png", tmp_path / "b.png"
    good.write_bytes(picture((200, 30, 30)))
    os.mkfifo(pipe)
    extraction = features.extract([good, pipe], Colours())
    assert extraction.paths == [good]
    assert "no regular file" in extraction.broken[0].reason


def test_a_pipe_among_the_chunks_of_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "X.zarr", data=np.ones((20, 3)), chunks=(10, 3))
    chunk = tmp_path / "X.zarr" / "c" / "1" / "0"
    chunk.unlink()
    os.mkfifo(chunk)
    rows = open_rows(tmp_path / "X.zarr", cluster=False)
    with pytest.raises(DataError, match="no regular file"):
        np.concatenate([rows.read(i) for i in range(len(rows.sizes))])


@pytest.fixture
def pyarrow():
    pytest.importorskip("pyarrow.parquet")
    import pyarrow

    return pyarrow


def _write_parquet(pyarrow, path, columns):
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(table, path, compression="zstd", row_group_size=2**22)
    return path


@pytest.mark.parametrize("read", [lambda p: read_table(p, {"class"}), open_rows], ids=["table", "rows"])
def test_numbers_that_a_few_bytes_expand_to(read, pyarrow, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_budget, "FREE_DECODED_BYTES", 2**20)
    path = _write_parquet(pyarrow, tmp_path / "x.parquet", {"a": np.zeros(2_000_000)})
    assert path.stat().st_size < 15_000
    with pytest.raises(DataError, match=r"would expand from .* to 16,000,000 bytes"):
        read(path)


@pytest.mark.parametrize("kind", ["table", "labels"])
def test_texts_that_a_few_bytes_expand_to(kind, pyarrow, tmp_path, monkeypatch):
    """A name of a million letters is stored once, and there are a thousand rows of it."""
    monkeypatch.setattr(parquet_budget, "FREE_DECODED_BYTES", 2**26)
    name = "x" * 1_000_000
    path = _write_parquet(pyarrow, tmp_path / "x.parquet", {"class": [name] * 1000, "a": [0.0] * 1000})
    assert path.stat().st_size < 60_000
    with pytest.raises(DataError, match="a column of texts would expand"):
        read_table(path, {"class"}) if kind == "table" else open_rows(path, "class")


def test_texts_to_label_that_a_few_bytes_expand_to(pyarrow, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_budget, "FREE_DECODED_BYTES", 2**26)
    path = _write_parquet(pyarrow, tmp_path / "x.parquet", {"text": ["x" * 1_000_000] * 1000})
    with pytest.raises(DataError, match="a column of texts would expand"):
        labelling.read_texts(path, "text")
    compressed = tmp_path / "x.csv.gz"
    compressed.write_bytes(gzip.compress(b"text\n" + b"x" * 2**25))
    with pytest.raises(DataError, match="a line of more than"):
        labelling.read_texts(compressed, "text")


def test_rows_of_texts_count_beside_their_letters(tmp_path, monkeypatch):
    """A few compressed bytes may hold a billion short rows, each of which takes a hundred bytes."""
    monkeypatch.setattr(text_files, "MOST_BYTES", 2**20)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"x\n" * 20_000))
    assert path.stat().st_size < 200
    with pytest.raises(DataError, match="the file would expand to"):
        labelling.read_texts(path, "text")


def test_empty_texts_are_listed_up_to_a_number(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "MOST_EMPTY_ROWS", 100)
    path = tmp_path / "x.csv"
    path.write_text("text,more\n" + ",y\n" * 101)
    with pytest.raises(DataError, match="has no text in more than 100 rows"):
        labelling.read_texts(path, "text")


def test_cells_of_a_table_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(table_cells, "MOST_CELLS", 100)
    path = tmp_path / "x.csv"
    path.write_text("class,a\n" + "".join(f"c{i},1\n" for i in range(51)))
    with pytest.raises(DataError, match="has more than 100 cells"):
        labelling.read_classes(path)


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".mat"])
def test_the_arrays_of_one_file_have_one_budget(suffix, tmp_path):
    """Many arrays that are each within the limit would fill the memory."""
    path, arrays = tmp_path / f"x{suffix}", {name: np.zeros((100, 100)) for name in "abc"}
    if suffix == ".npz":
        np.savez_compressed(path, **arrays)
    elif suffix == ".h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            for name, values in arrays.items():
                file.create_dataset(name, data=values, compression="gzip")
    else:
        pytest.importorskip("scipy.io").savemat(path, arrays, do_compression=True)
    assert set(read_container(path, max_bytes=250_000)) == set(arrays)
    with pytest.raises(DataError, match="would expand to 80,"):
        read_container(path, max_bytes=200_000)


def test_honest_parquet_is_read(pyarrow, tmp_path):
    rng = np.random.default_rng(0)
    given = {"class": ["fox", "bat"] * 500, "image": [f"{i}.jpg" for i in range(1000)]}
    numbers = {name: rng.normal(size=1000) for name in "ab"}
    path = _write_parquet(pyarrow, tmp_path / "x.parquet", given | numbers)
    table = read_table(path, {"class", "image"})
    assert table.text == given
    np.testing.assert_array_equal(table.numbers, np.stack([*numbers.values()], axis=1))
    labels = open_rows(path, "class", cluster=False)
    assert np.concatenate([labels.read(i) for i in range(len(labels.sizes))]).tolist() == given["class"]


def test_a_header_of_many_columns_is_checked_in_linear_time(tmp_path):
    path = tmp_path / "wide.csv"
    columns = [f"a{i}" for i in range(100_000)]
    path.write_text(",".join(["class", *columns]) + "\nfox" + ",1" * len(columns) + "\n")
    start = time.process_time()
    assert read_table(path, {"class"}).numbers.shape == (1, len(columns))
    path.write_text(",".join([*columns, "a7"]) + "\n")
    with pytest.raises(DataError, match="column 100001: the name 'a7' is empty or there twice"):
        read_table(path, ())
    assert time.process_time() - start < LINEAR_CPU_SECONDS


def test_many_class_names_are_checked_in_linear_time(tmp_path):
    names = [f"class {i}" for i in range(100_000)]
    path = tmp_path / "names.txt"
    path.write_text("\n".join(names))
    start = time.process_time()
    assert labelling.read_classes(path).names == names
    assert read_class_list(path, names) == names
    pictures = labelling.Pictures([], [], [], tmp_path)
    assert labelling.folders.choose_candidates(str(path), names, pictures, "x") == names
    path.write_text("\n".join([*names, names[5]]))
    with pytest.raises(DataError, match="'class 5' twice"):
        labelling.read_classes(path)
    assert time.process_time() - start < LINEAR_CPU_SECONDS


def test_memory_of_a_wide_table_is_bounded_by_cells(tmp_path):
    path = tmp_path / "x.csv"
    rows = np.arange(6.0 * 50).reshape(6, 50)
    lines = [f"fox,{','.join(map(str, row))}" for row in rows]
    path.write_text("\n".join(["class," + ",".join(f"a{i}" for i in range(50)), *lines]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unseen.datasets.table_files.BLOCK_CELLS", 102)
        np.testing.assert_array_equal(read_table(path, {"class"}).numbers, rows)


def _png_header(width, height):
    def chunk(name, data):
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(
        b"IEND", b""
    )  # fmt: skip


@pytest.mark.parametrize("sides", [(10_000, 10_000), (100_000, 100_000), (89_478_486, 1)])
def test_pictures_are_refused_by_area_before_they_are_decoded(sides, monkeypatch):
    image_file = pytest.importorskip("PIL.ImageFile")
    monkeypatch.setattr(image_file.ImageFile, "load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(Exception, match="pixels"):
        image_files.open_image(_png_header(*sides))


@pytest.mark.parametrize("kind", ["AVIF", "HEIF"])
def test_containers_that_claim_an_absurd_area_are_refused_before_they_are_decoded(kind, monkeypatch):
    image, image_file = pytest.importorskip("PIL.Image"), pytest.importorskip("PIL.ImageFile")
    if kind == "HEIF":
        pytest.importorskip("pillow_heif", reason="pillow-heif is not installed").register_heif_opener()
    buffer = io.BytesIO()
    image.new("RGB", (64, 64)).save(buffer, kind)
    data = bytearray(buffer.getvalue())
    place = data.index(b"ispe") + 8
    data[place : place + 8] = struct.pack(">II", 30_000, 30_000)
    monkeypatch.setattr(image_file.ImageFile, "load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(Exception, match=r"pixels|cannot identify"):
        image_files.open_image(bytes(data))


def test_only_known_formats_are_decoded(tmp_path):
    """Pillow hands EPS to an interpreter of programs."""
    image = pytest.importorskip("PIL.Image")
    buffer = io.BytesIO()
    image.new("RGB", (4, 4)).save(buffer, "EPS")
    with pytest.raises(image.UnidentifiedImageError):
        image_files.open_image(buffer.getvalue())


def test_a_missing_file_is_still_named_as_missing():
    with pytest.raises(DataError, match="no such file"):
        load_table(Path("nowhere.csv"), {"a": [1.0], "b": [2.0]})
