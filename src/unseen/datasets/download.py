"""Downloads of public archives: checked by SHA-256, resumed, and moved into place when complete."""

from __future__ import annotations

import logging
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pooch

from unseen.datasets.resuming_download import ResumingDownloader, check_address
from unseen.exceptions import DataError
from unseen.files import atomic_folder, cache_folder, reading

PathLike = str | os.PathLike[str]

_LOG = logging.getLogger(__name__)
_UNPACKED_LIMIT = 64 * 2**30
MOST_DOWNLOADED_BYTES = 16 * 2**30
"""Of an archive; the largest known has 3 GB."""
UNPACKED_FROM = ".unpacked-from"
"""A file in an unpacked folder: the SHA-256 of the archive that it came from."""


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
            "https://datasets.d2.mpi-inf.mpg.de/xian/xlsa17.zip",
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
            "https://vision.cs.uiuc.edu/attributes/attribute_data.tar.gz",
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
    trust_first: bool = False,
    unpack: bool = True,
    max_bytes: int = MOST_DOWNLOADED_BYTES,
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
    trust_first : bool
        Whether to take an archive without a published checksum as it comes the first time. Without
        this, and without ``sha256``, such an archive is refused.
    unpack : bool
        Whether to unpack the archive beside it.
    max_bytes : int
        A longer download is stopped.
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
    import requests  # loads slowly, and only a download needs it

    if name not in ARCHIVES:
        raise DataError(f"{name!r} is not known. Known are {', '.join(ARCHIVES)}.")
    archive = ARCHIVES[name]
    folder = Path(folder) if folder is not None else cache_folder()
    target = folder / archive.file
    record = folder / f"{archive.file}.sha256"
    known = sha256 or archive.sha256 or _stored_sum(record)
    address = url or archive.url
    if known is None and not trust_first:
        raise DataError(
            f"{name}: no SHA-256 was published for {address}, so nobody can say whether what comes is "
            "what was meant. Give the checksum that you know, or trust the first download.",
            options=("sha256", "trust_first"),
        )
    check_address(address)
    try:
        pooch.retrieve(
            address,
            f"sha256:{known}" if known else None,
            fname=archive.file,
            path=folder,
            downloader=ResumingDownloader(target.with_name(target.name + ".part"), max_bytes, progress),
        )
    except DataError:
        raise
    except (requests.RequestException, OSError) as error:
        raise DataError(_unreachable(archive, address, target, known, error)) from None
    except ValueError as error:
        raise DataError(
            f"{address}: what was fetched is not what is expected ({error}). Nothing was stored. "
            "Try again, or check the address."
        ) from None
    if known is None:
        record.write_text(f"{pooch.file_hash(str(target))}  {archive.file}\n", encoding="utf-8")
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


def _stored_sum(record: Path) -> str | None:
    """Return the SHA-256 of an earlier download, if one was stored."""
    return record.read_text(encoding="utf-8").split()[0] if record.is_file() else None


def _unpacked(archive: Path) -> Path:
    """Unpack a ``.zip`` or ``.tar.*`` into a new folder beside it, unless that has been done before."""
    target = archive.with_name(archive.name.split(".")[0])
    digest = pooch.file_hash(str(archive))
    if target.is_dir() and any(target.iterdir()):
        mark = target / UNPACKED_FROM
        if not mark.is_file() or mark.read_text(encoding="utf-8").strip() != digest:
            raise DataError(
                f"{target}: is there, but was not unpacked from {archive.name} as it is now. Move it "
                "away, and run this again."
            )
        return target
    with reading(archive), atomic_folder(target) as folder:
        if zipfile.is_zipfile(archive):
            _unzip(archive, folder)
        else:
            _untar(archive, folder)
        (folder / UNPACKED_FROM).write_text(f"{digest}\n", encoding="utf-8")
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
