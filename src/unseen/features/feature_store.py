"""Features on disk, by what the picture holds: one SQLite file, one transaction a batch."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.files import cache_folder
from unseen.sqlite_file import SqliteFile

Vector = npt.NDArray[np.float32]

_SCHEMA = """
create table if not exists backbones (number integer primary key, identity text unique not null);
create table if not exists features (
    backbone integer not null, picture blob not null, vector blob not null,
    primary key (backbone, picture)
) without rowid;
"""


class FeatureStore(SqliteFile):
    """Vectors by the checksum of the picture's bytes and the identity of the backbone.

    A batch is written whole or not at all, so killing the process at any moment loses at most the batch
    in flight. Several processes may use one store. Safe to use from several threads.

    Parameters
    ----------
    folder : path, optional
        Where ``features.sqlite`` is stored; the cache folder by default (``UNSEEN_CACHE``).
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.path = Path(folder or cache_folder() / "features") / "features.sqlite"
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = {}
        with self._guarded():
            super().__init__(self.path, _SCHEMA, synchronous="normal", threads=True)

    def get(self, identity: str, picture: bytes, width: int) -> Vector | None:
        """Return the vector of a picture, or None."""
        with self._guarded():
            number = self._number(identity)
            row = self._database.execute(
                "select vector from features where backbone = ? and picture = ?", (number, picture)
            ).fetchone()
        if row is None or not isinstance(row[0], bytes) or len(row[0]) != 4 * width:
            return None
        return np.frombuffer(row[0], dtype="<f4").astype(np.float32)

    def put(self, identity: str, vectors: Iterable[tuple[bytes, Vector]]) -> None:
        """Store vectors, all of them or none."""
        with self._guarded():
            number = self._number(identity)
            rows = [(number, key, vector.astype("<f4").tobytes()) for key, vector in vectors]
            self._database.execute("begin immediate")
            try:
                self._database.executemany("insert or replace into features values (?, ?, ?)", rows)
                self._database.execute("commit")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise

    def __len__(self) -> int:
        with self._guarded():
            (count,) = self._database.execute("select count(*) from features").fetchone()
        return int(count)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _number(self, identity: str) -> int:
        """Return the short number of a backbone: its identity is long, and rows are many."""
        if identity not in self._numbers:
            run = self._database.execute
            run("insert or ignore into backbones (identity) values (?)", (identity,))
            row = run("select number from backbones where identity = ?", (identity,)).fetchone()
            self._numbers[identity] = int(row[0])
        return self._numbers[identity]

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError, TypeError, ValueError) as error:  # rows may be damaged
                raise DataError(
                    f"{self.path}: features cannot be stored there ({error}). Free space, delete the "
                    "file if it is damaged (features are then extracted again), or name another "
                    "folder, also by the environment variable UNSEEN_CACHE.",
                    options=("cache",),
                ) from None
