"""HDF5 (and so MATLAB v7.3): opened without being read, and no other file is opened.

Refused: soft and external links, raw data in other files, virtual data sets, filters that
would load a plug-in, and a size that the stored bytes cannot expand to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unseen.datasets.hdf5_text import read_variable_text
from unseen.datasets.held_memory import held_bytes
from unseen.exceptions import DataError
from unseen.files import DEFAULT_MAX_BYTES, DEFLATE_RATIO, check_size, need, reading
from unseen.typing import Array, DType, Variables

if TYPE_CHECKING:
    from h5py import Dataset, File

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# deflate, shuffle, fletcher32, szip, nbit, scale-offset, and h5py's own lzf
_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})
_CHUNK_LIMIT = 2**30


def is_hdf5(path: str | os.PathLike[str]) -> bool:
    """Say whether the file carries HDF5's signature, at its start or after a user block."""
    with reading(path), Path(path).open("rb") as file:
        for offset in (0, 512, 1024, 2048):
            file.seek(offset)
            if file.read(8) == _SIGNATURE:
                return True
    return False


class HDF5Rows:
    """The rows of an HDF5 data set, read when they are asked for.

    It answers ``shape``, ``dtype``, ``len`` and indexing by row with a number, a slice, a mask or
    an array of row numbers in any order; ``np.asarray`` reads it whole.
    """

    def __init__(self, path: str | os.PathLike[str], dataset: Dataset) -> None:
        self._path, self._dataset = path, dataset
        self.shape: tuple[int, ...] = tuple(dataset.shape)
        self.dtype: DType = dataset.dtype
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"HDF5Rows({os.fspath(self._path)!r}, shape={self.shape}, dtype={self.dtype})"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        with reading(self._path):
            return np.asarray(self._dataset[()], dtype=dtype)

    def __getitem__(self, rows: Any) -> Array:
        if isinstance(rows, tuple):
            values: Array = self[rows[0]][(slice(None), *rows[1:])]
            return values
        with reading(self._path):
            if isinstance(rows, (slice, int, np.integer)):
                return np.asarray(self._dataset[rows])
            index = np.asarray(rows)
            if index.dtype == bool:
                index = np.flatnonzero(index)
            index = np.where(index < 0, index + len(self), index).astype(np.intp)
            if len(index) == 0:
                return np.empty((0, *self.shape[1:]), self.dtype)
            increasing, back = np.unique(index, return_inverse=True)  # HDF5 reads forwards
            return np.asarray(self._dataset[increasing])[back]


def read_hdf5(
    path: str | os.PathLike[str],
    names: Collection[str] | None = None,
    *,
    lazy: Collection[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Variables:
    """Read top-level data sets; those in ``lazy`` are opened, not read.

    Numbers come as arrays in the file's own order (for MATLAB v7.3: transposed), text and cells
    of text as lists of ``str``. With ``names`` unset, everything but groups is read.
    """
    h5py = need("h5py", path)
    values: Variables = {}
    with reading(path):
        file = h5py.File(path, "r", locking=False)
        for name in list(file) if names is None else [n for n in names if n in file]:
            if isinstance(file.get(name, getclass=True, getlink=True), type) and _is_group(
                h5py, file, name
            ):
                if names is None:
                    continue
                raise DataError(f"{path}: {name!r} is a group, but a data set is needed.")
            dataset = _checked(h5py, file, path, name)
            values[name] = _value(h5py, file, path, name, dataset, name in lazy, max_bytes)
            max_bytes -= 0 if isinstance(values[name], HDF5Rows) else held_bytes(values[name])
        if not any(isinstance(value, HDF5Rows) for value in values.values()):
            file.close()
    return values


def _is_group(h5py: ModuleType, file: File, name: str) -> bool:
    link = file.get(name, getlink=True)
    return isinstance(link, h5py.HardLink) and isinstance(file[name], h5py.Group)


def _checked(h5py: ModuleType, file: File, path: str | os.PathLike[str], name: str) -> Any:
    """Return the data set of this name if all of it lies in this file."""
    place = f"{path}: data set {name!r}"
    link = file.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink):
        raise DataError(
            f"{place} is a {type(link).__name__}: it leads elsewhere, and is not followed. "
            "Copy the data into the file itself."
        )
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset):
        raise DataError(f"{place} is not a data set.")
    _check_storage(dataset, place)
    return dataset


def _check_storage(dataset: Dataset, place: str) -> None:
    if dataset.external or dataset.is_virtual:
        raise DataError(f"{place} keeps its data in other files, which are not read.")
    creation = dataset.id.get_create_plist()
    filters = {creation.get_filter(i)[0] for i in range(creation.get_nfilters())}
    if not filters <= _FILTERS:
        raise DataError(f"{place} needs the filter(s) {sorted(filters - _FILTERS)}, not loaded here.")
    declared = math.prod(dataset.shape) * dataset.dtype.itemsize
    stored = dataset.id.get_storage_size()
    if stored > dataset.file.id.get_filesize():
        raise DataError(f"{place} claims {stored:,} stored bytes, more than the file has.")
    if declared > stored * DEFLATE_RATIO + 2**20:
        raise DataError(
            f"{place} claims {declared:,} bytes, which the {stored:,} stored cannot expand to."
        )
    if dataset.chunks and math.prod(dataset.chunks) * dataset.dtype.itemsize > _CHUNK_LIMIT:
        raise DataError(f"{place} has chunks of more than {_CHUNK_LIMIT:,} bytes.")


def _value(
    h5py: ModuleType,
    file: File,
    path: str | os.PathLike[str],
    name: str,
    dataset: Dataset,
    lazy: bool,
    max_bytes: int,
) -> Any:
    place = f"data set {name!r}"
    dtype = dataset.dtype
    if lazy and dtype.kind in "fiu" and dataset.ndim:
        mapped = _mapped(path, dataset)
        return HDF5Rows(path, dataset) if mapped is None else mapped
    check_size(path, place, math.prod(dataset.shape) * dtype.itemsize, max_bytes)
    text = h5py.check_string_dtype(dtype)
    if text is not None and text.length is None:
        return read_variable_text(path, place, dataset)
    if text is not None:
        return [str(v) for v in np.atleast_1d(dataset.asstr()[()]).ravel()]
    if h5py.check_ref_dtype(dtype) is h5py.Reference:
        return [_reference(h5py, file, path, place, ref) for ref in dataset[()].ravel()]
    if _attribute(dataset, "MATLAB_class") == b"char":
        return [_characters(dataset, f"{path}: {place}")]
    if dtype.kind not in "fiub":
        raise DataError(f"{path}: {place} holds {dtype}, not numbers or text.")
    return np.asarray(dataset[()])


def _attribute(dataset: Dataset, name: str) -> Any:
    """Return one of MATLAB's small attributes; None where it is absent or of another type."""
    if name not in dataset.attrs:
        return None
    dtype = dataset.attrs.get_id(name).dtype
    return dataset.attrs[name] if dtype.kind in "Siu" and dtype.itemsize <= 64 else None


def _reference(h5py: ModuleType, file: File, path: object, place: str, ref: object) -> str:
    target = file[ref]  # an object reference cannot leave its file
    if not isinstance(target, h5py.Dataset):
        raise DataError(f"{path}: {place} refers to something that is not a text.")
    return _characters(target, f"{path}: {place}")


def _characters(dataset: Dataset, place: str) -> str:
    _check_storage(dataset, place)
    if _attribute(dataset, "MATLAB_empty"):
        return ""
    if dataset.dtype != np.uint16 or dataset.size > 2**16 or min(dataset.shape, default=0) > 1:
        raise DataError(f"{place} refers to something that is not a row of text.")
    return np.asarray(dataset[()]).astype("<u2").tobytes().decode("utf-16-le")


def _mapped(path: str | os.PathLike[str], dataset: Dataset) -> Array | None:
    """Map a contiguous data set into memory; None where it is stored otherwise."""
    offset = dataset.id.get_offset()
    if offset is None or dataset.chunks or not dataset.size:
        return None
    if offset + dataset.size * dataset.dtype.itemsize > Path(path).stat().st_size:
        return None
    mapped = np.memmap(path, dataset.dtype, "r", offset, dataset.shape)
    same = mapped[0].tobytes() == np.asarray(dataset[0]).tobytes()  # a user block may shift it
    return mapped if same else None
