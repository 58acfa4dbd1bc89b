"""Model files: ``model.save(path)`` and ``load(path)``.

A file is in the safetensors format: eight bytes with the length of a JSON header, the header, and the
numbers of the arrays one after another. The header's metadata has one entry, ``unseen``, with JSON in
it: a checksum, the versions, the sizes, and the model as :mod:`unseen.persistence.state` writes it.

The checksum is the SHA-256 of the whole file with 64 zeros in its own place, which is fixed: any
altered byte is detected. It guards against damage, not against a forger, who can compute it
too; but all that a forger can do is to give other numbers, since a file can name no code.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import safetensors.numpy
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from unseen.base import ZeroShotClassifier
from unseen.exceptions import DataError, ModelFileError
from unseen.persistence.state import Decoder, Encoder
from unseen.persistence.usable_model import check_usable
from unseen.typing import Array, Classifier, JsonObject
from unseen.version import __version__, install_command

FORMAT = 1
"""The version of the format. It rises when a file could be misread by an older library."""

START = b'{"__metadata__":{"unseen":"{\\"sha256\\":\\"'
"""How every header begins; the checksum follows, so its place is fixed."""

PLACE = slice(8 + len(START), 8 + len(START) + 64)

LONGEST_HEADER = 8 * 2**20
"""Bytes. Parsed JSON takes up to twenty times its length in memory."""


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file: the same as ``model.save(path)``.

    Parameters
    ----------
    model : estimator of this library, or Pipeline
        A pipeline may hold estimators of this library and scikit-learn's StandardScaler, Normalizer
        and PCA.
    path : str or path

    Notes
    -----
    A model may hold numbers, texts, arrays of them, lists, tuples, dictionaries, and the estimators,
    dataclasses and NamedTuples of this library; anything else is refused with its name. Semantics are
    written as a :class:`~unseen.ClassTable`. A RandomState is left out: the fitted model draws no more,
    and a new ``fit`` would start from None.

    Examples
    --------
    >>> import tempfile
    >>> from unseen import ESZSL, load
    >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1]}
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> model = ESZSL(semantics).fit(X, ["cat", "cat", "dog", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.safetensors")
    ...     again = load(f"{folder}/model.safetensors")
    >>> again.set_params(candidates="all").predict([[0.8, 0.9]])
    array(['fox'], dtype='<U3')
    """
    from unseen.files import file_lock  # here: `import unseen` stays quick

    if not isinstance(model, ZeroShotClassifier | Pipeline):
        raise ModelFileError(
            f"A model file holds an estimator of unseen or a Pipeline. Got {type(model).__name__}."
        )
    check_is_fitted(model)
    data = to_bytes(model)
    if Path(path).is_dir():
        raise ModelFileError(f"{path}: is a folder. Name a file in it.")
    with file_lock(path):
        _write(data, path)


@contextmanager
def changing(path: str | os.PathLike[str]) -> Iterator[Classifier]:
    """Give the model of a file, to be changed in the block; then write it to the same file.

    From reading to writing no other process can write the file, so that what two processes add to one
    model is all kept. Nothing is written if the block raises.

    Examples
    --------
    >>> import tempfile
    >>> from unseen import ESZSL, load
    >>> model = ESZSL({"cat": [1, 0], "dog": [0, 1]}).fit([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.safetensors")
    ...     with changing(f"{folder}/model.safetensors") as known:
    ...         _ = known.set_params(candidates="all")
    ...     load(f"{folder}/model.safetensors").candidates
    'all'
    """
    from unseen.files import file_lock

    with model_file(path):
        if not Path(path).exists():
            raise FileNotFoundError
    with file_lock(path):
        model = load(path)
        yield model
        _write(to_bytes(model), path)


def _write(data: bytes, path: str | os.PathLike[str]) -> None:
    """Replace a model file; the caller holds its lock."""
    from unseen.files import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_bytes(data)


def to_bytes(model: ZeroShotClassifier) -> bytes:
    """Return the content of a model's file."""
    encoder = Encoder()
    node = encoder.encode(model)
    record = {
        "sha256": "0" * 64,  # first, so that its place is fixed
        "format": FORMAT,
        "unseen": __version__,
        "scikit-learn": sklearn.__version__,
        "class": type(model).__name__,
        "tensors": len(encoder.tensors),
        "bytes": sum(array.nbytes for array in encoder.tensors.values()),
        "model": node,
    }
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    data = bytearray(safetensors.numpy.save(encoder.tensors, {"unseen": text}))
    if int.from_bytes(data[:8], "little") > LONGEST_HEADER:
        raise ModelFileError(
            f"The model's names and texts take more than {LONGEST_HEADER:,} bytes, which a model file "
            "cannot hold. Shorten the class names or the lists in its parameters."
        )
    data[PLACE] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def load(path: str | os.PathLike[str], max_bytes: int = 4 * 2**30) -> Any:
    """Read a model that ``model.save(path)`` wrote.

    Nothing in a file is run, and nothing is imported because a file says so. A file that is truncated,
    altered in any byte, of another format or of a newer version raises a
    :class:`~unseen.ModelFileError`.

    Parameters
    ----------
    path : str or path
    max_bytes : int
        A longer file is refused before it is read.

    Returns
    -------
    model : estimator
        Its scores are those of the model that was saved; ``semantics`` and ``candidates`` may change as
        ever, so a class is added with ``set_params(semantics=larger)`` and no training.
    """
    with model_file(path):
        data = _read(Path(path), max_bytes)
    try:
        record = _record(data, path)
        model = _model(record, safetensors.numpy.load(data))
    except ModelFileError:
        raise
    except Exception as error:  # whatever a parser raises on hostile bytes, a MemoryError too
        _refuse(path, str(error).split("\n")[0] or type(error).__name__, error)
    return model


@contextmanager
def model_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong in reading a file into a ModelFileError that names it."""
    from unseen.files import reading

    try:
        with reading(path):
            yield
    except ModelFileError:
        raise
    except DataError as error:
        raise ModelFileError(str(error)) from error.__cause__


def _read(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file that is as long as its header says, and no longer than the limit."""
    from unseen.files import check_size

    if path.exists() and not path.is_file() and not path.is_dir():
        _refuse(path, "it is no regular file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < PLACE.stop or file.read(len(START)) != START:
            _refuse(path, "it does not begin as a model file does")
        if not PLACE.stop - 8 <= length <= min(LONGEST_HEADER, size - 8):
            _refuse(path, f"its header claims {length:,} bytes")
        file.seek(8)
        header = json.loads(file.read(length))
        ends = [e["data_offsets"][1] for name, e in header.items() if name != "__metadata__"]
        if size != 8 + length + max(ends, default=0):
            _refuse(path, f"it has {size:,} bytes, which is not what its header says")
        check_size(path, "the model", size, max_bytes)
        file.seek(0)
        return file.read(size)


def _record(data: bytes, path: str | os.PathLike[str]) -> JsonObject:
    """Return the entry ``unseen`` of the header, its checksum verified."""
    length = int.from_bytes(data[:8], "little")
    record = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unseen"])
    version = record.get("format")
    if type(version) is int and version > FORMAT:
        raise ModelFileError(
            f"{path}: has format {version}; this version of unseen reads formats up to {FORMAT}. "
            f"It was written by unseen {str(record.get('unseen'))[:40]}: {install_command()} --upgrade"
        )
    digest = hashlib.sha256(data[: PLACE.start])
    digest.update(b"0" * 64)
    digest.update(memoryview(data)[PLACE.stop :])
    if digest.hexdigest().encode() != data[PLACE]:
        _refuse(path, "its checksum does not match: some of its bytes were changed")
    if version != FORMAT:
        _refuse(path, f"it has the unknown format {str(version)[:40]!r}")
    return dict(record)


def _model(record: dict[str, object], tensors: dict[str, Array]) -> ZeroShotClassifier | Pipeline:
    decoder = Decoder(tensors)
    model = decoder.decode(record["model"])
    if not isinstance(model, ZeroShotClassifier | Pipeline):
        raise ValueError(f"it holds no model but {type(model).__name__}")
    if decoder.unused():
        raise ValueError(f"nothing uses its tensor {min(decoder.unused())!r}")
    check_is_fitted(model)
    check_usable(model)
    return model


def _refuse(path: str | os.PathLike[str], why: str, cause: Exception | None = None) -> NoReturn:
    raise ModelFileError(
        f"{path}: is no model file that can be used ({why}). Save the model again, or copy the file "
        "again from where it was made."
    ) from cause


ZeroShotClassifier._write_file = staticmethod(save)
