"""How an estimator for one shared space answers "none of these", with labelled rows or without."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.rows.labelled import Rows
from unseen.statistics.distant_rows import DistantRows
from unseen.statistics.strangers import FEWEST_CLASSES
from unseen.transductive._strangers import StrangerAnswers
from unseen.typing import Array, Codes, Mask


class DistantStrangers(StrangerAnswers):
    """Strangers of an estimator with a ``stranger_score``, which needs no labelled row.

    A share of strangers that is given decides how many of the most distant rows are called; without
    it, rehearsals on labelled rows do.
    """

    confidence_: Array
    start_: Array
    transduction_: Array

    def _found(
        self, labelled: Rows, seen: Array, classes: Array, pool: Array, share: float | None
    ) -> Any:
        if share is not None:
            distances: Array = self.stranger_score(pool)  # type: ignore[attr-defined]
            return DistantRows.of(distances, share)
        if len(classes) < FEWEST_CLASSES:
            raise ValueError(
                f"strangers='auto' of {type(self).__name__} learns how many strangers there are from "
                f"labelled rows of at least {FEWEST_CLASSES} classes. Got {len(classes)}. Give the "
                "share of rows that may belong to no candidate, as strangers=0.1."
            )
        return super()._found(labelled, seen, classes, pool, share)

    def _seen_by(self, found: Any, X: Any) -> Array:
        if found.judges_rows:
            return super()._seen_by(found, X)
        return np.asarray(self.stranger_score(X))  # type: ignore[attr-defined]

    def _pool_labels(self, X: Array, pool: Codes) -> Array:
        return self.transduction_[pool]

    def _note_left_out(self, X: Array, left_out: Mask, pool: Codes) -> None:
        super()._note_left_out(X, left_out, pool)
        classes, vectors = self._resolve()  # type: ignore[attr-defined]
        P: Array = self.predict_proba(X[left_out])  # type: ignore[attr-defined]
        first: Array = self._first_scores(X[left_out], vectors)  # type: ignore[attr-defined]
        self.transduction_ = _merged(self.transduction_, classes[P.argmax(axis=1)], left_out)
        self.start_ = _merged(self.start_, classes[first.argmax(axis=1)], left_out)
        self.confidence_ = _merged(self.confidence_, P.max(axis=1), left_out[pool])


def _merged(of_others: Array, of_left_out: Array, left_out: Mask) -> Array:
    """Return one entry a row, of the rows that were left out and of the others."""
    merged = np.empty(len(left_out), dtype=np.result_type(of_others, of_left_out))
    merged[~left_out], merged[left_out] = of_others, of_left_out
    return merged
