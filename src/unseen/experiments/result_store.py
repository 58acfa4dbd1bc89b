"""The store: one SQLite file, one transaction a cell.

A row is written completely or not at all: killing the process at any moment loses at most the cell
that is running. A report can read while a run writes.
"""

from __future__ import annotations

import json
import math
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import unseen
from unseen.exceptions import DataError
from unseen.experiments.code_digest import code_digest
from unseen.experiments.execute import Outcome
from unseen.experiments.plan import Cell
from unseen.experiments.specification import Parameter, frozen_parameters
from unseen.sqlite_file import SqliteFile
from unseen.typing import JsonObject

_COLUMNS = (
    *("key", "status", "dataset", "method", "trial", "setting", "prior", "share", "C", "seed"),
    *("data_hash", "features", "specification", "versions", "seconds", "predict_seconds", "peak_mb"),
    *("metrics", "history", "error", "finished"),
)
_SCHEMA = f"""
create table if not exists cells (
    key text primary key, {", ".join(f'"{name}"' for name in _COLUMNS[1:])}
)
"""
UNTIMED = tuple(c for c in _COLUMNS if c not in ("seconds", "predict_seconds", "peak_mb", "finished"))
"""What two runs of the same cell must agree on."""


@dataclass(frozen=True)
class Row:
    """A stored cell."""

    key: str
    status: str
    dataset: str
    method: str
    trial: int
    setting: str
    prior: str
    share: float
    C: float | None
    seed: int
    data_hash: str
    features: str
    specification: JsonObject
    versions: dict[str, str]
    seconds: float
    predict_seconds: float
    peak_mb: float
    metrics: JsonObject = field(repr=False)
    history: list[JsonObject] = field(repr=False)
    error: str
    finished: str

    @property
    def preset(self) -> str:
        """The form of the method: "default", "published" or "printed"."""
        return str(self.specification.get("preset", "default"))

    @property
    def parameters(self) -> tuple[tuple[str, Parameter], ...]:
        """What was set on top of the preset."""
        return frozen_parameters(self.specification.get("parameters", ()))

    @property
    def plain(self) -> bool:
        """Whether this is the usual protocol: all rows, unseen classes, nothing fixed by hand."""
        usual = self.setting == "zsl" and self.prior == "default" and self.share == 1
        return usual and self.C is None and not self.parameters

    @property
    def accuracy(self) -> float:
        """The cell's accuracy: per class; for GZSL the harmonic mean."""
        return float(self.metrics.get("accuracy", math.nan))


def versions() -> dict[str, str]:
    """Return what the result depends on besides the data."""
    packages = ("numpy", "scipy", "scikit-learn")
    here = {"unseen": unseen.__version__, "code": code_digest(), "python": platform.python_version()}
    return here | {name: metadata.version(name) for name in packages}


class Store(SqliteFile):
    """Results, by the key of their cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> store = Store(pathlib.Path(tempfile.mkdtemp()) / "results.sqlite")
    >>> cell = Cell("letters", "ESZSL")
    >>> store.write(cell, Outcome("done", metrics={"accuracy": 0.7}))
    >>> store.rows()[0].accuracy
    0.7
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._guarded():
            super().__init__(self.path, _SCHEMA)

    def write(self, cell: Cell, outcome: Outcome) -> None:
        """Store one cell in one transaction; an earlier row of the same cell is replaced."""
        values = (
            *(cell.key, outcome.status, cell.dataset, cell.method, cell.trial, cell.setting),
            *(cell.prior, cell.share, cell.C, cell.seed, cell.data_hash, outcome.features),
            *(_json(cell.to_dict()), _json(versions())),
            *(outcome.seconds, outcome.predict_seconds, outcome.peak_mb),
            *(_json(outcome.metrics), _json(outcome.history), outcome.error),
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        marks = ", ".join("?" for _ in values)
        with self._guarded(), self._database:
            self._database.execute(f"insert or replace into cells values ({marks})", values)

    def statuses(self) -> dict[str, str]:
        """Return key → status of every row."""
        with self._guarded():
            return dict(self._database.execute("select key, status from cells").fetchall())

    def rows(self, keys: Iterable[str] | None = None) -> list[Row]:
        """Return rows in the order of ``keys``, or all of them in the order of their keys."""
        names = ", ".join(f'"{c}"' for c in _COLUMNS)
        with self._guarded():
            stored = self._database.execute(f"select {names} from cells order by key").fetchall()
            rows = {values[0]: _row(values) for values in stored}
        return list(rows.values()) if keys is None else [rows[k] for k in keys if k in rows]

    def untimed(self) -> list[tuple[object, ...]]:
        """Return the columns that two runs must agree on, for comparison."""
        names = ", ".join(f'"{c}"' for c in UNTIMED)
        with self._guarded():
            return self._database.execute(f"select {names} from cells order by key").fetchall()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Make what SQLite or a damaged row raises a DataError that names the file."""
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
            detail = str(error).split("\n")[0]
            raise DataError(
                f"{self.path}: is not a store of results, or is damaged or in use: {detail}. Name "
                "another."
            ) from None


def _row(values: tuple[Any, ...]) -> Row:
    columns = dict(zip(_COLUMNS, values, strict=True))
    for name in ("specification", "versions", "metrics", "history"):
        columns[name] = json.loads(columns[name])
    for name in ("seconds", "predict_seconds", "peak_mb"):
        columns[name] = math.nan if columns[name] is None else columns[name]
    return Row(**columns)


def _json(value: object) -> str:
    return json.dumps(_finite(value), sort_keys=True, ensure_ascii=False)


def _finite(value: object) -> object:
    """Turn NaN and infinity, which JSON lacks, into null."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
