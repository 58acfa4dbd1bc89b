"""Downloads of public archives: checked by SHA-256, resumed, and moved into place when complete."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pooch
import requests

from unseen.exceptions import DataError
from unseen.files import atomic_folder, cache_folder, reading

PathLike = str | os.PathLike[str]

_LOG = logging.getLogger(__name__)
_CHUNK = 1 << 20
_UNPACKED_LIMIT = 64 * 2**30


@dataclass(frozen=True)
class Archive:
    """A public archive. If no SHA-256 was published, that of the first download is stored beside it."""

    name: str
    url: str
    file: str
    sha256: str | None
    what: str


ARCHIVES = {
    archive.name: archive
    for archive in (
        Archive(
            "xlsa17",
            "http://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",
            "xlsa17.zip",
            None,
            "AWA1, AWA2, CUB, APY, SUN: proposed splits v2, ResNet-101 features",
        ),
        Archive(
            "awa2-base",
            "https://cvml.ista.ac.at/AwA2/AwA2-base.zip",
            "AwA2-base.zip",
            None,
            "AwA2: classes, predicates and class lists, 32 kB",
        ),
        Archive(
            "awa2-features",
            "https://cvml.ista.ac.at/AwA2/AwA2-features.zip",
            "AwA2-features.zip",
            None,
            "AwA2: ResNet-101 features as text",
        ),
        Archive(
            "cub",
            "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz?download=1",
            "CUB_200_2011.tgz",
            "0c685df5597a8b24909f6a7c9db6d11e008733779a671760afef78feb49bf081",
            "CUB-200-2011: images, classes and attributes, 1.15 GB",
        ),
        Archive(
            "apy",
            "http://vision.cs.uiuc.edu/attributes/attribute_data.tar.gz",
            "attribute_data.tar.gz",
            None,
            "aPascal-aYahoo: attribute annotations",
        ),
    )
}


def fetch(
    name: str,
    folder: PathLike | None = None,
    *,
    url: str | None = None,
    sha256: str | None = None,
    unpack: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Download a public archive, check it and unpack it.

    Parameters
    ----------
    name : str
        One of ``ARCHIVES``: "xlsa17", "awa2-base", "awa2-features", "cub", "apy".
    folder : path, optional
        Where to store it. By default the folder in the environment variable ``UNSEEN_CACHE``, or
        else the user's cache folder.
    url, sha256 : str, optional
        A mirror, and the checksum to hold the file to.
    unpack : bool
        Whether to unpack the archive beside it.
    progress : callable, optional
        Called with the bytes so far and the bytes in all (0 where that is not known).

    Returns
    -------
    path
        The unpacked folder, or the archive.

    Notes
    -----
    A download that broke off is resumed from its ``.part`` file if the server can. The archive
    appears under its name only when it is whole and its SHA-256 is right. Where none was
    published, the SHA-256 of the first download is written beside it, and later ones are held
    to it.
    """
    if name not in ARCHIVES:
        raise DataError(f"{name!r} is not known. Known are {', '.join(ARCHIVES)}.")
    archive = ARCHIVES[name]
    folder = Path(folder) if folder is not None else cache_folder()
    target = folder / archive.file
    record = folder / f"{archive.file}.sha256"
    known = sha256 or archive.sha256 or (record.read_text().split()[0] if record.is_file() else None)
    address = url or archive.url
    try:
        pooch.retrieve(
            address,
            f"sha256:{known}" if known else None,
            fname=archive.file,
            path=folder,
            downloader=_Resuming(target.with_name(target.name + ".part"), progress),
        )
    except (requests.RequestException, OSError) as error:
        raise DataError(_unreachable(archive, address, target, known, error)) from None
    except ValueError as error:
        raise DataError(
            f"{address}: what was fetched is not what is expected ({error}). Nothing was stored. "
            "Try again, or check the address."
        ) from None
    if known is None:
        record.write_text(f"{pooch.file_hash(str(target))}  {archive.file}\n")
        _LOG.warning(
            "%s: no SHA-256 was published; that of this download is stored in %s", name, record
        )
    return _unpacked(target) if unpack else target


def _unreachable(
    archive: Archive, address: str, target: Path, known: str | None, error: Exception
) -> str:
    check = f" Its SHA-256 must be {known}." if known else ""
    return (
        f"{address}: could not be fetched ({type(error).__name__}). Without a network, fetch that "
        f"file elsewhere and place it as {target}, then run this again.{check}"
    )


class _Resuming:
    """A downloader for pooch that resumes a ``.part`` file."""

    def __init__(self, part: Path, progress: Callable[[int, int], None] | None) -> None:
        self._part, self._progress = part, progress
        self._tag = part.with_name(part.name + ".etag")

    def __call__(self, url: str, output_file: str, pooch_object: Any, **_: Any) -> None:
        start = self._part.stat().st_size if self._part.is_file() else 0
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if self._tag.is_file():
                headers["If-Range"] = self._tag.read_text()
        with requests.get(url, headers=headers, stream=True, timeout=30) as response:
            if response.status_code == 416:  # the part is whole, or longer than the file
                self._part.unlink()
                return self(url, output_file, pooch_object)
            response.raise_for_status()
            if response.status_code != 206:
                start = 0
            self._save(response, start)
        shutil.move(self._part, output_file)
        self._tag.unlink(missing_ok=True)
        return None

    def _save(self, response: requests.Response, start: int) -> None:
        """Append the body to the part, and fail if the connection ended early."""
        if "ETag" in response.headers:
            self._tag.write_text(response.headers["ETag"])
        total = start + int(response.headers.get("Content-Length", 0))
        done = start
        response.raw.enforce_content_length = False  # keep what came; the length is checked below
        with self._part.open("ab" if start else "wb") as file:
            for chunk in response.iter_content(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                if self._progress is not None:
                    self._progress(done, total)
        if "Content-Length" in response.headers and done < total:
            raise requests.ConnectionError(f"the connection ended at {done} of {total} bytes")


def _unpacked(archive: Path) -> Path:
    """Unpack a ``.zip`` or ``.tar.*`` into a folder beside it, unless that is already there."""
    target = archive.with_name(archive.name.split(".")[0])
    if target.is_dir() and any(target.iterdir()):
        return target
    with reading(archive), atomic_folder(target) as folder:
        if zipfile.is_zipfile(archive):
            _unzip(archive, folder)
        else:
            _untar(archive, folder)
    return target


def _check_member(archive: Path, name: str, total: int) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name[:2]:
        raise DataError(f"{archive}: the member {name!r} leads out of the folder. Not unpacked.")
    if total > _UNPACKED_LIMIT:
        raise DataError(f"{archive}: would unpack to more than {_UNPACKED_LIMIT:,} bytes.")


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as held:
        total = 0
        for member in held.infolist():
            total += member.file_size
            _check_member(archive, member.filename, total)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise DataError(f"{archive}: the member {member.filename!r} is a link.")
        held.extractall(folder)


def _untar(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as held:
        total = 0
        for member in held:
            total += member.size
            _check_member(archive, member.name, total)
            held.extract(member, folder, filter="data")
