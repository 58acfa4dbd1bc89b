"""How an estimator answers "none of these": fit, find strangers, fit again without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from unseen.exceptions import AdaptationWarning
from unseen.inputs import chunked, read_rows, whole_fit
from unseen.rows.labelled import Rows
from unseen.semantics import place_among, read_labels
from unseen.statistics.strangers import fit_strangers
from unseen.transductive.rounds import Observer
from unseen.typing import UNLABELLED, Array, Codes, Label, Mask, RowValues

OTHER_DOMAIN = (
    "The pool is of another domain than the labelled rows: its classes lie far from where they were "
    "expected, so rehearsals cannot tell strangers, and none is called. stranger_proba_ orders rows by "
    "how likely they are strangers; to call some, give their share, as in strangers=0.1."
)

Fit = Callable[[Any, Any, Any, Mapping[int, Any] | None, Observer | None], Any]
"""Fits the estimator: X, y, sample_weight, known rows of the pool, and who observes the rounds."""


class StrangerAnswers:
    """Answers of an estimator with the parameters ``strangers`` and ``unknown``.

    Attributes
    ----------
    stranger_proba_ : array of shape (N,)
        The probability of each row of X to belong to no candidate; 0 for labelled and known rows.
    """

    strangers: Any
    unknown: Any
    strangers_: Any
    stranger_proba_: Array
    labelled_round_: Any

    def _fit_beside_strangers(
        self,
        X: object,
        y: object,
        weights: object,
        known: Mapping[int, object] | None,
        observer: Observer | None,
    ) -> None:
        """Fit twice, the second time without the rows that are called strangers; X is in memory."""
        with whole_fit(self, X):  # type: ignore[arg-type]
            self._fit_apart(self._fit_once, X, y, weights, known, observer)

    def _fit_once(
        self, X: object, y: object, weights: object, known: Any, observer: Observer | None
    ) -> None:
        """Fit as if every row of the pool belonged to a candidate."""
        read = self._read(X, y, weights)  # type: ignore[attr-defined]
        split = self._fit_read(read, None, known, observer)  # type: ignore[attr-defined]
        self._rehearse(split.rows, split.pool)  # type: ignore[attr-defined]

    def predict(self, X: object) -> Any:
        """Return the candidate with the highest score for each row, or the label for unknown."""
        labels = super().predict(X)  # type: ignore[misc]
        found = getattr(self, "strangers_", None)
        if found is None:
            return labels
        return replaced(labels, found.called(self._seen_by(found, X)), self._unknown(labels))

    def stranger_proba(self, X: Any) -> Array:
        """Return the probability of each row to belong to no candidate; 0 with strangers=None."""
        found = getattr(self, "strangers_", None)
        if found is None:
            return np.zeros(len(read_rows(self, X)))
        return np.asarray(found.probabilities(self._seen_by(found, X)))

    def _unknown(self, labels: Array) -> object:
        if self.unknown is not None:
            return self.unknown
        return "unknown" if labels.dtype.kind in "US" else UNLABELLED

    def _stranger_share(self) -> float | None:
        """Return the share of strangers that the user gave, None where it is learned."""
        value = self.strangers
        if isinstance(value, str) and value == "auto":
            return None
        if isinstance(value, Real) and 0 < float(value) < 1:
            return float(value)
        self._refuse("strangers", "None, 'auto' or a share between 0 and 1")  # type: ignore[attr-defined]
        raise AssertionError

    def _fit_apart(
        self, fit: Fit, X: Any, y: object, weights: Any, known: Any, observer: Observer | None
    ) -> None:
        """Fit, find the strangers of the pool, and fit again without those that are called so.

        The observer sees the rounds of the first fit, which has all rows of the pool.
        """
        share = self._stranger_share()
        if chunked(X) is not None:
            raise ValueError(
                f"{type(self).__name__} looks for strangers in rows in memory only, and X comes in "
                "chunks. Give np.asarray(X), or set strangers=None."
            )
        self.strangers_ = None
        if y is None and not self.needs_labelled_rows:  # type: ignore[attr-defined]
            y = np.full(len(X), None, dtype=object)
        fit(X, y, weights, known, observer)
        X = np.asarray(read_rows(self, X))
        classes, codes = read_labels(y, self._marks_unlabelled())  # type: ignore[attr-defined]
        pool = np.flatnonzero(codes == UNLABELLED)
        self.stranger_proba_ = np.zeros(len(X))
        if not len(pool):
            return
        table = self._table()  # type: ignore[attr-defined]
        classes = classes if len(classes) else table.classes[:0]
        seen = table.vectors[table.positions(classes)]
        labelled, certain = Rows(X, codes).labelled(), pool[list(known or {})]
        found = self._found(labelled, seen, classes, X[pool], share)
        called, odds = self._judged(found, X, pool, certain)
        if called.any() and self._fits_without_called():
            fit(*_without(called, X, y, weights), _renumbered(known, called[pool]), None)
            self._note_left_out(X, called, pool)
            if not found.judges_rows:  # it judged distances to the classes of the first fit
                found = self._found(labelled, seen, classes, X[pool], share)
                called, odds = self._judged(found, X, pool, certain)
        if share is None and found.other_domain:
            warnings.warn(OTHER_DOMAIN, AdaptationWarning, stacklevel=4)
        best = self._pool_labels(X, pool)
        labels = np.empty(len(X), dtype=np.result_type(classes, best))
        labels[codes != UNLABELLED], labels[pool] = classes[codes[codes != UNLABELLED]], best
        labels[certain] = list((known or {}).values())
        self.strangers_, self.transduction_ = found, replaced(labels, called, self._unknown(labels))
        self.stranger_proba_ = odds

    def _judged(self, found: Any, X: Array, pool: Codes, certain: Codes) -> tuple[Mask, Array]:
        """Tell which rows of X are called strangers, and how likely each is one."""
        called, odds = np.zeros(len(X), dtype=bool), np.zeros(len(X))
        looked_at = self._seen_by(found, X[pool])
        called[pool], odds[pool] = found.called(looked_at), found.probabilities(looked_at)
        called[certain], odds[certain] = False, 0.0
        return called, odds

    def _found(
        self, labelled: Rows, seen: Array, classes: Array, pool: Array, share: float | None
    ) -> Any:
        """Learn what tells strangers."""
        candidates, vectors = self._resolve()  # type: ignore[attr-defined]
        own = place_among(candidates, classes)
        return fit_strangers(labelled, pool, seen, vectors, own, share)

    def _seen_by(self, found: Any, X: Any) -> Array:
        """Return what ``strangers_`` looks at: the rows."""
        return np.asarray(read_rows(self, X))

    def _pool_labels(self, X: Array, pool: Codes) -> Array:
        """Return the best candidate for each row of the pool."""
        best: Array = self.predict_proba(X[pool]).argmax(axis=1)  # type: ignore[attr-defined]
        return np.asarray(self.classes_[best])  # type: ignore[attr-defined]

    def _note_left_out(self, X: Array, left_out: Mask, pool: Codes) -> None:
        """Give attributes with one entry a row an entry for those that the last fit left out."""
        if hasattr(self, "labelled_round_"):
            rounds = np.full(len(left_out), -1, dtype=np.intp)
            rounds[~left_out], self.labelled_round_ = self.labelled_round_, rounds

    def _fits_without_called(self) -> bool:
        """Tell whether a second fit leaves out the rows that are called: those that it learns from."""
        return bool(self.learns_from_pool)  # type: ignore[attr-defined]


def replaced(labels: Array, which: Mask, label: object) -> Array:
    """Return labels with some of them replaced, in a type that holds both."""
    out = labels.astype(np.result_type(labels, np.asarray(label)))
    out[which] = label
    return out


def _without(called: Mask, X: Array, y: object, weights: RowValues) -> tuple[Array, Any, Any]:
    kept = np.flatnonzero(~called)
    return X[kept], np.asarray(y)[kept], None if weights is None else np.asarray(weights)[kept]


def _renumbered(known: Mapping[int, Label] | None, called: Mask) -> dict[int, Any] | None:
    """Return known rows of the pool by their number among the rows that are left."""
    if not known:
        return None
    place = np.cumsum(~called) - 1
    return {int(place[row]): label for row, label in known.items()}
