"""Which Zarr arrays are opened: plain numbers or texts, stored by codecs that only move bytes.

A codec is a program that the file names, and some of them, such as ``pickle``, run what they read. So
the metadata is read here, and held to a list, before the Zarr library sees the array.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, check_regular, check_size, reading
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from zarr import Array as ZarrArray

COMPRESSORS = frozenset({"blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"})
CHECKSUMS = frozenset({"adler32", "crc32", "crc32c", "fletcher32"})
NUMBER_FILTERS = frozenset({"bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"})
FORMAT_2_CODECS = COMPRESSORS | CHECKSUMS | NUMBER_FILTERS
FORMAT_3_CODECS = (
    frozenset({"blosc", "bytes", "crc32c", "endian", "gzip", "sharding_indexed", "transpose", "zstd"})
    | {f"numcodecs.{name}" for name in FORMAT_2_CODECS}
)  # fmt: skip
NUMBERS = frozenset(
    {"bool"}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    | {f"float{bits}" for bits in (16, 32, 64)}
)
TEXT = "fixed_length_utf32"

LONGEST_METADATA = 2**20
"""Bytes of the JSON file that describes an array."""
MOST_CHUNKS = 2_000_000
"""Chunks of an array, or of the rows that are read at a time."""


def checked_format(path: Path, chunk_bytes: int) -> int:
    """Return the Zarr format of an array, or refuse what is not plain numbers or texts.

    Parameters
    ----------
    path : path
        The folder of the array.
    chunk_bytes : int
        How many bytes will be read at a time, if the file's own chunks are no larger.
    """
    version, metadata = _metadata(path)
    with reading(path):
        if version == 3:
            _check_format_3(path, metadata)
            chunks = metadata["chunk_grid"]["configuration"]["chunk_shape"]
            itemsize = _itemsize_3(metadata["data_type"])
        else:
            _check_format_2(path, metadata)
            chunks = metadata["chunks"]
            itemsize = _itemsize_2(metadata["dtype"])
        _check_extent(path, metadata["shape"], chunks, itemsize, chunk_bytes)
    return version


def check_chunk_files(path: Path, values: ZarrArray, start: int, count: int) -> None:
    """Refuse pipes and devices in place of the chunks of some rows of an open array."""
    grid = getattr(values, "shards", None) or values.chunks
    last = min(start + count, values.shape[0])
    ranges = [range(start // grid[0], -(-last // grid[0]))]
    ranges += [range(-(-n // g)) for n, g in zip(values.shape[1:], grid[1:], strict=True)]
    for place in itertools.product(*ranges):
        file = path / values.metadata.encode_chunk_key(place)
        if file.exists():  # a chunk of nothing but the fill value has no file
            check_regular(file)


def _metadata(path: Path) -> tuple[int, JsonObject]:
    for version, name in ((3, "zarr.json"), (2, ".zarray")):
        file = path / name
        if file.exists():
            with reading(file), file.open("rb") as opened:
                text = opened.read(LONGEST_METADATA + 1)
                check_size(file, "the description of the array", len(text), LONGEST_METADATA)
                metadata = json.loads(text)
                if not isinstance(metadata, dict) or metadata.get("zarr_format") != version:
                    raise DataError(f"{file}: does not describe an array of Zarr's format {version}.")
            return version, metadata
    raise DataError(f"{path}: is no Zarr array: it has neither zarr.json nor .zarray.")


def _check_format_2(path: Path, metadata: JsonObject) -> None:
    _check_dtype_2(path, metadata["dtype"])
    codecs = [*(metadata.get("filters") or []), metadata.get("compressor")]
    for codec in codecs:
        if codec is not None:
            _check_codec(path, codec["id"], FORMAT_2_CODECS)
            _check_codec_types(path, codec)


def _check_format_3(path: Path, metadata: JsonObject) -> None:
    data_type = metadata["data_type"]
    if not (data_type in NUMBERS if isinstance(data_type, str) else data_type["name"] == TEXT):
        _refuse_type(path, data_type)
    if metadata.get("storage_transformers"):
        raise DataError(f"{path}: asks for a storage transformer. Store the array without one.")
    if metadata["chunk_grid"]["name"] != "regular":
        raise DataError(f"{path}: has chunks of several sizes. Store it in chunks of one size.")
    if metadata["chunk_key_encoding"]["name"] not in ("default", "v2"):
        raise DataError(f"{path}: names its chunks in an unknown way. Store the array again.")
    _check_codecs_3(path, metadata["codecs"])


def _check_codecs_3(path: Path, codecs: Iterable[Any]) -> None:
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec["name"]
        _check_codec(path, name, FORMAT_3_CODECS)
        options = {} if isinstance(codec, str) else codec.get("configuration") or {}
        _check_codec_types(path, options)
        if name == "sharding_indexed":
            _check_codecs_3(path, options["codecs"])
            _check_codecs_3(path, options.get("index_codecs", ()))


def _check_codec(path: Path, name: object, allowed: frozenset[str]) -> None:
    if name not in allowed:
        raise DataError(
            f"{path}: is stored with the codec {str(name)[:40]!r}, which is not on the list of codecs "
            "that only move bytes. Nothing was decoded. Store the array with blosc, zstd, gzip or no "
            "compression."
        )


def _check_codec_types(path: Path, options: JsonObject) -> None:
    """Some filters name a type of numbers of their own."""
    for key in ("dtype", "astype"):
        if options.get(key) is not None:
            _check_dtype_2(path, options[key])


def _check_dtype_2(path: Path, dtype: npt.DTypeLike) -> None:
    if not isinstance(dtype, str) or not re.fullmatch(r"[<>|=]?[biufU]\d{1,4}", dtype):
        _refuse_type(path, dtype)


def _refuse_type(path: Path, dtype: npt.DTypeLike) -> None:
    raise DataError(
        f"{path}: holds values of the type {str(dtype)[:40]!r}; only plain numbers and texts of a "
        "fixed length are read, since Python objects could run code. Store it as one of these."
    )


def _itemsize_2(dtype: str) -> int:
    letters = dtype.lstrip("<>|=")
    return int(letters[1:]) * (4 if letters[0] == "U" else 1)


def _itemsize_3(data_type: str | JsonObject) -> int:
    if isinstance(data_type, str):
        return 1 if data_type == "bool" else int(re.sub(r"\D", "", data_type)) // 8
    return int(data_type["configuration"]["length_bytes"])


def _check_extent(path: Path, shape: Any, chunks: Any, itemsize: int, chunk_bytes: int) -> None:
    """Refuse shapes that no disk holds, and chunks that do not fit in memory."""
    sizes = [*shape, *chunks]
    if not all(type(n) is int and n >= 0 for n in sizes) or 0 in chunks or len(shape) != len(chunks):
        raise DataError(f"{path}: claims the shape {shape} in chunks of {chunks}.")
    check_size(path, "one chunk", math.prod(chunks) * itemsize, DEFAULT_MAX_BYTES)
    check_size(path, "one row", math.prod(shape[1:]) * itemsize, DEFAULT_MAX_BYTES)
    count = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    in_memory = math.prod(shape) * itemsize // chunk_bytes
    if max(count, in_memory) > MOST_CHUNKS:
        raise DataError(
            f"{path}: claims the shape {tuple(shape)} in chunks of {tuple(chunks)}: {count:,} chunks, "
            f"more than the limit of {MOST_CHUNKS:,}. It is damaged, or needs larger chunks."
        )
