"""One safe reader of arrays, shared by every loader: .npy, .npz, .mat, .h5, Parquet and text.

What can be mapped into memory is: a 100 GB ``.npy``, an uncompressed ``.npz`` or HDF5 is opened,
not read.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from unseen.datasets.hdf5 import is_hdf5, read_hdf5
from unseen.datasets.held_memory import held_bytes
from unseen.datasets.matfile import read_mat5
from unseen.datasets.parquet import read_parquet_columns
from unseen.exceptions import DataError
from unseen.files import (
    DEFAULT_MAX_BYTES,
    DEFLATE_RATIO,
    check_extent,
    check_size,
    npy_header,
    read_npy,
    reading,
)
from unseen.typing import Array, Variables

PathLike = str | os.PathLike[str]

#: The names under which a container may hold its features, tried in this order.
FEATURE_KEYS = ("features", "X", "feat", "data")
#: Suffixes that :func:`read_array` knows.
ARRAY_SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5", ".parquet", ".csv", ".tsv", ".txt")


def read_array(path: PathLike, key: str | None = None, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Any:
    """Read a two-dimensional array of numbers, one row a sample, from any file known here.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz``, ``.mat`` (v5 or v7.3; one *column* a sample, as MATLAB's users and
        xlsa17 keep them), ``.h5``/``.hdf5``, ``.parquet``, ``.csv``, ``.tsv`` or ``.txt``.
    key : str, optional
        The array inside a container. By default "features", "X", "feat" or "data", or the only
        one there.
    max_bytes : int
        What a compressed file may expand to.

    Returns
    -------
    array, memory map or lazy array of shape (N, p)

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "features.npy"
    >>> np.save(path, np.ones((3, 2), dtype=np.float32))
    >>> read_array(path).shape
    (3, 2)
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        values: Any = read_npy(path)
    elif suffix in (".npz", ".mat", ".h5", ".hdf5"):
        values = _from_container(path, suffix, key, max_bytes)
    elif suffix == ".parquet":
        values = read_parquet_columns(path, (), max_bytes=max_bytes)[0]
    elif suffix in (".csv", ".tsv", ".txt"):
        values = read_text(path, max_bytes=max_bytes)
    else:
        raise DataError(
            f"{path}: the suffix {suffix!r} is not known. Use one of {', '.join(ARRAY_SUFFIXES)}."
        )
    return check_matrix(values, path)


def check_matrix(values: Any, path: PathLike) -> Any:
    """Return the array if it is a matrix of real numbers with at least one row and column."""
    shape, dtype = tuple(values.shape), values.dtype
    if dtype.kind not in "fiu":
        raise DataError(f"{path}: holds {dtype}, but features are real numbers.")
    if len(shape) != 2 or min(shape) == 0:
        raise DataError(
            f"{path}: has shape {shape}, but features have two dimensions, one row a sample."
        )
    return values


def read_npz(
    path: PathLike, names: Collection[str] | None = None, *, max_bytes: int = DEFAULT_MAX_BYTES
) -> dict[str, Array]:
    """Read the arrays of a ``.npz``; those stored without compression are mapped into memory."""
    arrays: dict[str, Array] = {}
    with reading(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise DataError(f"{path}: holds {name!r} twice.")
            if member.filename.endswith(".npy") and (names is None or name in names):
                arrays[name] = _npz_member(path, archive, member, max_bytes)
                max_bytes -= held_bytes(arrays[name])
    return arrays


def _npz_member(
    path: PathLike, archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int
) -> Array:
    place = f"{path}: {member.filename}"
    check_size(path, member.filename, member.file_size, max_bytes if member.compress_type else 2**62)
    if member.file_size > member.compress_size * DEFLATE_RATIO + 1024:
        raise DataError(f"{place}: claims to expand further than compression can. It is damaged.")
    with archive.open(member) as stream:
        shape, fortran, dtype = npy_header(stream, place)  # type: ignore[arg-type]
        start = stream.tell()
        check_extent(place, shape, dtype, member.file_size - start)
        count = math.prod(shape)
        if member.compress_type == zipfile.ZIP_STORED and dtype.kind in "fiu" and count:
            offset = _stored_offset(path, member) + start
            check_extent(
                place,
                shape,
                dtype,
                min(member.file_size - start, Path(path).stat().st_size - offset),
            )
            return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")
        data = stream.read(member.file_size)
    values = np.frombuffer(data, dtype, math.prod(shape)).reshape(shape, order="F" if fortran else "C")
    return values.copy()


def _stored_offset(path: PathLike, member: zipfile.ZipInfo) -> int:
    """Return where the bytes of a member that is stored as it is begin in the file."""
    with Path(path).open("rb") as file:
        file.seek(member.header_offset)
        name, extra = struct.unpack("<26xHH", file.read(30))
    return int(member.header_offset + 30 + name + extra)


def read_mat(
    path: PathLike,
    names: Collection[str] | None = None,
    *,
    lazy: Collection[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Variables:
    """Read a MATLAB file of v5 or v7.3, each array transposed: MATLAB's last index comes first.

    So ``features``, p×N in MATLAB, comes as N×p in row order without a copy, from either version.
    """
    if is_hdf5(path):
        return read_hdf5(path, names, lazy=lazy, max_bytes=max_bytes)
    values = read_mat5(path, names, max_bytes=max_bytes)
    return {name: value.T if isinstance(value, np.ndarray) else value for name, value in values.items()}


def read_container(
    path: PathLike,
    names: Collection[str] | None = None,
    *,
    lazy: Collection[str] = (),
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Variables:
    """Read named arrays of a ``.npz``, ``.mat`` or ``.h5`` file, rows first."""
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        return dict(read_npz(path, names, max_bytes=max_bytes))
    if suffix == ".mat":
        return read_mat(path, names, lazy=lazy, max_bytes=max_bytes)
    return read_hdf5(path, names, lazy=lazy, max_bytes=max_bytes)


def _from_container(path: PathLike, suffix: str, key: str | None, max_bytes: int) -> Any:
    keys = (key,) if key else FEATURE_KEYS
    held = read_container(path, keys, lazy=keys, max_bytes=max_bytes)
    if not held and key is None:
        held = read_container(path, max_bytes=max_bytes)
        matrices = {k: v for k, v in held.items() if getattr(v, "ndim", 0) == 2 and min(v.shape) > 1}
        if len(matrices) == 1:
            return next(iter(matrices.values()))
    return pick(held, keys, path)


def pick(held: Mapping[str, object], keys: tuple[str, ...], path: PathLike) -> Any:
    """Return the first of these arrays that the container holds."""
    for key in keys:
        if key in held:
            value = held[key]
            if not hasattr(value, "dtype"):
                raise DataError(f"{path}: {key!r} holds text, but numbers are needed.")
            return value
    there = ", ".join(sorted(held)) or "none of these"
    raise DataError(f"{path}: has no array named {' or '.join(map(repr, keys))}. It holds {there}.")


def read_text(
    path: PathLike, *, max_bytes: int = DEFAULT_MAX_BYTES, dtype: npt.DTypeLike = np.float64
) -> Array:
    """Read a matrix from text: commas in ``.csv``, tabs in ``.tsv``, else white space."""
    suffix = Path(path).suffix.lower()
    with reading(path):
        check_size(path, "the text", Path(path).stat().st_size, max_bytes)
        with Path(path).open(encoding="utf-8-sig") as file:
            first = file.readline()
            file.seek(0)
            separator = {".csv": ",", ".tsv": "\t"}.get(suffix, "," if "," in first else None)
            if not first.strip():
                raise DataError(f"{path}: line 1 is empty, but holds the first row.")
            values = np.loadtxt(file, dtype=dtype, delimiter=separator, comments=None, ndmin=2)
    return values
