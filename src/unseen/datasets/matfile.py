"""A bounded reader of MATLAB v5 files: numbers, text and cells of text, and nothing else.

Why not ``scipy.io.loadmat``: it expands a compressed variable before looking at its size, builds
objects of any class, and holds the features twice. This reader checks every declared size
against the file before it allocates, expands straight into the array it returns, and reads only
the variables asked for. Layout: "MAT-File Format", MathWorks, chapter 1.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unseen.datasets.held_memory import held_bytes
from unseen.datasets.mattext import MATRIX, read_flags, read_tag, text_or_cell
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, DEFLATE_RATIO, check_size, reading
from unseen.typing import Array, Variables

_COMPRESSED = 15
# storage type of an element -> dtype
_STORED = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
# class of an array -> dtype
_CLASS = {
    6: "f8",
    7: "f4",
    8: "i1",
    9: "u1",
    10: "i2",
    11: "u2",
    12: "i4",
    13: "u4",
    14: "i8",
    15: "u8",
}
_CHUNK = 1 << 18


@dataclass(frozen=True)
class _Header:
    """What stands before the data of an array."""

    kind: int
    complex: bool
    shape: tuple[int, ...]
    name: str
    consumed: int


class _Plain:
    """An element that lies in the file as it is."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size

    def readinto(self, buffer: memoryview) -> None:
        if len(buffer) > self._left or self._file.readinto(buffer) != len(buffer):  # type: ignore[attr-defined]
            raise DataError(f"the data ends {len(buffer) - self._left} bytes too early")
        self._left -= len(buffer)

    def close(self) -> None:
        """Nothing to check: a plain element carries no checksum."""


class _Inflated:
    """A compressed element, expanded as it is asked for and never further."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._left = file, size
        self._zlib = zlib.decompressobj()

    def _more(self, wanted: int) -> bytes:
        data = self._zlib.unconsumed_tail
        if not data:
            data = self._file.read(min(_CHUNK, self._left))
            self._left -= len(data)
        return self._zlib.decompress(data, wanted)

    def readinto(self, buffer: memoryview) -> None:
        filled = 0
        while filled < len(buffer):
            piece = self._more(len(buffer) - filled)
            buffer[filled : filled + len(piece)] = piece
            filled += len(piece)
            exhausted = self._zlib.eof or not (self._left or self._zlib.unconsumed_tail)
            if filled < len(buffer) and not piece and exhausted:
                raise DataError(f"the data ends {len(buffer) - filled} bytes too early")

    def close(self) -> None:
        """Run to the end of the stream, so that its checksum is checked."""
        while not self._zlib.eof:
            if self._more(1):
                raise DataError("the compressed element goes on after its array")
            if not (self._zlib.eof or self._left or self._zlib.unconsumed_tail):
                raise DataError("the compressed element is cut short")


def read_mat5(
    path: str | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Variables:
    """Read variables of a MATLAB v5 file (``-v6``, ``-v7``).

    Parameters
    ----------
    path : path
    names : collection of str, optional
        The variables to read; the others are passed over unread. All by default.
    max_bytes : int
        What the variables may expand to, all together.

    Returns
    -------
    dict
        A numeric variable as an array of MATLAB's shape, in column order and in the type of its
        class; text as ``str``; a cell or a matrix of text as a list of ``str``.
    """
    values: Variables = {}
    with reading(path), Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        order = _byte_order(path, file.read(128))
        while file.tell() < size:
            start = file.tell()
            place = f"{path}: variable at byte {start}"
            tag = file.read(8)
            if len(tag) < 8:
                raise DataError(f"{place}: the file ends inside a tag. It is truncated.")
            kind, length = struct.unpack(order + "II", tag)
            if length > size - start - 8:
                raise DataError(
                    f"{place}: claims {length:,} bytes, but the file ends after "
                    f"{size - start - 8:,}. It is truncated: fetch it again."
                )
            try:
                name, value = _variable(file, kind, length, order, names, max_bytes)
            except (DataError, zlib.error, struct.error, UnicodeError) as error:
                raise DataError(f"{place}: {error}.") from None
            if name in values:
                raise DataError(f"{place}: the variable {name!r} is there twice.")
            if value is not None:
                values[name] = value
                max_bytes -= held_bytes(value)
            file.seek(start + 8 + length)
    return values


def _byte_order(path: str | os.PathLike[str], header: bytes) -> str:
    if len(header) < 128:
        raise DataError(f"{path}: is too short for a MATLAB file. It is truncated.")
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if order is None:
        raise DataError(
            f"{path}: is not a MATLAB v5 file (bytes 126-127 hold no byte order). If it is from "
            "MATLAB 4, save it again with '-v7'."
        )
    version = struct.unpack(order + "H", header[124:126])[0]
    if version != 0x0100:
        raise DataError(f"{path}: is a MATLAB file of version {version:#06x}; 0x0100 is known.")
    return order


def _variable(
    file: BinaryIO, kind: int, length: int, order: str, names: Collection[str] | None, limit: int
) -> tuple[str, Any]:
    """Return the name and the value of one variable; None where it was not asked for."""
    source: _Plain | _Inflated
    if kind == _COMPRESSED:
        source = _Inflated(file, length)
        tag = _take(source, 8)
        kind, inner = struct.unpack(order + "II", tag)
        if inner > length * DEFLATE_RATIO:
            raise DataError(f"{length:,} compressed bytes cannot hold the {inner:,} it claims")
    else:
        source, inner = _Plain(file, length), length
    if kind != MATRIX:
        raise DataError(f"holds an element of type {kind}, not an array")
    header = _header(source, order, inner)
    if names is not None and header.name not in names:
        return header.name, None
    check_size(header.name, "the variable", inner, limit)
    if header.kind in _CLASS:
        value: object = _numbers(source, header, order, inner - header.consumed)
    else:
        rest = _take(source, inner - header.consumed)
        value = text_or_cell(rest, header.kind, header.shape, header.name, order)
    source.close()
    return header.name, value


def _take(source: _Plain | _Inflated, size: int) -> bytes:
    buffer = bytearray(size)
    source.readinto(memoryview(buffer))
    return bytes(buffer)


def _header(source: _Plain | _Inflated, order: str, size: int) -> _Header:
    """Read the flags, the shape and the name of an array of ``size`` bytes."""
    if size < 40:
        raise DataError("the array is too short for its header")
    start = _take(source, 24)
    kind, is_complex = read_flags(start[:16], order)
    rank_bytes = struct.unpack(order + "II", start[16:24])
    if rank_bytes[0] != 5 or not 8 <= rank_bytes[1] <= 128 or rank_bytes[1] % 4:
        raise DataError("the shape of the array is damaged")
    padded = -(-rank_bytes[1] // 8) * 8
    if 24 + padded + 8 > size:
        raise DataError("the array is too short for its shape")
    shape = struct.unpack(f"{order}{rank_bytes[1] // 4}i", _take(source, padded)[: rank_bytes[1]])
    tag = _take(source, 8)
    kind_of_name, length, small = read_tag(tag, order)
    consumed = 24 + padded + 8
    if kind_of_name != 1 or (small and length > 4) or consumed + length > size or length > 4096:
        raise DataError("the name of the array is damaged")
    if small:
        name = tag[4 : 4 + length]
    else:
        padded = -(-length // 8) * 8
        name = _take(source, padded)[:length]
        consumed += padded
    if min(shape) < 0:
        raise DataError(f"the shape {shape} is negative")
    return _Header(kind, is_complex, shape, name.decode("latin-1"), consumed)


def _numbers(source: _Plain | _Inflated, header: _Header, order: str, left: int) -> Array:
    """Read a numeric array straight into the memory that is returned."""
    if header.complex:
        raise DataError(f"{header.name!r} is complex, but real numbers are needed")
    if left < 8:
        raise DataError(f"{header.name!r} has no data")
    tag = _take(source, 8)
    kind, length, small = read_tag(tag, order)
    stored = _STORED.get(kind)
    if stored is None:
        raise DataError(f"{header.name!r} is stored as type {kind}, which is not a number")
    dtype = np.dtype(order + stored)
    count = math.prod(header.shape)
    if count * dtype.itemsize != length or (length > 4 if small else length > left - 8):
        raise DataError(
            f"{header.name!r} has shape {header.shape} but {length:,} bytes of {dtype.name}"
        )
    data = np.empty(count, dtype)
    if small:
        data = np.frombuffer(tag[4 : 4 + length], dtype).copy()
    else:
        source.readinto(data.view(np.uint8).data)
        if isinstance(source, _Inflated):
            _take(source, min(-length % 8, left - 8 - length))
    wanted = np.dtype(_CLASS[header.kind])  # MATLAB stores whole doubles in fewer bytes
    return data.astype(wanted, copy=False).reshape(header.shape, order="F")
