"""Mutated files over all readers: each is read, or refused with a DataError, and nothing else.

    python tests/attack/mutated_files.py csv --count 1000 --seed 7

The corpus beside this file has a small sound file of each format (``seed.*``), and what once broke a
reader (``found.*``). Each format runs in a process of its own, since a damaged file may end one.
"""

from __future__ import annotations

import argparse
import gzip
import io
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
SECONDS_FOR_A_FILE = 120
"""Far more than any of them takes, however busy the machine is: a reader that does not end is found."""
NASTY = [
    b"\xff\xff\xff\xff",
    bytes(4),
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\x01",
    b"\x0e",
    b",",
]
NASTY += [
    b"\n",
    b'"',
    b"..",
    b"nan",
    b"-1",
    b"1e999",
    b"\xef\xbb\xbf",
    b"{",
    b"O8",
    b"]",
    b"\0",
    b"9" * 20,
]


@dataclass(frozen=True)
class Format:
    """A kind of file: the end of its name, a sound one, and what reads it."""

    suffix: str
    example: Callable[[Path], object]
    read: Callable[[Path], Any]


def _rows() -> Any:
    return np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)


def _first_chunk(rows: Any) -> Any:
    """Read some rows: an array may be far larger than its files, since absent chunks are zero."""
    chunk = rows.read(0) if hasattr(rows, "read") else rows.blocks[0].compute()
    return np.asarray(chunk)


def _text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content, encoding="utf-8")


def _parquet(path: Path, texts: bool = False) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {f"f{i}": column for i, column in enumerate(_rows().T)}
    pq.write_table(pa.table({"text": ["fox", "bat"], "label": ["a", ""]} if texts else columns), path)


def _mat(path: Path) -> None:
    import scipy.io

    scipy.io.savemat(path, {"features": _rows(), "names": np.array(["fox", "été"], dtype=object)})


def _hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=_rows(), chunks=(8, 4), compression="gzip")
        file["names"] = ["fox", "bat"]


def _picture(kind: str) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        from PIL import Image

        pixels = np.random.default_rng(0).integers(0, 255, (9, 12, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(path, kind)

    return write


def _model(path: Path) -> None:
    from unseen import ESZSL

    vectors = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    ESZSL(vectors).fit([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], ["cat", "cat", "dog"]).save(path)


def _results(path: Path) -> None:
    from unseen.experiments.execute import Outcome
    from unseen.experiments.plan import Cell
    from unseen.experiments.result_store import Store

    with Store(path) as store:
        store.write(Cell("letters", "ESZSL"), Outcome("done", metrics={"accuracy": 0.7}))


def _read_results(path: Path) -> None:
    from unseen.experiments.result_store import Store

    with Store(path) as store:
        store.rows()


def _features(path: Path) -> None:
    from unseen.features import FeatureStore

    with tempfile.TemporaryDirectory() as folder:
        with FeatureStore(folder) as store:
            store.put("colours", [(b"key", np.ones(4, np.float32))])
        shutil.copy(store.path, path)


def _read_features(path: Path) -> None:
    from unseen.features import FeatureStore

    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "features.sqlite")
        with FeatureStore(folder) as store:
            store.get("colours", b"key", 4)
            store.put("colours", [(b"other", np.ones(4, np.float32))])


def _word_vectors(path: Path) -> None:
    path.write_bytes(b"2 3\n" + b"".join(w + np.ones(3, "<f4").tobytes() for w in (b"fox ", b"bat ")))


def _zipped(content: str) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:
            file.write(content.encode())
        path.write_bytes(buffer.getvalue())

    return write


def _excel(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["class", "furry", "description"], ["fox", 1, "red"], ["bat", 0.5, "at night"]):
        book.active.append(row)
    book.save(path)


IDENTITY = "0123456789abcdef"


def _session(path: Path) -> None:
    from unseen.serving.studio.sessions import SessionStore, Source

    with tempfile.TemporaryDirectory() as folder:
        store = SessionStore(Path(folder))
        session = store.new(Source(), ["ESZSL"], "the example")
        session.identity = IDENTITY
        session.give("a.png", "fox")
        store.save(session)
        shutil.copy(store.place(IDENTITY) / "session.json", path)


def _read_session(path: Path) -> None:
    from unseen.serving.studio.sessions import SessionStore

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / IDENTITY
        place.mkdir()
        shutil.copy(path, place / "session.json")
        store = SessionStore(Path(folder))
        store.recent()
        session = store.load(IDENTITY)
        session.take_back()
        store.save(session)


def _read_body(path: Path) -> None:
    """Read a file as the body of a request; a refusal with 422 is one."""
    from fastapi import HTTPException

    from unseen.exceptions import DataError
    from unseen.serving.npy_body import npy_matrix

    try:
        npy_matrix(path.read_bytes(), 4, 100)
    except HTTPException as refusal:
        if refusal.status_code != 422:
            raise
        raise DataError(refusal.detail) from None


def formats() -> dict[str, Format]:
    """Return every format by its name."""
    import unseen
    from unseen import labelling, open_rows
    from unseen.datasets import read_array
    from unseen.datasets.arrays import read_container
    from unseen.datasets.image_folder import thumbnail_features
    from unseen.datasets.splits import read_class_list, read_lines, read_split
    from unseen.datasets.table_files import read_table
    from unseen.experiments.specification import read as read_specification
    from unseen.features.word_files import read_words

    def arrays(path: Path) -> Any:
        return np.asarray(read_array(path)).sum()

    def opened(path: Path) -> Any:
        return _first_chunk(open_rows(path)).sum()

    numbers = "0.5,1,2\n3,4,5\n1e-3,7,8\n"
    table = 'class,furry,flies,description\nfox,1,0,red\nbat,1,1,"at, night"\n'
    texts = 'text,label\nwhere is it,parcel\n"a, b",\n'
    lines = '{"text": "where is it", "label": "parcel"}\n{"text": "b", "label": null}\n'
    specification = (
        '[[experiment]]\nname = "a"\ndatasets = ["letters"]\nmethods = ["ESZSL"]\ntrials = 2\n'
    )
    found = {
        "npy": Format("npy", lambda path: np.save(path, _rows()), arrays),
        "npy rows": Format("npy", lambda path: np.save(path, _rows()), opened),
        "npz": Format("npz", lambda path: np.savez(path, features=_rows()), read_container),
        "mat": Format("mat", _mat, read_container),
        "h5": Format("h5", _hdf5, read_container),
        "parquet": Format("parquet", _parquet, arrays),
        "parquet rows": Format("parquet", _parquet, opened),
        "parquet table": Format("parquet", _parquet, lambda path: read_table(path, {"class"})),
        "csv": Format("csv", _text(numbers), arrays),
        "txt": Format("txt", _text(numbers.replace(",", " ")), arrays),
        "table": Format("csv", _text(table), labelling.read_classes),
        "excel": Format("xlsx", _excel, labelling.read_classes),
        "session": Format("json", _session, _read_session),
        "npy body": Format("npy", lambda path: np.save(path, _rows()), _read_body),
        "names": Format("txt", _text("fox\nbat\n"), read_lines),
        "class list": Format("txt", _text("fox\nbat\n"), lambda p: read_class_list(p, ["fox", "bat"])),
        "split": Format(
            "csv", _text("set,row\ntrain,0\ntest_unseen,1\n"), lambda path: read_split(path, 2)
        ),
        "vectors": Format("vec", _text("2 2\nfox 1 2\nbat 3 4\n"), lambda p: read_words(p, {"fox"})),
        "binary vectors": Format("bin", _word_vectors, lambda path: read_words(path, {"fox"})),
        "texts": Format("csv", _text(texts), lambda path: labelling.read_texts(path, "text", "label")),
        "text lines": Format("jsonl", _text(lines), labelling.read_texts),
        "zipped texts": Format("csv.gz", _zipped(texts * 5), labelling.read_texts),
        "text parquet": Format("parquet", lambda p: _parquet(p, texts=True), labelling.read_texts),
        "specification": Format("toml", _text(specification), read_specification),
        "model": Format("safetensors", _model, unseen.load),
        "results": Format("sqlite", _results, _read_results),
        "features": Format("sqlite", _features, _read_features),
    }
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"):
        suffix = {"JPEG": "jpg", "TIFF": "tif"}.get(kind, kind.lower())
        found[suffix] = Format(suffix, _picture(kind), lambda path: thumbnail_features([path]))
    return found


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Change a few places of a file."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        some = draw.choice(NASTY) if draw.random() < 0.6 else draw.randbytes(draw.randint(1, 12))
        kind = draw.randrange(6)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[:at] + some + data[at + len(some) :]
        elif kind == 2:
            data = data[:at] + some + data[at:]
        elif kind == 3:
            data = data[:at] + data[at : at + 60] * 2 + data[at + 60 :]
        elif kind == 4 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
        else:
            data = data[:at] + data[at + draw.randint(1, 30) :]
    return data


def corpus(name: str, made: Format) -> Iterator[Path]:
    """Return the saved files of a format, the sound one first."""
    stem = name.replace(" ", "-")
    yield CORPUS / f"seed.{stem}.{made.suffix}"
    yield from sorted(CORPUS.glob(f"found.{stem}.*.{made.suffix}"))


def read_or_refuse(made: Format, path: Path) -> None:
    """Read a file; any error other than a DataError, and a read without end, passes through."""
    from unseen.exceptions import DataError

    def late(*_: object) -> None:
        raise TimeoutError(f"{path}: reading does not end")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS_FOR_A_FILE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.read(path)
    except DataError:
        pass
    finally:
        signal.alarm(0)


def attack(name: str, count: int, seed: int, scratch: Path | None = None) -> None:
    """Read mutated files of a format; what breaks the reader is kept in the corpus.

    If it ends the whole process, it is left in the scratch folder under the name of a found file.
    """
    made = formats()[name]
    sources = [path.read_bytes() for path in corpus(name, made)]
    draw = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = scratch or Path(temporary)
        for number in range(count):
            path = folder / f"found.{name.replace(' ', '-')}.{seed}-{number}.{made.suffix}"
            path.write_bytes(mutate(draw.choice(sources), draw))
            data = path.read_bytes()
            try:
                read_or_refuse(made, path)
            except BaseException:
                traceback.print_exc()
                (CORPUS / path.name).write_bytes(data)
                raise SystemExit(f"{path.name}: not refused with a DataError") from None
            for left in folder.iterdir():
                left.unlink()


def folders() -> dict[str, tuple[Callable[[Path], object], Callable[[Path], Any]]]:
    """Return data of several files by name: what makes them, and what reads them."""
    from unseen import open_rows
    from unseen.datasets import convert, load_dataset, simulate
    from unseen.datasets.conversion import LAYOUTS

    def make_zarr(path: Path) -> None:
        import zarr

        stored = zarr.create_array(path, shape=(12, 4), chunks=(5, 4), dtype="float32")
        stored[:] = _rows()

    data = simulate("aPY", scale=0.002, n_features=4, random_state=0)
    made: dict[str, tuple[Callable[[Path], object], Callable[[Path], Any]]] = {
        f"folder {layout}": (
            lambda path, layout=layout: convert(data, path, layout),  # type: ignore[misc]
            lambda path: np.asarray(load_dataset(path).X).sum(),
        )
        for layout in LAYOUTS
        if layout != "npz"
    }
    made["folder zarr"] = (make_zarr, lambda path: _first_chunk(open_rows(path)).sum())
    return made


def attack_folder(name: str, count: int, seed: int) -> None:
    """Read folders of which one file is mutated; a folder that breaks the reader is kept."""
    make, read = folders()[name]
    draw = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / ("a.zarr" if name == "folder zarr" else "data")
        make(target)
        files = sorted(path for path in target.rglob("*") if path.is_file())
        sound = {path: path.read_bytes() for path in files}
        for number in range(count):
            path = draw.choice(files)
            path.unlink()  # an earlier memory map keeps the old file
            path.write_bytes(mutate(sound[path], draw))
            try:
                read_or_refuse(Format("", make, read), target)
            except BaseException:
                traceback.print_exc()
                kept = CORPUS / f"found.{name.replace(' ', '-')}.{seed}-{number}"
                shutil.copytree(target, kept, dirs_exist_ok=True)
                raise SystemExit(f"{kept.name}: {path.name} is not refused with a DataError") from None
            path.unlink()
            path.write_bytes(sound[path])


def main() -> None:
    """Attack one reader; print the largest memory of the process, in megabytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=[*formats(), *folders(), "write-seeds"])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="where a file is left that ends the process")
    options = parser.parse_args()
    if options.format == "write-seeds":
        CORPUS.mkdir(exist_ok=True)
        for name, made in formats().items():
            made.example(next(corpus(name, made)))
        return
    if options.format in folders():
        attack_folder(options.format, options.count, options.seed)
    else:
        attack(options.format, options.count, options.seed, options.scratch)
    sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}\n")


if __name__ == "__main__":
    main()
