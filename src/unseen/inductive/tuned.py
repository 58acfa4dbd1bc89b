"""Parameters that are "auto": chosen on class-wise folds out of a small search space."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from typing import Any

import numpy as np

from unseen.base import ZeroShotClassifier
from unseen.inductive.bilinear import FEWEST_CLASSES
from unseen.rows.labelled import Rows, class_folds
from unseen.statistics.evaluation import fit_temperature, per_class_accuracy
from unseen.typing import Array

Setting = dict[str, float]

FOLDS = 3
TUNING_ROWS = 4000
"""Rows on which settings are compared: enough to rank them, and cheap."""


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

    def _choose(self, rows: Rows, vectors: Array, held: Rows | None) -> tuple[Setting, float | None]:
        """Return the setting, and the temperature of the held-out scores if there were folds."""
        by_hand = {name: self._number(name) for name in self._searched()}
        fixed = {name: value for name, value in by_hand.items() if value is not None}
        free = {n: v for n, v in self._searched().items() if n not in fixed}
        one_hot = self._parameters()[0] is None
        if not free or one_hot or len(vectors) < FEWEST_CLASSES:
            return self._fallback() | fixed, None
        grid = [dict(zip(free, values, strict=True)) | fixed for values in product(*free.values())]
        learned, judged = self._tuning_rows(rows, held, len(vectors))
        parts = class_folds(vectors, min(FOLDS, len(vectors) // 2))
        accuracy = np.zeros((len(parts), len(grid)))
        kept_scores: list[list[Array]] = []
        truths = [judged.of_classes(part) for part in parts]
        for f, part in enumerate(parts):
            others = np.setdiff1d(np.arange(len(vectors)), part)
            prepared = self._prepare(learned.of_classes(others), vectors[others])
            X, codes, weights = truths[f]
            kept_scores.append([])
            for i, setting in enumerate(grid):
                self._solve(prepared, setting)
                scores = self._scores(X, vectors[part])
                hits = scores.argmax(axis=1) == codes
                accuracy[f, i] = np.nanmean(per_class_accuracy(codes, hits, len(part), weights))
                kept_scores[-1].append(scores)
        best = int(np.round(accuracy.mean(axis=0), 9).argmax())  # among equals the first
        logs = [
            np.log(fit_temperature(own[best], truth.codes, len(part), truth.weights))
            for own, truth, part in zip(kept_scores, truths, parts, strict=True)
        ]
        return grid[best], float(np.exp(np.mean(logs)))

    def _tuning_rows(self, rows: Rows, held: Rows | None, classes: int) -> tuple[Rows, Rows]:
        """Return the rows to learn from, and those to judge by, in the folds."""
        thin = rows.thinned(-(-self._tuning_rows_at_most // classes))
        return (thin, thin) if held is None else (rows, held)
