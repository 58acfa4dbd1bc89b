"""Tags, flags, text and cells of text in a MATLAB v5 file."""

from __future__ import annotations

import math
import struct

import numpy as np

from unseen.exceptions import DataError

#: The type of an element that is an array.
MATRIX = 14
_CELL, _CHAR = 1, 4
_TEXT_LIMIT = 2**26
# storage type of an element -> encoding of its text
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_OTHER = {
    2: "a struct",
    3: "an object",
    5: "a sparse matrix",
    16: "a function",
    17: "an opaque object",
}


def read_tag(data: bytes, order: str) -> tuple[int, int, bool]:
    """Return the type, the length, and whether the data is inside the tag."""
    first, length = struct.unpack(order + "II", data)
    if first >> 16:
        return first & 0xFFFF, first >> 16, True
    return first, length, False


def read_flags(data: bytes, order: str) -> tuple[int, bool]:
    """Return the class of an array, and whether it is complex."""
    kind, length, flags, _ = struct.unpack(order + "IIII", data)
    if kind != 6 or length != 8:
        raise DataError("the flags of the array are damaged")
    return flags & 0xFF, bool(flags & 0x0800)


def text_or_cell(
    data: bytes, kind: int, shape: tuple[int, ...], name: str, order: str
) -> str | list[str]:
    """Return the value of an array that is a text or a cell of texts; refuse any other."""
    if kind == _CHAR:
        return _text(data, 0, len(data), shape, order)
    if kind == _CELL:
        return _cell(data, shape, name, order)
    what = _OTHER.get(kind, f"of class {kind}")
    raise DataError(f"{name!r} is {what}; numbers, text or a cell of text are read here")


def _text(data: bytes, at: int, end: int, shape: tuple[int, ...], order: str) -> str | list[str]:
    """Decode a row of characters to a string, a matrix of them to one string a row."""
    if end - at < 8:
        if math.prod(shape) == 0:
            return ""
        raise DataError("a text has no data")
    kind, length, small = read_tag(data[at : at + 8], order)
    start = at + (4 if small else 8)
    if kind not in _TEXT or (small and length > 4) or start + length > end:
        raise DataError("a text is damaged")
    if length > _TEXT_LIMIT:
        raise DataError(f"a text has {length:,} bytes, more than {_TEXT_LIMIT:,}")
    encoding = _TEXT[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if order == "<" else "-be"
    characters = data[start : start + length].decode(encoding)
    if "\x00" in characters:
        raise DataError("a text holds a NUL character")
    if len(shape) == 2 and min(shape) <= 1:
        return characters
    if len(shape) != 2 or len(characters) != math.prod(shape):
        raise DataError(f"a text of shape {shape} has {len(characters)} characters")
    rows = np.array(list(characters)).reshape(shape, order="F")
    return ["".join(row).rstrip() for row in rows.tolist()]


def _cell(data: bytes, shape: tuple[int, ...], name: str, order: str) -> list[str]:
    """Read a cell whose every element is a row of text."""
    count = math.prod(shape)
    if count * 48 > len(data):
        raise DataError(f"{name!r} has {count:,} cells in {len(data):,} bytes")
    values: list[str] = []
    at = 0
    for index in range(count):
        try:
            value, at = _cell_text(data, at, order)
        except (DataError, struct.error, UnicodeError) as error:
            raise DataError(f"{name!r}, cell {index + 1}: {error}") from None
        values.append(value)
    return values


def _cell_text(data: bytes, at: int, order: str) -> tuple[str, int]:
    """Return the text of the cell at this byte, and where the next one starts."""
    kind, length = struct.unpack_from(order + "II", data, at)
    end = at + 8 + length
    if kind != MATRIX or end > len(data) or length < 40:
        raise DataError("is not an array")
    array_kind, _ = read_flags(data[at + 8 : at + 24], order)
    shape_kind, shape_size, rows, columns = struct.unpack_from(order + "IIii", data, at + 24)
    if array_kind != _CHAR or (shape_kind, shape_size) != (5, 8):
        raise DataError("is not a text")
    _, name_size, small = read_tag(data[at + 40 : at + 48], order)
    start = at + 48 + (0 if small else -(-name_size // 8) * 8)
    value = _text(data, start, end, (rows, columns), order)
    if not isinstance(value, str):
        raise DataError("is a matrix of text, not one row")
    return value, end
