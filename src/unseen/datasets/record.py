"""The one record that every loader returns and every experiment reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.semantics import ClassTable
from unseen.typing import Array


@dataclass(frozen=True, eq=False)
class ZeroShotDataset:
    """Features, labels, semantics and a zero-shot split.

    Parameters
    ----------
    X : array of shape (N, p)
        Features, one row a sample. It may be a memory map or a lazy array: it is never copied here.
    y : array of N class names
        The class of each row.
    semantics : ClassTable
        A vector for every class, seen and unseen.
    train, test_seen, test_unseen : arrays of row indices
        Training rows of seen classes; held-out rows of seen classes; rows of unseen classes.
    name, features : str
        The data set's name, and which features these are. A number is reported with both.
    provenance : str
        Where it came from, and what was done to it.
    images : sequence of N paths, optional
        The picture behind each row.
    """

    X: Any
    y: Array
    semantics: ClassTable
    train: npt.NDArray[np.intp]
    test_seen: npt.NDArray[np.intp]
    test_unseen: npt.NDArray[np.intp]
    name: str = "unnamed"
    features: str = "unnamed features"
    provenance: str = ""
    images: Sequence[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "semantics", ClassTable.of(self.semantics))
        rows = len(self.X)
        if len(self.y) != rows:
            raise DataError(f"{self.name}: X has {rows} rows but y has {len(self.y)} labels.")
        if self.images is not None and len(self.images) != rows:
            raise DataError(f"{self.name}: X has {rows} rows but images has {len(self.images)} paths.")
        for part in ("train", "test_seen", "test_unseen"):
            index = np.asarray(getattr(self, part), dtype=np.intp)
            if len(index) and (index.min() < 0 or index.max() >= rows):
                wrong = index.min() if index.min() < 0 else index.max()
                raise DataError(
                    f"{self.name}: {part} points at row {wrong}, but X has rows 0 to {rows - 1}. "
                    "Indices start at 0 here."
                )
            object.__setattr__(self, part, index)
        self.semantics.positions(np.unique(self.y))

    @property
    def seen_classes(self) -> Array:
        """The classes that ``train`` holds, sorted."""
        return np.unique(self.y[self.train])

    @property
    def unseen_classes(self) -> Array:
        """The classes that ``test_unseen`` holds, sorted."""
        return np.unique(self.y[self.test_unseen])

    def transductive(self, pool: Literal["unseen", "all"] = "unseen") -> tuple[Any, Array]:
        """Return ``X, y`` for a transductive fit: training rows, then the pool without its labels.

        Parameters
        ----------
        pool : {"unseen", "all"}
            Whether the unlabelled rows are those of unseen classes only, or (generalised) the
            held-out rows of seen classes as well: ``test_seen``, then ``test_unseen``.

        Returns
        -------
        X : array of shape (len(train) + len(pool), p)
        y : object array; ``None`` marks an unlabelled row
        """
        if pool not in ("unseen", "all"):
            raise ValueError(f"pool must be 'unseen' or 'all'. Got {pool!r} instead.")
        rows = self.test_unseen
        if pool == "all":
            rows = np.concatenate([self.test_seen, self.test_unseen])
        labels = np.full(len(self.train) + len(rows), None, dtype=object)
        labels[: len(self.train)] = self.y[self.train]
        return self.X[np.concatenate([self.train, rows])], labels


def assemble(source: object, **fields: Any) -> ZeroShotDataset:
    """Build the record of what was read from ``source``; any fault names that source."""
    try:
        return ZeroShotDataset(**fields)
    except ValueError as error:
        raise DataError(f"{source}: {error}") from None


def class_table(
    source: object, classes: Any, vectors: Any, attributes: Sequence[str] | None = None
) -> ClassTable:
    """Build the class table of what was read from ``source``; any fault names that source."""
    try:
        return ClassTable(classes, vectors, attributes)
    except ValueError as error:
        raise DataError(f"{source}: {error}") from None
