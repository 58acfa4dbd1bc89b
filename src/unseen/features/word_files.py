"""Word vectors from files: GloVe, word2vec (text and binary) and fastText's ``.vec``.

Files of gigabytes are read once, from front to back; only the words asked for are kept.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.files import reading

Vector = npt.NDArray[np.float32]

WIDEST = 10_000
"""Numbers in a vector; a header that claims more is damaged."""
LONGEST_WORD = 4096
LONGEST_LINE = 64 * WIDEST
FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")


def read_words(path: str | Path, wanted: Collection[str]) -> dict[str, Vector]:
    """Return the vectors of those wanted words that the file has.

    Parameters
    ----------
    path : path
        ``.bin`` is word2vec's binary format. Anything else is text: "word number number …" a line,
        with or without a first line "words numbers". Either may end in ``.gz``.
    wanted : collection of str

    Raises
    ------
    DataError
        If the file is damaged; it names the line, or the word.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tiny.txt"
    >>> _ = file.write_text("fox 1 0\\nbat 0 1\\n")
    >>> read_words(file, {"bat"})
    {'bat': array([0., 1.], dtype=float32)}
    """
    path = Path(path)
    binary = path.name.removesuffix(".gz").endswith(".bin")
    vectors: dict[str, Vector] = {}
    missing = set(wanted)
    with reading(path), _opened(path) as file:
        for word, vector in _binary(path, file) if binary else _text(path, file, missing):
            if word in missing:
                vectors[word] = vector
                missing.discard(word)
                if not missing:
                    break
    return vectors


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _text(path: Path, file: IO[bytes], wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    width = promised = 0
    for number in itertools.count(1):
        raw = file.readline(LONGEST_LINE)
        if not raw:
            if number - 2 < promised:
                raise DataError(
                    f"{path}: ends after {number - 2} of {promised} words. The file is truncated: "
                    "fetch it again."
                )
            return
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            raise DataError(f"{path}: line {number} is longer than any word vector. Is it text?")
        parts = raw.rstrip().split(b" ")
        if number == 1 and len(parts) == 2 and all(p.isdigit() for p in parts):
            promised, width = int(parts[0]), _checked_width(path, int(parts[1]))
            continue
        if not width:
            width = _checked_width(path, len(parts) - 1)
        word = b" ".join(parts[:-width]).decode("utf-8", "replace")  # GloVe's words may hold spaces
        if len(parts) <= width:
            raise DataError(
                f"{path}: line {number}: has {len(parts) - 1} numbers, and {width} were expected. The "
                "file is truncated or damaged: fetch it again."
            )
        if word in wanted:
            if not raw.endswith(b"\n"):
                raise DataError(
                    f"{path}: line {number}: has no end, so its last number may be cut. The file is "
                    "truncated: fetch it again, or end it with a new line."
                )
            yield word, _numbers(path, number, parts[-width:])


def _numbers(path: Path, line: int, parts: list[bytes]) -> Vector:
    try:
        vector = np.array([float(p) for p in parts], dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}: line {line}: {error}. The file is damaged.") from None
    return _finite(path, f"line {line}", vector)


def _binary(path: Path, file: IO[bytes]) -> Iterator[tuple[str, Vector]]:
    header = file.readline(64)
    if header.startswith(FASTTEXT_MAGIC):
        raise DataError(
            f"{path}: is fastText's own model format, which holds more than vectors. Take the .vec "
            "file of the same name."
        )
    parts = header.split()
    if not header.endswith(b"\n") or len(parts) != 2 or not all(p.isdigit() for p in parts):
        raise DataError(f"{path}: does not begin with 'words numbers', as word2vec's binary files do.")
    words, width = int(parts[0]), _checked_width(path, int(parts[1]))
    for place in range(words):
        word = _word(path, file, place).decode("utf-8", "replace")
        raw = file.read(4 * width)
        if len(raw) != 4 * width:
            raise DataError(
                f"{path}: ends in the vector of {word!r}, word {place + 1} of {words}. The file is "
                "truncated: fetch it again."
            )
        yield word, _finite(path, f"word {word!r}", np.frombuffer(raw, "<f4").astype(np.float32))


def _word(path: Path, file: IO[bytes], place: int) -> bytes:
    letters = bytearray()
    while (letter := file.read(1)) != b" ":
        if not letter or len(letters) > LONGEST_WORD:
            raise DataError(f"{path}: has no end of word {place + 1}. It is truncated or damaged.")
        if letter != b"\n":  # some writers end a vector with a line
            letters += letter
    return bytes(letters)


def _checked_width(path: Path, width: int) -> int:
    if not 1 <= width <= WIDEST:
        raise DataError(
            f"{path}: line 1 promises {width} numbers a word; between 1 and {WIDEST} is possible."
        )
    return width


def _finite(path: Path, place: str, vector: Vector) -> Vector:
    if not np.isfinite(vector).all():
        raise DataError(f"{path}: {place}: holds NaN or infinity. The file is damaged.")
    return vector
