"""Folders and descriptions of classes, read and checked against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from unseen.exceptions import DataError
from unseen.features import (
    FeatureStore,
    ImageTextModel,
    Separation,
    StoredEncoder,
    describe,
    separation,
)
from unseen.features.words import DEFAULT_WEIGHT
from unseen.labelling.classes import (
    CLASS_COLUMN,
    Given,
    Recipe,
    from_names,
    make_table,
    read_classes,
)
from unseen.labelling.folders import Pictures, check_described, choose_candidates, gather, read_names
from unseen.labelling.text_files import read_class_texts
from unseen.semantics import ClassTable

PICTURE_PROMPT = "a photo of a {}"
"""The text of a class that has none, for a model of pictures and texts; {} stands for the name."""


@dataclass(frozen=True)
class Preparation:
    """Pictures, class vectors and candidates that fit each other; nothing is computed yet."""

    pictures: Pictures
    table: ClassTable
    recipe: Recipe
    candidates: list[str]
    separation: Separation
    notes: list[str]
    scale: float | None = None
    """τ of the model that gives both pictures and class texts their vectors; None if two do."""


def prepare(
    seen: Path,
    *,
    unlabelled: Path | None = None,
    held_out: str = "",
    classes: Path | None = None,
    words: str = "",
    weight: float | None = None,
    candidates: str = "",
    class_column: str = CLASS_COLUMN,
) -> Preparation:
    """Read folders and descriptions, and check that they fit each other.

    Parameters
    ----------
    seen : path
        ``<seen>/<class>/<picture>``.
    unlabelled : path, optional
        A folder of pictures to label.
    held_out : str
        Instead: classes of ``seen`` to treat as unlabelled, "fox,bat" or a text file. A trial.
    classes : path, optional
        Attributes or descriptions of all classes; without it, the classes are known by name: the
        folders of ``seen``, and ``candidates``.
    words : str
        What turns names and descriptions into vectors. See :func:`unseen.features.words` and
        :func:`~unseen.labelling.classes.make_table`.
    weight : float
        Of the words where they are mixed with attributes; None for the default.
    candidates : str
        See :func:`~unseen.labelling.folders.choose_candidates`.
    class_column : str
        The column of ``classes`` that names the classes.
    """
    read = None
    if classes is not None:
        read = partial(read_classes, classes, class_column, take_words=bool(words))
    pictures, given, names = _gathered(seen, unlabelled, held_out, candidates, read)
    table, recipe, notes = make_table(given, words, DEFAULT_WEIGHT if weight is None else weight)
    separated = separation(table, names, pictures.seen_classes)
    return Preparation(pictures, table, recipe, names, separated, notes)


def prepare_with_texts(
    model: ImageTextModel,
    store: FeatureStore | None = None,
    *,
    seen: Path | None = None,
    unlabelled: Path | None = None,
    held_out: str = "",
    classes: Path | None = None,
    prompt: str = "",
    candidates: str = "",
    class_column: str = CLASS_COLUMN,
) -> Preparation:
    """Read folders and texts of the classes, which have vectors of the model that sees the pictures.

    No labelled picture is needed.

    Parameters
    ----------
    model : ImageTextModel
        See :func:`unseen.features.image_text_model`.
    store : FeatureStore, optional
        Vectors of texts that it knows are not computed.
    seen, unlabelled, held_out, candidates, class_column : optional
        See :func:`prepare`.
    classes : path, optional
        See :func:`~unseen.labelling.text_files.read_class_texts`. In a text, {} stands for the name of
        the class.
    prompt : str
        The text of a class that has none of its own; "a photo of a {}" by default.
    """
    read = None if classes is None else lambda: read_class_texts(classes, class_column)[0]
    pictures, given, names = _gathered(seen, unlabelled, held_out, candidates, read)
    recipe = Recipe(model.texts.name, prompt=prompt or PICTURE_PROMPT, shared=True)
    encoder = StoredEncoder(model.texts, store)
    table = describe(given.names, encoder, given.filled().descriptions, recipe.prompt)
    separated = separation(table, names, pictures.seen_classes)
    return Preparation(pictures, table, recipe, names, separated, list(model.notes), scale=model.scale)


def _gathered(
    seen: Path | None,
    unlabelled: Path | None,
    held_out: str,
    candidates: str,
    read: Callable[[], Given] | None,
) -> tuple[Pictures, Given, list[str]]:
    """Return pictures, classes and candidates that agree; ``read`` reads a file of the classes."""
    if held_out and unlabelled is not None:
        raise DataError(
            "Give a folder to label or classes to hold out, not both: a trial labels the pictures of "
            "the held-out classes.",
            options=("unlabelled", "held_out"),
        )
    pictures = gather(seen, unlabelled, read_names(held_out) if held_out else ())
    given = _known_by_name(pictures, candidates) if read is None else read()
    if seen is not None:
        check_described([*pictures.labels, *pictures.truth], given.names, seen, given.source)
    return pictures, given, choose_candidates(candidates, given.names, pictures, given.source)


def _known_by_name(pictures: Pictures, candidates: str) -> Given:
    """Return the classes by their names alone: folders, held-out folders, and candidates."""
    asked = [] if candidates in ("", "all") else read_names(candidates)
    names = dict.fromkeys([*pictures.seen_classes, *sorted(set(pictures.truth)), *asked])
    if not pictures.truth and not asked:
        raise DataError(
            "Which classes to look for is not known. Give a table or a list of all classes, or name "
            "the classes to look for, as fox,bat.",
            options=("classes", "candidates"),
        )
    return from_names(list(names), "the names of folders and candidates")
