"""Sessions on disk: what was asked, which labels a person gave, and what was learned with them.

Every change is on the disk before the page shows it, so that neither a reload nor a kill loses one.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from unseen.exceptions import DataError
from unseen.files import atomic_file, check_size, reading

FORMAT = 1
EXAMPLE, PHOTOGRAPHS, TEXTS = "example", "photographs", "texts"
KINDS = (EXAMPLE, PHOTOGRAPHS, TEXTS)
MOST_BYTES = 256 * 2**20
"""Of a session: labels of a million items and the steps to take them back."""
IDENTITY = re.compile(r"[0-9a-f]{16}")


@dataclass
class Source:
    """Which data a session is about, as a person named it; "" where nothing was named."""

    kind: str = EXAMPLE
    seen: str = ""
    """Labelled photographs, or texts of which some have labels."""
    pool: str = ""
    """A folder of photographs, or a file of texts, to label."""
    classes: str = ""
    held_out: str = ""
    backbone: str = ""
    column: str = ""
    strangers: bool = False
    """Whether items may belong to no class, and such ones are looked for."""

    def text(self) -> str:
        """Say it in a few words."""
        if self.kind == EXAMPLE:
            return "the example: printed letters → handwritten digits"
        pool = Path(self.pool).name if self.pool else f"held-out classes {self.held_out}"
        return f"{Path(self.seen).name} → {pool}" if self.seen else pool


@dataclass
class Session:
    """What one labelling consists of."""

    identity: str
    name: str
    source: Source
    methods: list[str]
    labels: dict[str, str] = field(default_factory=dict)
    """Item → the class that a person gave it, in the order in which they were given."""
    learned_with: dict[str, str] = field(default_factory=dict)
    """The labels that the result on the page was learned with."""
    undo: list[list[str | None]] = field(default_factory=list)
    """Item and the label that it had before, for each step that can be taken back."""
    learned: bool = False
    """Whether there is a result."""
    changed: float = 0.0
    """When it was changed last, in seconds since 1970."""

    def give(self, item: str, label: str | None) -> None:
        """Give an item a label, or take its label back with None."""
        self.undo.append([item, self.labels.get(item)])
        self._set(item, label)

    def take_back(self) -> str | None:
        """Take the last step back; return its item, or None if there is none."""
        if not self.undo:
            return None
        item, label = self.undo.pop()
        assert item is not None
        self._set(item, label)
        return item

    def _set(self, item: str, label: str | None) -> None:
        self.labels.pop(item, None)
        if label is not None:
            self.labels[item] = label


class SessionStore:
    """A folder of sessions, one folder each.

    Parameters
    ----------
    folder : path
        Made if it is not there, readable by this user alone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def new(self, source: Source, methods: list[str], name: str = "") -> Session:
        """Make a session, and keep it."""
        when = time.strftime("%d %b, %H:%M")
        session = Session(secrets.token_hex(8), name or f"{source.text()}, {when}", source, methods)
        self.save(session)
        return session

    def place(self, identity: str) -> Path:
        """Return the folder of a session; its name is never taken from a person."""
        if not IDENTITY.fullmatch(identity):
            raise DataError("There is no such session.")
        return self.folder / identity

    def save(self, session: Session) -> None:
        """Write a session to the disk; whole or not at all."""
        session.changed = time.time()
        place = self.place(session.identity)
        place.mkdir(exist_ok=True, mode=0o700)
        content = json.dumps({"format": FORMAT, **asdict(session)}, ensure_ascii=False)
        with atomic_file(place / "session.json") as temporary:
            temporary.write_text(content, encoding="utf-8")

    def load(self, identity: str) -> Session:
        """Read a session."""
        path = self.place(identity) / "session.json"
        if not path.is_file() or not _is_own(path.parent):
            raise DataError("There is no such session.")
        with reading(path):
            check_size(path, "the session", path.stat().st_size, MOST_BYTES)
            session = _session(path.read_text(encoding="utf-8"))
            if session.identity != identity:
                raise DataError(f"{path}: is the session of another folder.")
            return session

    def recent(self) -> list[Session]:
        """Return all sessions that can be read, the last changed first."""
        sessions = []
        for place in self.folder.iterdir():
            if IDENTITY.fullmatch(place.name):
                try:
                    sessions.append(self.load(place.name))
                except DataError:  # half made, or of another version
                    continue
        return sorted(sessions, key=lambda session: -session.changed)

    def remove(self, session: Session) -> None:
        """Put a session away: it is no longer listed, and can be brought back by hand."""
        place = self.place(session.identity)
        place.rename(place.with_name(f"removed-{session.identity}"))


def _session(text: str) -> Session:
    version = json.loads(text).get("format")
    if version != FORMAT:
        raise DataError(f"The session is of format {version!r}, and {FORMAT} is read.")
    session = TypeAdapter(Session).validate_json(text, strict=True)
    if session.source.kind not in KINDS or not all(_is_step(step) for step in session.undo):
        raise DataError("The session cannot be understood.")
    return session


def _is_step(step: list[str | None]) -> bool:
    """Tell whether a step that can be taken back is an item and the label that it had."""
    return len(step) == 2 and step[0] is not None


def _is_own(place: Path) -> bool:
    """Tell whether a folder is this user's: others may be able to put theirs beside it."""
    if hasattr(os, "getuid"):
        return place.stat().st_uid == os.getuid()
    return True  # Windows, whose folders of users are closed to others
