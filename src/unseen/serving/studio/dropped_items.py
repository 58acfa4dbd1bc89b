"""A folder or file that was dropped on the page: where it lies, which a browser does not tell."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from unseen.exceptions import DataError
from unseen.serving.studio.roots import Roots

MOST_FOLDERS = 20_000
"""Folders that are looked into."""
MOST_PLACES = 8
"""Places that are offered if there are several of the same name and content."""


@dataclass(frozen=True)
class Dropped:
    """What a browser tells of a dropped item."""

    name: str
    is_folder: bool
    names: tuple[str, ...] = ()
    """Some names in the folder."""
    size: int = 0
    """Bytes of the file."""

    @classmethod
    def told(cls, content: object) -> Dropped:
        """Read what the page sent; refuse anything else."""
        if isinstance(content, dict):
            name, names, size = content.get("name"), content.get("names"), content.get("size")
            if (
                isinstance(name, str)
                and isinstance(names, list)
                and all(isinstance(entry, str) and _is_name(entry) for entry in names)
                and _is_name(name)
                and isinstance(size, int)
            ):
                return cls(name, bool(content.get("folder")), tuple(names), size)
        raise DataError("Drop a folder or a file.")

    def is_at(self, path: Path) -> bool:
        """Tell whether the item may be the one at this path."""
        try:
            if self.is_folder:
                return path.is_dir() and all((path / name).exists() for name in self.names)
            return path.is_file() and path.stat().st_size == self.size
        except OSError:
            return False


def places_of(dropped: Dropped, roots: Roots, nearby: Sequence[Path] = ()) -> list[Path]:
    """Find where a dropped item lies, below the folders that the studio may read.

    Parameters
    ----------
    dropped : Dropped
    roots : Roots
    nearby : sequence of paths
        Folders to look into first, such as those that were used before.

    Returns
    -------
    list of Path
        Not empty; several if there are several of this name with the same content.
    """
    paths: dict[Path, None] = {}
    above = [root.parent for root in roots.folders]  # a root itself may be dropped
    for folder in chain(map(Path.resolve, nearby), above, _folders(roots)):
        path = folder / dropped.name
        if dropped.is_at(path) and roots.holds(path):
            paths[path] = None
        if len(paths) == MOST_PLACES:
            break
    if not paths:
        kind = "folder" if dropped.is_folder else "file"
        known = " and ".join(str(folder) for folder in roots.folders)
        raise DataError(
            f"{dropped.name}: no such {kind} was found in {known}, the folders that the studio may "
            "read. Start the studio again with its folder as one more root.",
            options=("root",),
        )
    return list(paths)


def _is_name(text: str) -> bool:
    """Tell a name from a path, which a browser does not send."""
    return text not in ("", ".", "..") and not set(text) & {"/", os.sep, "\0"}


def _folders(roots: Roots) -> Iterator[Path]:
    """Return the folders below the roots, near ones first; hidden ones and links are left out."""
    waiting, visited = deque(roots.folders), 0
    while waiting and visited < MOST_FOLDERS:
        folder = waiting.popleft()
        visited += 1
        yield folder
        try:
            with os.scandir(folder) as entries:
                inside = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
        except OSError:  # may not be read, so that nothing in it will be
            continue
        waiting.extend(folder / name for name in sorted(inside) if not name.startswith("."))
