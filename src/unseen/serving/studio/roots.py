"""The folders that the studio reads, and nothing outside them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from unseen.exceptions import DataError

WITH_PATHS = ("onnx:", "hf:", "timm:local-dir:", "open_clip:local-dir:")
"""Backbones whose names may be paths."""


class Roots:
    """Folders, named when the studio starts, below which it reads.

    A path outside is refused before it is opened, whether it is there or not, so that no message can
    quote or betray what is in it. Links count by where they lead.

    Parameters
    ----------
    folders : sequence of paths

    Examples
    --------
    >>> roots = Roots(["/srv/photos"])
    >>> roots.path("/srv/photos/../secret")
    Traceback (most recent call last):
        ...
    unseen.exceptions.DataError: /srv/photos/../secret: lies outside the folders that the studio ...
    """

    def __init__(self, folders: Sequence[str | os.PathLike[str]]) -> None:
        self.folders = list(dict.fromkeys(Path(folder).expanduser().resolve() for folder in folders))

    def path(self, text: str | os.PathLike[str]) -> Path:
        """Return what a person typed as a path; refuse it if it, or a link in it, leads outside."""
        try:
            path = Path(text).expanduser()
            end = path.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown ~user, a zero byte
            raise DataError(f"{os.fspath(text)!r}: is no path that can be followed.") from None
        if not self._has(end):
            raise self._refusal(str(path))
        for link in _links(end):
            if not self._has(link.resolve()):
                raise self._refusal(f"{link}, a link")
        return path

    def holds(self, path: Path) -> bool:
        """Tell whether a path, or what it leads to, lies below one of the folders."""
        try:
            return self._has(path.resolve())
        except (OSError, RuntimeError, ValueError):
            return False

    def optional_path(self, text: str | None) -> Path | None:
        """Return what a person typed as a path, or None for nothing."""
        return self.path(text) if text else None

    def names(self, text: str | None) -> str:
        """Return a list of names, which may be the path of a ``.txt`` of names."""
        if text and text.lower().endswith(".txt"):
            self.path(text)
        return text or ""

    def backbone(self, text: str | None) -> str:
        """Return the name of a backbone, which may have a path in it."""
        for kind in WITH_PATHS:
            if text and text.startswith(kind):
                place = text[len(kind) :]
                if kind != "hf:" or place.startswith(("/", ".", "~")) or Path(place).exists():
                    self.path(place)
        return text or ""

    def _has(self, end: Path) -> bool:
        return any(end.is_relative_to(folder) for folder in self.folders)

    def _refusal(self, place: str) -> DataError:
        known = " and ".join(str(folder) for folder in self.folders)
        return DataError(
            f"{place}: lies outside the folders that the studio may read, {known}. Start the studio "
            "again with its folder as one more root.",
            options=("root",),
        )


def _links(folder: Path) -> Iterator[Path]:
    """Find the links in a folder and in the folders below it, those that links lead to included."""
    if not folder.is_dir():
        return
    waiting, visited = [folder], {folder}
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # may not be read, so that nothing in it will be
            continue
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
            if Path(entry.path).is_dir() and (end := Path(entry.path).resolve()) not in visited:
                visited.add(end)
                waiting.append(end)
