"""Which pictures are labelled, which are to be labelled, and among which classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from unseen.datasets.image_folder import FolderContents, any_folder, class_folders
from unseen.datasets.splits import read_lines
from unseen.exceptions import DataError
from unseen.features import Broken


@dataclass(frozen=True)
class Pictures:
    """Pictures of a task.

    ``truth`` is empty, or in a trial with held-out classes the class of each picture of ``pool``; it
    is compared with the answers at the end, and goes nowhere else.
    """

    seen: list[Path]
    labels: list[str]
    pool: list[Path]
    root: Path
    """The folder that the names of the pool are relative to."""
    truth: tuple[str, ...] = ()
    unread: list[Broken] = field(default_factory=list)
    """Files of the folders that are not read, and why."""

    @property
    def seen_classes(self) -> list[str]:
        """The classes with labelled pictures, sorted."""
        return sorted(set(self.labels))


def gather(seen: Path | None, unlabelled: Path | None = None, held_out: Sequence[str] = ()) -> Pictures:
    """Find the pictures: ``<seen>/<class>/<picture>``, and any picture in ``unlabelled``.

    Parameters
    ----------
    seen : path or None
        None if there are no labelled pictures; then ``unlabelled`` is needed.
    unlabelled : path, optional
        The names of its sub-folders mean nothing. Pictures that lie in ``seen`` are left out.
    held_out : sequence of classes
        Instead of ``unlabelled``: classes of ``seen`` to treat as if nobody had labelled them.
    """
    if seen is None:
        if unlabelled is None or held_out:
            raise DataError(
                "There are no labelled pictures, so a folder of pictures to label is needed, and no "
                "class can be held out.",
                options=("seen", "unlabelled"),
            )
        contents = any_folder(unlabelled)
        return Pictures([], [], contents.pictures, unlabelled, unread=_unread(contents))
    of_classes = class_folders(seen)
    labelled, unread = of_classes.pictures, _unread(of_classes)
    if held_out:
        return _trial(seen, labelled, list(held_out), unread)
    labels = [path.parent.name for path in labelled]
    if unlabelled is None:
        return Pictures(labelled, labels, [], seen, unread=unread)
    contents = any_folder(unlabelled)
    inside = {path.resolve() for path in labelled} | {item.path.resolve() for item in unread}
    pool = [path for path in contents.pictures if path.resolve() not in inside]
    unread += [item for item in _unread(contents) if item.path.resolve() not in inside]
    if not pool:
        raise DataError(
            f"{unlabelled}: every picture in it is one of the labelled ones of {seen}. Name a folder "
            "with other pictures."
        )
    return Pictures(labelled, labels, pool, unlabelled, unread=unread)


def _unread(contents: FolderContents) -> list[Broken]:
    return [Broken(path, reason) for path, reason in contents.unread]


def _trial(seen: Path, labelled: list[Path], held_out: list[str], unread: list[Broken]) -> Pictures:
    there = {path.parent.name for path in labelled}
    absent = [name for name in held_out if name not in there]
    if absent:
        raise DataError(
            f"{seen}: has no pictures of the held-out class {absent[0]!r}. It has folders for "
            f"{', '.join(sorted(there)[:5])}, …"
        )
    rest = [path for path in labelled if path.parent.name not in held_out]
    pool = [path for path in labelled if path.parent.name in held_out]
    labels = [path.parent.name for path in rest]
    truth = tuple(path.parent.name for path in pool)
    return Pictures(rest, labels, pool, seen, truth, unread)


def read_names(text: str) -> list[str]:
    """Read classes from a list "fox,bat" or a text file of one name a line."""
    if text.lower().endswith(".txt"):
        names = read_lines(text)
    else:
        names = [part.strip() for part in text.split(",") if part.strip()]
    if len(set(names)) < len(names):
        raise DataError(f"{text}: names a class twice.")
    return names


def check_described(labels: Sequence[str], known: Sequence[str], folder: Path, source: str) -> None:
    """Refuse folders of classes that nothing describes."""
    strangers = sorted(set(labels) - set(known))
    if strangers:
        raise DataError(
            f"{folder / strangers[0]}: {source} has no row for the class {strangers[0]!r}. Name the "
            "folder as the class, describe the class, or move the folder away."
        )


def check_candidates(names: Sequence[str], known: Sequence[str], source: str) -> None:
    """Refuse candidates that nothing describes."""
    described = set(known)
    strangers = [name for name in names if name not in described]
    if strangers:
        raise DataError(
            f"{source}: has no row for the class {strangers[0]!r}, which is named as a candidate.",
            options=("candidates",),
        )


def choose_candidates(asked: str, known: Sequence[str], pictures: Pictures, source: str) -> list[str]:
    """Return the classes among which to answer.

    Parameters
    ----------
    asked : str
        "" for the classes that have no labelled picture (in a trial, the held-out ones); "all"; a list
        "fox,bat"; or a text file.
    """
    if asked == "all":
        return list(known)
    names = read_names(asked) if asked else []
    if not names:
        held_out = set(pictures.truth)
        seen = set(pictures.labels)
        names = [c for c in known if (c in held_out if held_out else c not in seen)]
    check_candidates(names, known, source)
    if not names:
        raise DataError(
            f"{source}: every class in it has labelled pictures, so there is none left to answer with. "
            "Add the classes that you look for; or name them as candidates, fox,bat or all.",
            options=("candidates",),
        )
    return names
