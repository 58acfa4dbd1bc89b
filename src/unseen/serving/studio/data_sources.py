"""The data that the studio offers: the embedded digits, folders of photographs, or texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen import features, labelling
from unseen.datasets import load_letters_to_digits
from unseen.files import need
from unseen.labelling import PoolData
from unseen.serving.studio.sessions import EXAMPLE, TEXTS, Source

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library

DIGIT_PIXEL_SIDE = 6
"""A pixel of a handwritten digit becomes a square of this side."""


def embedded(folder: Path) -> PoolData:
    """Return printed letters as labelled rows and handwritten digits as the pool.

    The digits are written to ``folder`` as pictures, once.
    """
    data = load_letters_to_digits()
    return PoolData(
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
    from sklearn.datasets import load_digits

    image_library = need("PIL.Image", "pictures of digits", "serve")
    folder.mkdir(parents=True, exist_ok=True)
    images = load_digits().images
    paths = [folder / f"digit-{number:04}.png" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        if not path.exists():
            ink = (255 - 255 * image / 16).astype(np.uint8)
            enlarged = ink.repeat(DIGIT_PIXEL_SIDE, axis=0).repeat(DIGIT_PIXEL_SIDE, axis=1)
            image_library.fromarray(enlarged).save(path)
    return paths


def photographs(
    seen: Path,
    unlabelled: Path | None,
    classes: Path | None,
    candidates: str = "",
    held_out: str = "",
    backbone: str = "",
    words: str = "",
    on_progress: Callable[[int, int], None] | None = None,
) -> PoolData:
    """Return the rows of photographs in folders; their features are kept for the next time.

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
    words : str
        As for ``unseen label``.
    on_progress : callable, optional
        Called with how many pictures are done, and of how many.
    """
    preparation = labelling.prepare(
        seen,
        unlabelled=unlabelled,
        held_out=held_out,
        classes=classes,
        words=words,
        candidates=candidates,
    )
    network = features.backbone(backbone or features.DEFAULT_BACKBONE)

    with features.FeatureStore() as store:
        data = labelling.extract(preparation, network, store, _reporter(on_progress))
    return replace(data, notes=[*data.notes, preparation.separation.verdict])


def texts(
    path: Path,
    classes: Path | None,
    column: str = "",
    seen: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> PoolData:
    """Return the rows of texts in a file; their vectors by MiniLM are kept for the next time.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON lines or Parquet.
    classes : path, optional
        Names, descriptions or examples of the classes.
    column : str
        Of the texts; "text" if it is "".
    seen : path, optional
        Texts of which some have a label, in a column "label".
    on_progress : callable, optional
        Called with how many texts are done, and of how many.
    """
    preparation = labelling.prepare_texts(path, classes, column=column or "text", seen=seen)
    with features.FeatureStore() as store:
        encoder = features.text_encoder()
        return labelling.extract_texts(preparation, encoder, store, _reporter(on_progress))


def _reporter(
    on_progress: Callable[[int, int], None] | None,
) -> Callable[[features.Progress], None] | None:
    """Return what an extraction calls, from what is to be called with how many items are done."""
    if on_progress is None:
        return None
    return lambda progress: on_progress(progress.done, progress.total)


def read_source(source: Source, library: Library, tell: Callable[[int, int], None]) -> PoolData:
    """Return the data that a session names; paths outside the roots are refused."""
    roots = library.roots
    if source.kind == EXAMPLE:
        return library.embedded()
    classes = _class_table(source, library)
    if source.kind == TEXTS:
        return texts(
            roots.path(source.pool), classes, source.column, roots.optional_path(source.seen), tell
        )
    return photographs(
        roots.path(source.seen),
        roots.optional_path(source.pool),
        classes,
        held_out=roots.names(source.held_out),
        backbone=roots.backbone(source.backbone),
        on_progress=tell,
    )


def _class_table(source: Source, library: Library) -> Path | None:
    """Return the table of classes: one that was edited on the page lies with the sessions."""
    if not source.classes:
        return None
    path = Path(source.classes)
    if path.resolve().is_relative_to(library.sessions.folder.resolve()):
        return path
    return library.roots.path(source.classes)
