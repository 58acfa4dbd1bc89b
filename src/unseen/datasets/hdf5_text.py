"""Text of any length in HDF5, read without libhdf5.

libhdf5 allocates what a text claims to be long, and on a damaged heap it can run for ever; so the
few bytes of its layout ("HDF5 File Format Specification", III.E, the global heap) are read here,
with every size checked against the file.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.exceptions import DataError
from unseen.files import check_size

if TYPE_CHECKING:
    from h5py import Dataset

_ELEMENT = struct.Struct("<IQI")  # length, address of the heap, number in the heap
_OBJECT = struct.Struct("<HHIQ")  # number, references, reserved, size


def read_variable_text(path: str | os.PathLike[str], place: str, dataset: Dataset) -> list[str]:
    """Return the texts of a contiguous data set of variable-length strings."""
    sizes = dataset.file.id.get_create_plist().get_sizes()
    offset = dataset.id.get_offset()
    if not dataset.size:
        return []
    if offset is None or dataset.file.userblock_size or sizes != (8, 8):
        raise DataError(
            f"{path}: {place} holds text of any length in pieces. Store it in one piece, or with a "
            "fixed length."
        )
    check_size(path, place, dataset.size * _ELEMENT.size, Path(path).stat().st_size)
    with (
        Path(path).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return _texts(data, offset, dataset.size, f"{path}: {place}")


def _texts(data: mmap.mmap, offset: int, count: int, place: str) -> list[str]:
    heaps: dict[int, dict[int, bytes]] = {}
    texts = []
    for entry in range(count):
        length, address, number = _ELEMENT.unpack_from(data, offset + entry * _ELEMENT.size)
        if length == 0:
            texts.append("")
            continue
        if address not in heaps:
            heaps[address] = _heap(data, address, place)
        held = heaps[address].get(number)
        if held is None or length > len(held):
            raise DataError(f"{place}, entry {entry + 1}: its text is not in the file.")
        texts.append(held[:length].decode("utf-8"))
    return texts


def _heap(data: mmap.mmap, address: int, place: str) -> dict[int, bytes]:
    """Return the objects of one collection of the global heap, by number."""
    if data[address : address + 5] != b"GCOL\x01":
        raise DataError(f"{place}: there is no heap at byte {address}.")
    (size,) = struct.unpack_from("<Q", data, address + 8)
    end = address + size
    if end > len(data):
        raise DataError(f"{place}: the heap at byte {address} goes beyond the file.")
    objects: dict[int, bytes] = {}
    at = address + 16
    while at + _OBJECT.size <= end:
        number, _, _, length = _OBJECT.unpack_from(data, at)
        if number == 0:  # what is left is free
            break
        start = at + _OBJECT.size
        if start + length > end:
            raise DataError(f"{place}: the heap at byte {address} is damaged.")
        objects[number] = data[start : start + length]
        at = start + -(-length // 8) * 8
    return objects
