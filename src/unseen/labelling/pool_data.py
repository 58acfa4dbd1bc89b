"""Labelled rows, and a pool of rows to label with the picture or text of each."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unseen.exceptions import DataError
from unseen.features import Backbone, Broken, Extraction, FeatureStore, Progress
from unseen.features import extract as extract_features
from unseen.labelling.classes import Recipe
from unseen.labelling.folders import Pictures
from unseen.labelling.preparation import Preparation
from unseen.semantics import ClassTable
from unseen.typing import Array, JsonObject


@dataclass(frozen=True, eq=False)
class PoolData:
    """What a method learns from, and what it labels."""

    name: str
    features: str
    """What the columns are: the name of the backbone, for photographs."""
    X: Array
    """Labelled rows."""
    y: Array
    pool: Array
    """Rows to label."""
    paths: list[Path]
    """The pictures of the pool, in its order; empty for texts."""
    root: Path
    """The folder that the names of the pictures are relative to, or the file of the texts."""
    table: ClassTable
    candidates: list[str]
    truth: list[str] = field(default_factory=list)
    """The classes of the pool where they are known; compared at the end, and used for nothing else."""
    notes: list[str] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    """Files that were not read: pictures that are broken, and files that are no pictures."""
    origin: dict[str, object] = field(default_factory=dict)
    """What a model file says of its features and class vectors, for photographs."""
    computed: int = 0
    """Pictures that went through the backbone now."""
    reused: int = 0
    """Pictures whose features were kept from before."""
    texts: list[str] | None = None
    """The texts of the pool, in its order; None for pictures. [] if only their vectors are known."""
    text_rows: list[int] = field(default_factory=list)
    """The row of each text in its file, from 0."""
    scale: float | None = None
    """τ of the model that gave rows and classes their vectors; None if it is not known."""

    @property
    def items(self) -> list[str]:
        """The name of every row of the pool: its picture, or the row of its text."""
        if self.texts is None:
            return [path.relative_to(self.root).as_posix() for path in self.paths]
        return [str(row) for row in self.text_rows]

    def without(self, rows: Collection[int]) -> PoolData:
        """Return the same with some rows of the pool left out."""
        left_out = set(rows)
        keep = [row for row in range(len(self.pool)) if row not in left_out]
        return replace(
            self,
            pool=self.pool[keep],
            paths=[self.paths[row] for row in keep] if self.paths else [],
            truth=[self.truth[row] for row in keep] if self.truth else [],
            texts=[self.texts[row] for row in keep] if self.texts else self.texts,
            text_rows=[self.text_rows[row] for row in keep] if self.text_rows else [],
        )

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """The files that were not read, and why."""
        return [(str(item.path), item.reason) for item in self.broken]


def extract(
    preparation: Preparation,
    backbone: Backbone,
    store: FeatureStore | None,
    on_progress: Callable[[Progress], None] | None = None,
) -> PoolData:
    """Return the features of all pictures of a preparation; those in ``store`` are not computed."""
    pictures = preparation.pictures
    extraction = extract_features(
        [*pictures.seen, *pictures.pool], backbone, store, on_progress=on_progress
    )
    label_of = dict(zip(pictures.seen, pictures.labels, strict=True))
    truth_of = dict(zip(pictures.pool, pictures.truth, strict=False))
    labels = [label_of[path] for path in extraction.paths if path in label_of]
    pool_paths = [path for path in extraction.paths if path not in label_of]
    _check_enough(extraction, labels, pool_paths, pictures)
    is_seen = np.array([path in label_of for path in extraction.paths], dtype=bool)
    source = f"{pictures.seen[0].parent.parent.name} → " if pictures.seen else ""
    return PoolData(
        source + ("held-out classes" if truth_of else pictures.root.name),
        backbone.name,
        extraction.X[is_seen],
        np.array(labels, dtype=None if labels else object),
        extraction.X[~is_seen],
        pool_paths,
        pictures.root,
        preparation.table,
        preparation.candidates,
        [truth_of[path] for path in pool_paths] if truth_of else [],
        preparation.notes,
        [*extraction.broken, *pictures.unread],
        origin_of(backbone, preparation.recipe),
        extraction.computed,
        extraction.reused,
        scale=preparation.scale,
    )


def origin_of(backbone: Backbone, recipe: Recipe) -> JsonObject:
    """Return what a model file says of its features and class vectors."""
    return {
        "backbone": backbone.name,
        "identity": backbone.identity,
        **recipe.origin(),
        "shared": recipe.shared,
    }


def _check_enough(
    extraction: Extraction, labels: list[str], pool_paths: list[Path], pictures: Pictures
) -> None:
    """Refuse a class, or a pool, of which no picture can be read."""
    lost = sorted(set(pictures.labels) - set(labels))
    if lost:
        first = extraction.broken[0]
        raise DataError(
            f"No picture of the class {lost[0]!r} can be read; {first.path.name}: {first.reason}. "
            "Mend one, or move the folder away."
        )
    if pictures.pool and not pool_paths:
        raise DataError(f"{pictures.root}: none of its {len(pictures.pool)} pictures can be read.")
