"""What a method learns from and what it labels: the embedded data, or folders of photographs."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets import load_letters_to_digits
from unseen.semantics import ClassTable
from unseen.typing import Array

ENLARGED = 6
"""A pixel of a handwritten digit becomes a square of this side."""


@dataclass(frozen=True, eq=False)
class Material:
    """Labelled rows, a pool, and a picture for each row of the pool."""

    name: str
    features: str
    X: Array
    """Labelled rows."""
    y: Array
    pool: Array
    paths: list[Path]
    """The pictures of the pool, in its order."""
    root: Path
    table: ClassTable
    candidates: list[str]
    truth: list[str] = field(default_factory=list)
    """The classes of the pool where they are known; compared at the end, and used for nothing else."""
    notes: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    origin: dict[str, Any] = field(default_factory=dict)
    """What a model file says of its features, for photographs."""
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    """The name under which its pictures are shown; nobody can guess it."""


def embedded(folder: Path) -> Material:
    """Return printed letters as labelled rows and handwritten digits as the pool.

    The digits are written to ``folder`` as pictures, once.
    """
    data = load_letters_to_digits()
    return Material(
        "Printed letters → handwritten digits",
        data.features,
        data.X[data.train],
        data.y[data.train],
        data.X[data.test_unseen],
        _digits(folder / "digits"),
        folder / "digits",
        data.semantics,
        [str(c) for c in data.unseen_classes.tolist()],
        [str(c) for c in data.y[data.test_unseen].tolist()],
    )


def _digits(folder: Path) -> list[Path]:
    from PIL import Image
    from sklearn.datasets import load_digits

    folder.mkdir(parents=True, exist_ok=True)
    images = load_digits().images
    paths = [folder / f"digit-{number:04}.png" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        if not path.exists():
            ink = (255 - 255 * image / 16).astype(np.uint8)
            Image.fromarray(ink.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)).save(path)
    return paths


def photographs(
    seen: Path,
    unlabelled: Path | None,
    classes: Path | None,
    candidates: str = "",
    held_out: str = "",
    backbone: str = "",
    on_progress: Callable[[int, int], None] | None = None,
) -> Material:
    """Return folders of photographs as material; their features are kept for the next time.

    Parameters
    ----------
    seen : path
        ``<seen>/<class>/<picture>``.
    unlabelled : path, optional
        Pictures to label; or else ``held_out`` names classes of ``seen``.
    classes : path, optional
        A table of attributes or descriptions, or a list of names.
    candidates : str
        Classes to look for, if ``classes`` does not say it.
    held_out : str
        Classes to treat as if nobody had labelled them: a trial.
    backbone : str
        The default one if it is "".
    on_progress : callable, optional
        Called with how many pictures are done, and of how many.
    """
    from unseen import features, labelling
    from unseen.labelling.models import origin_of

    task = labelling.prepare(
        seen, unlabelled=unlabelled, held_out=held_out, classes=classes, candidates=candidates
    )
    network = features.backbone(backbone or features.DEFAULT_BACKBONE)
    pictures = task.pictures

    def tell(progress: features.Progress) -> None:
        if on_progress is not None:
            on_progress(progress.done, progress.total)

    with features.FeatureStore() as store:
        found = features.extract([*pictures.seen, *pictures.pool], network, store, on_progress=tell)
    label_of = dict(zip(pictures.seen, pictures.labels, strict=True))
    truth_of = dict(zip(pictures.pool, pictures.truth, strict=False))
    known = np.array([path in label_of for path in found.paths])
    pool = [path for path in found.paths if path not in label_of]
    return Material(
        f"{seen.name} → {pictures.root.name if unlabelled else 'held-out classes'}",
        network.name,
        found.X[known],
        np.array([label_of[path] for path in found.paths if path in label_of]),
        found.X[~known],
        pool,
        pictures.root,
        task.table,
        task.candidates,
        [truth_of[path] for path in pool] if truth_of else [],
        [*task.notes, task.separation.verdict],
        [(str(b.path), b.reason) for b in found.broken],
        origin_of(network, task.recipe),
    )
