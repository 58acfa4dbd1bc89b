"""One SQLite file in which every transaction is complete or absent, whatever kills the process."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from types import TracebackType
from typing import Self

MOST_SECONDS_LOCKED = 60.0
"""So long a process waits for another that holds the file."""
SECONDS_BETWEEN_TRIES = 0.01


class SqliteFile:
    """An open SQLite file. Write-ahead logging lets other processes read while one writes.

    Parameters
    ----------
    path : path
        The file; its folder is made if there is none.
    schema : str
        Statements that create the tables if they are missing.
    synchronous : {"full", "normal"}
        Whether a transaction is on the disk when it ends, or may be lost (whole) by a power failure.
    threads : bool
        Whether several threads use the file; they must take turns.
    """

    def __init__(
        self, path: Path, schema: str, synchronous: str = "full", threads: bool = False
    ) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(
            path, timeout=MOST_SECONDS_LOCKED, isolation_level=None, check_same_thread=not threads
        )
        try:
            self._database.execute("pragma trusted_schema=off")  # its own views and triggers do little
            self._log_ahead()
            self._database.execute(f"pragma synchronous={synchronous}")
            self._database.executescript(schema)
        except sqlite3.DatabaseError:
            self._database.close()
            raise

    def _log_ahead(self) -> None:
        """Turn write-ahead logging on.

        When two processes do it at once to a new file, SQLite refuses one of them immediately, whatever
        its timeout: each would wait for the other. So the refused one tries again.
        """
        last = time.monotonic() + MOST_SECONDS_LOCKED
        while True:
            try:
                self._database.execute("pragma journal_mode=wal")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                    raise
                time.sleep(SECONDS_BETWEEN_TRIES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()
