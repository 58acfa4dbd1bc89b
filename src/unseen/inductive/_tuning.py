"""The one search on class-wise folds, and classifiers that choose by it what is "auto".

In a class-wise fold whole classes are held out, as the unseen classes will be. The setting with the
highest mean per-class accuracy on them is taken; among equals the first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.rows.labelled import FEWEST_CLASSES, Rows, class_folds
from unseen.statistics.held_out import first_best, fit_temperature, mean_temperature
from unseen.typing import Array, Codes

Setting = dict[str, float]

FOLDS = 3
TUNING_ROWS = 4000
"""Rows on which settings are compared: enough to rank them, and cheap."""


class Fold(NamedTuple):
    """Classes that are held out, the others, and the rows that judge."""

    held: Codes
    others: Codes
    rows: Rows
    """Rows of the held-out classes, coded by their place among them."""

    def accuracy(self, scores: Array) -> float:
        """Return the mean per-class accuracy of scores over the held-out classes."""
        judged = self.rows._replace(X=scores.argmax(axis=1) == self.rows.codes)
        return float(np.nanmean(judged.shares_right(len(self.held))))

    def temperature(self, scores: Array) -> float:
        """Return the temperature of scores over the held-out classes."""
        return fit_temperature(scores, self.rows.codes, self.rows.weights)


class Found(NamedTuple):
    """What a search found."""

    best: int
    """The place of the best setting."""
    temperature: float
    """Of its scores on held-out classes: the geometric mean over folds."""


def class_wise_folds(judged: Rows, vectors: Array, folds: int) -> list[Fold]:
    """Deal the classes into folds; ``judged`` are the rows on which held-out classes are judged."""
    everything, made = np.arange(len(vectors)), []
    for held in class_folds(vectors, min(folds, len(vectors) // 2)):
        made.append(Fold(held, np.setdiff1d(everything, held), judged.of_classes(held)))
    return made


def search(folds: Sequence[Fold], answers: Iterable[Iterable[Array]]) -> Found:
    """Return the best setting.

    Parameters
    ----------
    folds : sequence of Fold
    answers : iterable
        For each fold, the scores of its rows over its held-out classes under each setting in turn.
    """
    scores = [list(answered) for answered in answers]
    pairs = list(zip(folds, scores, strict=True))
    best = first_best(np.array([[fold.accuracy(S) for S in answered] for fold, answered in pairs]))
    return Found(best, mean_temperature(fold.temperature(answered[best]) for fold, answered in pairs))


class TunedClassifier(ZeroShotClassifier):
    """A classifier that chooses what is "auto" by per-class accuracy on held-out seen classes.

    A subclass writes ``search_space``, ``_prepare`` (what all settings share) and ``_solve``. The
    setting in use is kept as ``<name>_``.
    """

    _tuning_rows_at_most = TUNING_ROWS

    @classmethod
    @abstractmethod
    def search_space(cls) -> dict[str, tuple[float, ...]]:
        """Return the values that "auto" tries, by parameter; also a grid for ``ClassWiseSearch``."""

    def _searched(self) -> dict[str, tuple[float, ...]]:
        """Return the part of the search space that matters with the other parameters as they are."""
        return self.search_space()

    def _fallback(self) -> Setting:
        """Return the values in use where nothing can be held out: the middle of each list."""
        return {name: values[len(values) // 2] for name, values in self._searched().items()}

    @abstractmethod
    def _prepare(self, rows: Rows, vectors: Array) -> Any:
        """Compute what does not depend on the setting."""

    @abstractmethod
    def _solve(self, prepared: Any, setting: Setting) -> None:
        """Learn with this setting; leaves all that ``_scores`` needs on ``self``."""

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        setting, temperature = self._choose(rows, vectors, held)
        self._solve(self._prepare(rows, vectors), setting)
        for name, value in setting.items():
            setattr(self, f"{name}_", value)
        return temperature

    def _chosen(self) -> Setting:
        return {name: getattr(self, f"{name}_") for name in self._searched()}

    def _settings_to_rehearse(self, rows: float, classes: float) -> Mapping[str, object]:
        return dict(self._chosen())

    def _choose(self, rows: Rows, vectors: Array, held: Rows | None) -> tuple[Setting, float | None]:
        """Return the setting, and the temperature of the held-out scores if there were folds."""
        by_hand = {name: self._number(name) for name in self._searched()}
        fixed = {name: value for name, value in by_hand.items() if value is not None}
        free = {n: v for n, v in self._searched().items() if n not in fixed}
        one_hot = self.semantics is None
        if not free or one_hot or len(vectors) < FEWEST_CLASSES:
            return self._fallback() | fixed, None
        grid = [dict(zip(free, values, strict=True)) | fixed for values in product(*free.values())]
        learned, judged = self._tuning_rows(rows, held, len(vectors))

        def answers(fold: Fold) -> Iterable[Array]:
            prepared = self._prepare(learned.of_classes(fold.others), vectors[fold.others])
            for setting in grid:
                self._solve(prepared, setting)
                yield self._scores(fold.rows.X, vectors[fold.held])

        folds = class_wise_folds(judged, vectors, FOLDS)
        chosen = search(folds, map(answers, folds))
        return grid[chosen.best], chosen.temperature

    def _tuning_rows(self, rows: Rows, held: Rows | None, classes: int) -> tuple[Rows, Rows]:
        """Return the rows to learn from, and those to judge by, in the folds."""
        thin = rows.thinned(-(-self._tuning_rows_at_most // classes))
        return (thin, thin) if held is None else (rows, held)
