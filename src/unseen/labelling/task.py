"""What is to be labelled, and how; and rows of which a person said that they belong to no class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from unseen import methods
from unseen.exceptions import DataError
from unseen.labelling.pool_data import PoolData
from unseen.statistics.strangers import FEWEST_CLASSES
from unseen.transductive.rounds import Observer
from unseen.typing import Array, Codes

UNKNOWN = "unknown"
"""The label of items that belong to no candidate, if the user does not choose one."""


def check_strangers(method: str, strangers: float | str | None, labelled_classes: int) -> None:
    """Refuse a method that could not tell items of no candidate, before anything is computed.

    Parameters
    ----------
    method : str
    strangers : float, "auto" or None
        As in :class:`Task`.
    labelled_classes : int
        How many classes have labelled items.
    """
    if strangers is None or labelled_classes >= FEWEST_CLASSES:
        return
    needs_labels = methods.find(method).estimator.needs_labelled_rows
    by_itself = "strangers" in methods.find(method).build().get_params()
    if by_itself and not needs_labels and strangers != "auto":
        return
    if by_itself and not needs_labels:
        raise DataError(
            "How many items belong to no class is learned from labelled items of at least "
            f"{FEWEST_CLASSES} classes, and there are {labelled_classes}. Say which share of the items "
            "does, as 0.1 for one in ten, or label items of more classes.",
            options=("strangers",),
        )
    able = [
        name
        for name, m in methods.catalogue().items()
        if not m.estimator.needs_labelled_rows and "strangers" in m.build().get_params()
    ]
    raise DataError(
        "How far an item of no class is from the others is learned from labelled items of at least "
        f"{FEWEST_CLASSES} classes, and there are {labelled_classes}. Label items of more classes; or, "
        f"if items and classes have vectors of one model, use {' or '.join(able)} and give a share "
        "of strangers, as 0.1.",
        options=("strangers", "method"),
    )


@dataclass(frozen=True, eq=False)
class Task:
    """Everything that decides the labels of a pool: the same task gives the same labels."""

    data: PoolData
    method: str = methods.DEFAULT
    seed: int = 0
    """For what a method draws at random."""
    corrections: Mapping[int, str] = field(default_factory=dict)
    """Row of the pool → the class that a person gave it; or ``unknown``, if it belongs to none."""
    strangers: float | str | None = None
    """Whether items may belong to no candidate: None for no, "auto", or their share of the pool."""
    unknown: str = UNKNOWN
    """The label of items that belong to no candidate."""

    def __post_init__(self) -> None:
        if self.strangers is not None and self.unknown in {str(c) for c in self.data.candidates}:
            raise DataError(
                f"{self.unknown!r} is the name of a candidate, so it cannot stand for items that "
                "belong to none. Choose another label for them.",
                options=("unknown",),
            )

    @property
    def left_out(self) -> Codes:
        """The rows of which a person said that they belong to no candidate: no method learns from them.

        All others take part, in their order.
        """
        if self.unknown in {str(c) for c in self.data.candidates}:
            return np.array([], dtype=np.intp)
        rows = [row for row, label in self.corrections.items() if label == self.unknown]
        return np.array(sorted(rows), dtype=np.intp)

    def without_left_out(self) -> Task:
        """Return the task that a method learns: without the rows that are left out."""
        left_out = self.left_out
        if not len(left_out):
            return self
        taking_part = np.setdiff1d(np.arange(len(self.data.pool)), left_out)
        place = {int(row): number for number, row in enumerate(taking_part)}
        corrections = {place[r]: label for r, label in self.corrections.items() if r in place}
        return replace(self, data=self.data.without(left_out.tolist()), corrections=corrections)

    def spread(self, values: Array, of_left_out: object) -> Array:
        """Return one entry for every row of the pool, from those of the rows that took part."""
        left_out = self.left_out
        if not len(left_out):
            return values
        shape = (len(self.data.pool), *values.shape[1:])
        whole = np.empty(shape, dtype=np.result_type(values, np.asarray(of_left_out)))
        whole[left_out] = of_left_out
        whole[np.setdiff1d(np.arange(len(whole)), left_out)] = values
        return whole

    def observed(self, observer: Observer | None) -> Observer | None:
        """Return an observer of rounds that shows them with every row and column of the answers."""
        if observer is None or (self.strangers is None and not len(self.left_out)):
            return observer

        def show(number: int, probabilities: Array) -> None:
            none = np.zeros((len(probabilities), 1), dtype=probabilities.dtype)
            stranger = np.eye(probabilities.shape[1] + 1)[-1]
            observer(number, self.spread(np.hstack([probabilities, none]), stranger))

        return show
