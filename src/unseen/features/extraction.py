"""Photographs → features: decoding beside inference, in bounded memory, kept as it goes."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.features.backbones import Backbone
from unseen.features.feature_store import FeatureStore, Vector
from unseen.features.pictures import open_picture
from unseen.files import need
from unseen.image_files import read_picture_file
from unseen.typing import Array

BATCH = 16
AHEAD = 3
"""Batches of decoded pictures that may wait for the network."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Broken:
    """A picture that was skipped, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Extraction:
    """What came of it.

    ``X[i]`` are the features of ``paths[i]``: the pictures that could be read, in the order given.
    """

    X: npt.NDArray[np.float32]
    paths: list[Path]
    broken: list[Broken]
    computed: int
    """Pictures that went through the network now."""
    reused: int
    """Pictures whose features were kept from before."""


@dataclass
class Progress:
    """How far it is."""

    total: int
    done: int = 0
    reused: int = 0
    broken: int = 0


@dataclass(frozen=True)
class _Read:
    """One picture, as a decoding thread leaves it: known, decoded, or broken."""

    key: bytes = b""
    vector: Vector | None = None
    pixels: Array | None = None
    fault: str = ""


def extract(
    paths: Sequence[str | os.PathLike[str]],
    backbone: Backbone,
    store: FeatureStore | None = None,
    *,
    batch_size: int = BATCH,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Extraction:
    """Return the features of photographs.

    Threads read, hash and decode while the network runs; only a few batches of decoded pictures are
    in memory at a time. With a store, a picture whose content it knows for this backbone is not decoded
    again, and every batch is kept as soon as it is computed.

    Parameters
    ----------
    paths : sequence of paths
    backbone : Backbone
        See :func:`unseen.features.backbone`.
    store : FeatureStore, optional
    batch_size : int
    workers : int, optional
        Decoding threads; the cores, at most 8, by default.
    on_progress : callable, optional
        Called with a :class:`Progress` after every picture that is done.

    Returns
    -------
    Extraction
        A picture that cannot be read is in ``broken``, with the reason; it is never fatal.

    Raises
    ------
    DataError
        If Pillow is missing, features come out NaN or infinite, or no picture can be read.
    """
    need("PIL.Image", "photographs", "images")
    if batch_size < 1:
        raise ValueError(f"The 'batch_size' parameter must be at least 1. Got {batch_size} instead.")
    files = [Path(p) for p in paths]
    X = np.empty((len(files), backbone.width), dtype=np.float32)
    known = np.zeros(len(files), dtype=bool)
    broken: list[Broken] = []
    progress = Progress(len(files))
    tell = on_progress or (lambda _: None)
    waiting: list[tuple[int, _Read]] = []
    ahead = AHEAD * batch_size
    with closing(_read_ahead(files, backbone, store, workers, ahead)) as pictures:
        for place, read in pictures:
            if read.pixels is not None:
                waiting.append((place, read))
                if len(waiting) == batch_size:
                    _run(backbone, store, waiting, X, known, progress, tell)
                continue
            if read.vector is not None:
                X[place], known[place] = read.vector, True
                progress.reused += 1
            else:
                broken.append(Broken(files[place], read.fault))
                logger.warning("%s: skipped: %s", files[place], read.fault)
                progress.broken += 1
            progress.done += 1
            tell(progress)
    if waiting:
        _run(backbone, store, waiting, X, known, progress, tell)
    if files and not known.any():
        raise DataError(
            f"{files[0]}: {broken[0].reason}. None of {len(files)} pictures could be read: check the "
            "folder and the format."
        )
    good = [path for path, fine in zip(files, known, strict=True) if fine]
    X = X if known.all() else X[known]
    return Extraction(X, good, broken, len(good) - progress.reused, progress.reused)


def _read_ahead(
    files: list[Path], backbone: Backbone, store: FeatureStore | None, workers: int | None, ahead: int
) -> Generator[tuple[int, _Read], None, None]:
    """Yield pictures in order, read by threads that are at most ``ahead`` pictures in front."""
    pool = ThreadPoolExecutor(workers or min(os.cpu_count() or 1, 8), "decode")
    queue: deque[tuple[int, Future[_Read]]] = deque()
    try:
        for place, path in enumerate(files):
            queue.append((place, pool.submit(_read, path, backbone, store)))
            if len(queue) >= ahead:
                first, future = queue.popleft()
                yield first, future.result()
        while queue:
            first, future = queue.popleft()
            yield first, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _read(path: Path, backbone: Backbone, store: FeatureStore | None) -> _Read:
    """Read, hash and decode one picture. Whatever is wrong with the picture is no exception."""
    try:
        data = read_picture_file(path)
    except (OSError, ValueError) as error:
        return _Read(fault=getattr(error, "strerror", None) or str(error))
    key = hashlib.blake2b(data, digest_size=20).digest()
    if store is not None:
        known = store.get(backbone.identity, key, backbone.width)
        if known is not None:
            return _Read(key, vector=known)
    try:
        return _Read(key, pixels=backbone.prepare(open_picture(data, backbone.side)))
    except Exception as error:  # decoders raise a dozen types on broken bytes
        detail = (str(error).strip().split("\n")[0] or type(error).__name__).rstrip(".")
        return _Read(fault=_plain(detail, data))


def _plain(detail: str, data: bytes) -> str:
    if not data:
        return "the file is empty"
    if "cannot identify image file" in detail:
        return "it is no picture that can be read"
    return detail


def _run(
    backbone: Backbone,
    store: FeatureStore | None,
    waiting: list[tuple[int, _Read]],
    X: Array,
    known: Array,
    progress: Progress,
    tell: Callable[[Progress], None],
) -> None:
    """Send what waits through the network, keep it, and empty the list."""
    output = backbone(np.stack([r.pixels for _, r in waiting if r.pixels is not None]))
    vectors = checked_vectors(backbone.name, backbone.width, output, len(waiting), "pictures")
    if store is not None:
        store.put(backbone.identity, [(r.key, v) for (_, r), v in zip(waiting, vectors, strict=True)])
    for (place, _), vector in zip(waiting, vectors, strict=True):
        X[place], known[place] = vector, True
        progress.done += 1
        tell(progress)
    waiting.clear()


def checked_vectors(name: str, width: int, output: Array, count: int, items: str) -> Vector:
    """Return what a network gave for some items; refuse NaN, infinity and any other shape."""
    vectors = np.asarray(output)
    if vectors.shape != (count, width) or not np.isfinite(vectors).all():
        what = "NaN or infinity" if vectors.shape[1:] == (width,) else f"shape {vectors.shape}"
        raise DataError(
            f"{name}: gave {what} for {count} {items}, and {width} finite numbers each were expected. "
            "The weights are damaged, or the network is wrong."
        )
    return vectors.astype(np.float32, copy=False)
