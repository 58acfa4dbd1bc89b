"""From folders and descriptions to a fitted model and labels: what the commands call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen import methods
from unseen.exceptions import AdaptationWarning, DataError
from unseen.features import (
    Backbone,
    Broken,
    Extraction,
    FeatureStore,
    Progress,
    Separation,
    extract,
    separation,
)
from unseen.labelling.classes import (
    DEFAULT_WEIGHT,
    Given,
    Recipe,
    from_names,
    make_table,
    read_classes,
)
from unseen.labelling.folders import Pictures, check_described, choose_candidates, gather, read_names
from unseen.labelling.labels import Labels, answers_of
from unseen.semantics import ClassTable
from unseen.typing import Array

FEW_ROWS = 5000


@dataclass(frozen=True)
class Task:
    """Pictures, class vectors and candidates, checked against each other; nothing is computed yet."""

    pictures: Pictures
    table: ClassTable
    recipe: Recipe
    candidates: list[str]
    separation: Separation
    notes: list[str]


@dataclass(frozen=True)
class Fitted:
    """A fitted model, and the features of the pool that it was fitted beside."""

    model: Any
    pool: Array
    pool_paths: list[Path]
    rounds: Array | None
    broken: list[Broken]
    computed: int
    reused: int
    notes: list[str] = field(default_factory=list)


def prepare(
    seen: Path,
    *,
    unlabelled: Path | None = None,
    held_out: str = "",
    classes: Path | None = None,
    words: str = "",
    weight: float = DEFAULT_WEIGHT,
    candidates: str = "",
) -> Task:
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
        What turns names and descriptions into vectors. See :func:`unseen.features.words`.
    weight : float
        Of the words where they are mixed with attributes.
    candidates : str
        See :func:`~unseen.labelling.folders.choose_candidates`.
    """
    if held_out and unlabelled is not None:
        raise DataError("Give --unlabelled or --hold-out, not both: a trial labels what it holds out.")
    pictures = gather(seen, unlabelled, read_names(held_out) if held_out else ())
    given = _named(pictures, candidates) if classes is None else read_classes(classes)
    check_described([*pictures.labels, *pictures.truth], given.names, seen, given.source)
    names = choose_candidates(candidates, given.names, pictures, given.source)
    table, recipe, notes = make_table(given, words, weight)
    found = separation(table, names, pictures.seen_classes)
    return Task(pictures, table, recipe, names, found, notes)


def _named(pictures: Pictures, candidates: str) -> Given:
    """Return the classes by their names alone: folders, held-out folders, and candidates."""
    asked = [] if candidates in ("", "all") else read_names(candidates)
    names = dict.fromkeys([*pictures.seen_classes, *sorted(set(pictures.truth)), *asked])
    if not pictures.truth and not asked:
        raise DataError(
            "Which classes to look for is not known. Give --classes, a table or a list of all classes, "
            "or name them: --candidates fox,bat."
        )
    return from_names(list(names), "the names of folders and candidates")


def fit(
    task: Task,
    backbone: Backbone,
    store: FeatureStore | None,
    name: str = methods.DEFAULT,
    seed: int | None = None,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Fitted:
    """Extract the features of all pictures and fit a method.

    No label of the pool is looked at: a transductive method gets its rows marked as unlabelled, and
    any other does not get them at all.
    """
    chosen = methods.find(name)
    tell = on_stage or (lambda _: None)
    pictures = task.pictures
    tell("features")
    everything = [*pictures.seen, *pictures.pool]
    found = extract(everything, backbone, store, on_progress=on_progress)
    label_of = dict(zip(pictures.seen, pictures.labels, strict=True))
    is_seen = np.array([path in label_of for path in found.paths], dtype=bool)
    labels = np.array([label_of.get(path) for path in found.paths], dtype=object)
    _check_enough(found, labels, pictures)
    model = chosen.build(task.table, candidates=task.candidates, random_state=seed)
    rows = np.ones(len(labels), dtype=bool) if chosen.transductive else is_seen
    tell("learning")
    # On few rows the threads of matrix products only wait for each other.
    threads = 1 if rows.sum() < FEW_ROWS else None
    with threadpool_limits(threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptationWarning)
        model.fit(found.X[rows], labels[rows])
    notes = [str(w.message) for w in caught if issubclass(w.category, AdaptationWarning)]
    for other in caught:
        if not issubclass(other.category, AdaptationWarning):
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    trusted = getattr(model, "labelled_round_", None)
    rounds = None if trusted is None else np.asarray(trusted)[~is_seen]
    return Fitted(
        model,
        found.X[~is_seen],
        [path for path, known in zip(found.paths, is_seen, strict=True) if not known],
        rounds,
        found.broken,
        found.computed,
        found.reused,
        notes,
    )


def _check_enough(found: Extraction, labels: Array, pictures: Pictures) -> None:
    left = {label for label in labels.tolist() if label is not None}
    lost = sorted(set(pictures.labels) - left)
    if lost:
        raise DataError(
            f"No picture of the class {lost[0]!r} can be read; {found.broken[0].path.name}: "
            f"{found.broken[0].reason}. Mend one, or move the folder away."
        )
    if pictures.pool and all(label is not None for label in labels.tolist()):
        raise DataError(f"{pictures.root}: none of its {len(pictures.pool)} pictures can be read.")


def label(task: Task, fitted: Fitted) -> Labels:
    """Return the labels of the pool, least sure first; in a trial, with the accuracy."""
    truth_of = dict(zip(task.pictures.pool, task.pictures.truth, strict=False))
    truth = [truth_of[path] for path in fitted.pool_paths] if truth_of else []
    return answers_of(
        fitted.model, fitted.pool, fitted.pool_paths, task.pictures.root, fitted.rounds, truth
    )
