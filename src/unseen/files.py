"""Safe reading and atomic writing: one error, one size limit, safe paths, optional libraries.

A file that a user hands over is material, not code: nothing here unpickles, follows a path out of
the folder, or allocates what a header merely claims.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from unseen.exceptions import DataError, FileBusyError
from unseen.typing import Array, DType
from unseen.version import install_command

if TYPE_CHECKING:
    from types import ModuleType

WINDOWS = os.name == "nt"

#: How many bytes a compressed or text file may expand to, unless the caller raises it. Files that
#: are memory-mapped are opened, not read, and have no limit.
DEFAULT_MAX_BYTES = 4 * 2**30

#: zlib cannot expand more than this many times (RFC 1951: 258 bytes from 2 bits).
DEFLATE_RATIO = 1032

#: The end of the stem of a temporary file's name.
PARTIAL = ".partial"

#: A temporary file that nobody has written to for so long was left by a writer that was killed.
STALE_SECONDS = 24 * 3600

#: How long to wait for another process that writes to the same file.
LOCK_SECONDS = 60.0

#: How often to ask for the lock: often enough that a writer without pauses does not keep others out.
LOCK_POLL_SECONDS = 0.005

#: How long to wait between attempts to replace a file that a program has open (Windows only).
REPLACE_PAUSES = (0.01, 0.03, 0.1, 0.3, 1.0)


@contextmanager
def reading(path: str | os.PathLike[str], what: str = "") -> Iterator[None]:
    """Turn whatever a parser raises on broken bytes into a DataError that names the file.

    The parsers of numpy, HDF5 and Arrow raise a dozen types on a truncated or mutated file; a user
    needs one. A DataError that already says the place passes through. What is there but is no regular
    file is refused before it is opened.
    """
    place = f"{path}: {what}: " if what else f"{path}: "
    try:
        if Path(path).exists() and not Path(path).is_dir():
            check_regular(path)
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: no such file. Check the name, or fetch it first.") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, but a file is needed here.") from None
    except PermissionError:
        raise DataError(f"{path}: may not be read. Check its permissions.") from None
    except MemoryError:
        raise DataError(
            f"{place}asks for more memory than there is. The file is damaged, or too large to "
            "read at once: store it as .npy, which is opened without being read."
        ) from None
    except Exception as error:
        detail = str(error).strip().split("\n")[0] or type(error).__name__
        raise DataError(
            f"{place}cannot be read ({detail}). The file is truncated, damaged or of another "
            "format: fetch or export it again."
        ) from error


def check_size(
    path: str | os.PathLike[str], what: str, declared: int, max_bytes: int = DEFAULT_MAX_BYTES
) -> None:
    """Refuse, before anything is allocated, what would expand beyond ``max_bytes``."""
    if declared < 0 or declared > max_bytes:
        raise DataError(
            f"{path}: {what} would expand to {declared:,} bytes, more than the limit of "
            f"{max_bytes:,}. If you trust the file, raise max_bytes."
        )


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse what is no regular file: reading a pipe or a device may never end."""
    if not Path(path).is_file():
        Path(path).stat()  # says if it is not there
        raise DataError(
            f"{path}: is no regular file but a pipe, a device or a socket. Copy it to a file."
        )


def read_npy(path: str | os.PathLike[str]) -> Array:
    """Map a ``.npy`` file into memory; object arrays (which would be unpickled) are refused."""
    with reading(path), Path(path).open("rb") as file:
        shape, fortran, dtype = npy_header(file, path)
        offset = file.tell()
        check_extent(path, shape, dtype, Path(path).stat().st_size - offset)
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def npy_header(file: BinaryIO, place: object) -> tuple[tuple[int, ...], bool, DType]:
    """Return shape, whether columns come first, and type; nothing is read beyond the header."""
    major = np.lib.format.read_magic(file)[0]
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    if major not in readers:
        raise DataError(f"{place}: is of .npy version {major}; 1 and 2 are known.")
    shape, fortran, dtype = readers[major](file)
    if dtype.hasobject:
        raise DataError(
            f"{place}: holds Python objects, which could run code when they are read. Save it "
            "again as plain numbers or text: np.save(path, array.astype(float))."
        )
    if any(type(n) is not int or n < 0 for n in shape):  # True is an int, too
        raise DataError(f"{place}: claims the shape {shape}.")
    return shape, fortran, dtype


def check_extent(place: object, shape: tuple[int, ...], dtype: DType, there: int) -> None:
    """Refuse a header that claims more or fewer bytes than there are."""
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != there:
        raise DataError(
            f"{place}: claims shape {shape} of {dtype}, {wanted:,} bytes, but holds {there:,}. "
            "It is truncated or damaged: write it again."
        )


def safe_image_name(name: str, path: str | os.PathLike[str], line: int) -> str:
    """Return an image name unchanged, or refuse one that leads out of the image folder.

    Examples
    --------
    >>> safe_image_name("fox/01.jpg", "images.csv", 2)
    'fox/01.jpg'
    >>> safe_image_name("../../etc/passwd", "images.csv", 3)
    Traceback (most recent call last):
        ...
    unseen.exceptions.DataError: images.csv: line 3: the image name '../../etc/passwd' ...
    """
    if not is_inside(name):
        raise DataError(
            f"{path}: line {line}: the image name {name!r} leads out of the image folder or is "
            "not a path. Give paths relative to that folder, without '..'."
        )
    return name


def is_inside(name: str) -> bool:
    """Say whether a path stays in the folder that it is relative to."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if not parts or parts[0] in ("/", "//", "~") or ".." in parts or name[1:2] == ":":
        return False
    return not any(ord(c) < 32 for c in name)


def need(module: str, path: str | os.PathLike[str], extra: str = "data") -> ModuleType:
    """Import an optional library where it is used; say how to install it where it is absent."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise DataError(
            f"{path}: needs {package}, which is not installed: {install_command(extra)}"
        ) from None


def cache_folder() -> Path:
    """Return the folder for what is kept: ``UNSEEN_CACHE``, or else the user's cache folder."""
    import pooch  # only here: every reader imports this module

    return Path(os.environ.get("UNSEEN_CACHE") or pooch.os_cache("unseen")).expanduser()


@contextmanager
def atomic_file(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``target``; move it into place only if all went well.

    The new file is on the disk before it takes the place of the old one, and so is the change of the
    folder before this returns. A file that is replaced keeps its permissions; a link is followed.
    """
    target = Path(target).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target, STALE_SECONDS)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{PARTIAL}{target.suffix}")
    # Never readable by more people than the file that it replaces, not even while it is written.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        _sync(temporary)
        _replace(temporary, target)
        _sync(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def file_lock(target: str | os.PathLike[str], seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Keep every other process and thread from replacing ``target``, if they take this lock as well.

    The lock is a hidden file beside the target, which stays there. The operating system releases the
    lock of a process that dies. What a killed writer left beside the target is removed.
    """
    import filelock  # here: `import unseen` stays quick

    target = Path(target).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(target.with_name(f".{target.name}.lock"), poll_interval=LOCK_POLL_SECONDS)
    try:
        lock.acquire(timeout=seconds)
    except filelock.Timeout:
        raise FileBusyError(
            f"{target}: another process has been writing to it for {seconds:g} seconds. Wait until it "
            "ends, or stop it, and try again."
        ) from None
    try:
        _sweep(target, 0)  # who holds the lock is the only writer
        yield
    finally:
        lock.release()


def _sweep(target: Path, older_than: float) -> None:
    """Remove the temporary files of a target that nobody has written to for some seconds."""
    pattern = re.escape(f".{target.stem}.") + "[0-9a-f]{16}" + re.escape(PARTIAL + target.suffix)
    for path in target.parent.iterdir():
        if re.fullmatch(pattern, path.name):
            with suppress(OSError):  # another process may have removed it
                if time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()


def _replace(temporary: Path, target: Path) -> None:
    """Move a file or folder into place; on Windows, wait for readers that have the old one open."""
    for pause in (*(REPLACE_PAUSES if WINDOWS else ()), None):
        try:
            temporary.replace(target)
            return
        except PermissionError:  # a reader, or a virus scanner, that will be gone in a moment
            if not WINDOWS:
                raise
            if pause is None:
                raise FileBusyError(
                    f"{target}: cannot be replaced while another program has it open. Close that "
                    "program, and try again."
                ) from None
            time.sleep(pause)


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    if path.is_dir() and WINDOWS:
        return  # which cannot open a folder
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_folder(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder beside ``target``; rename it into place only if all went well."""
    target = Path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: is already there. Name a new or an empty folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        yield temporary
        temporary.chmod(0o755)
        if target.exists():
            target.rmdir()
        _replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
