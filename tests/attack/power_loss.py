"""What a disk may hold after a power failure: a journal of writes, without the unsynced ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MARK = "confirmed"
"""The file to which a process writes a byte for each thing that it has confirmed."""


@dataclass
class Step:
    """One line of the journal: Write, Sync, Truncate, Rename or Unlink."""

    kind: str
    path: str
    other: str
    place: int
    data: bytes


def read_journal(path: Path) -> list[Step]:
    """Return the steps of a process."""
    content, steps, at = path.read_bytes(), [], 0
    while at < len(content):
        end = content.index(b"\n", at)
        kind, name, other, place, size = content[at:end].decode().split("\t")
        at = end + 1
        length = int(size) if kind == "W" else 0
        steps.append(Step(kind, name, other, int(place), content[at : at + length]))
        at += length
    return steps


@dataclass
class File:
    """The content that programs see, and the one that is on the disk; None if there is none."""

    seen: bytearray = field(default_factory=bytearray)
    synced: bytes | None = None


class Disk:
    """Files by their names: as programs see them, and as they are on the disk.

    Syncing a file puts its content and its name on the disk, as usual file systems do; a name that is
    changed afterwards is on the disk when its folder is synced.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, File] = {}
        for path in folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                self.names[str(path)] = File(bytearray(content), content)
        self.synced_names = dict(self.names)
        self.confirmed = 0

    def play(self, step: Step) -> None:
        """Do one step."""
        if Path(step.path).name == MARK:
            self.confirmed += step.kind == "W"
        elif step.kind == "W":
            seen = self.names.setdefault(step.path, File()).seen
            seen.extend(bytes(max(step.place - len(seen), 0)))
            seen[step.place : step.place + len(step.data)] = step.data
        elif step.kind == "T":
            seen = self.names.setdefault(step.path, File()).seen
            del seen[step.place :]
            seen.extend(bytes(step.place - len(seen)))
        elif step.kind == "R":
            self.names[step.other] = self.names.pop(step.path, File())
        elif step.kind == "U":
            self.names.pop(step.path, None)
        elif step.path in self.names:
            file = self.names[step.path]
            file.synced = bytes(file.seen)
            self.synced_names.setdefault(step.path, file)
        else:  # a folder
            inside = {name for name in {*self.names, *self.synced_names} if name.startswith(step.path)}
            for name in inside:
                self.synced_names.pop(name, None)
                if name in self.names:
                    self.synced_names[name] = self.names[name]

    def after_power_loss(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        """Return what may be found: without any unsynced change, or with the changes of names alone."""
        yield "nothing unsynced", _contents(self.synced_names)
        yield "names but no content", _contents(self.names)

    def restore(self, contents: dict[str, bytes], folder: Path) -> None:
        """Write such a state into another folder."""
        for name, content in contents.items():
            path = folder / Path(name).relative_to(self.folder)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _contents(names: dict[str, File]) -> dict[str, bytes]:
    return {name: file.synced or b"" for name, file in names.items()}
