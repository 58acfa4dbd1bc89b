"""The SQLite file of results and features, when another process holds it."""

from __future__ import annotations

import sqlite3

import pytest

import unseen.sqlite_file
from unseen.sqlite_file import SqliteFile

SCHEMA = "create table if not exists rows (number integer primary key);"


class Refused(sqlite3.Connection):
    """A connection whose first tries to log ahead are refused."""

    left = 0
    code = sqlite3.SQLITE_BUSY

    def execute(self, statement, *rest):
        if "journal_mode" in statement and Refused.left:
            Refused.left -= 1
            error = sqlite3.OperationalError("refused")
            error.sqlite_errorcode = Refused.code
            raise error
        return super().execute(statement, *rest)


@pytest.fixture
def refusing(monkeypatch):
    real = sqlite3.connect
    monkeypatch.setattr(
        unseen.sqlite_file.sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Refused)
    )
    monkeypatch.setattr(unseen.sqlite_file, "SECONDS_BETWEEN_TRIES", 0)

    def set_up(times: int, code: int) -> None:
        monkeypatch.setattr(Refused, "left", times)
        monkeypatch.setattr(Refused, "code", code)

    return set_up


def test_a_locked_file_is_tried_again(tmp_path, refusing):
    refusing(3, sqlite3.SQLITE_BUSY)
    with SqliteFile(tmp_path / "a.sqlite", SCHEMA) as file:
        assert file._database.execute("pragma journal_mode").fetchone() == ("wal",)
    assert Refused.left == 0


def test_other_faults_are_told_at_once(tmp_path, refusing):
    refusing(3, sqlite3.SQLITE_IOERR)
    with pytest.raises(sqlite3.OperationalError):
        SqliteFile(tmp_path / "a.sqlite", SCHEMA)
    assert Refused.left == 2


def test_a_file_locked_for_too_long_is_given_up(tmp_path, refusing, monkeypatch):
    refusing(5, sqlite3.SQLITE_BUSY)
    monkeypatch.setattr(unseen.sqlite_file, "MOST_SECONDS_LOCKED", -1.0)
    with pytest.raises(sqlite3.OperationalError):
        SqliteFile(tmp_path / "a.sqlite", SCHEMA)
    assert Refused.left == 4
