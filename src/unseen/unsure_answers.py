"""What to do where answers are unsure: give a set of candidates, or ask a person about a few rows."""

from __future__ import annotations

import numpy as np

from unseen.statistics.review_queue import rows_to_review
from unseen.typing import Array, Codes, Mask


class UnsureAnswers:
    """Prediction sets and a queue of rows to review, from the probabilities of an estimator."""

    set_masses_: Array | None = None  # sorted; of the classes above the true one, in rehearsals
    _rehearses: bool = True  # not where an authors' form is measured and timed: rehearsals are ours

    def predict_set(self, X: object, coverage: float = 0.9) -> Mask:
        """Return for each row the smallest set of candidates that should hold the true class.

        Split-conformal sets: candidates are taken from the likeliest on, until those above the next one
        have more probability than in ``coverage`` of the rows of rehearsals, and of nearly as many rows
        of the hardest rehearsal. The best candidate is always in. Nothing is guaranteed where the rows
        are unlike those of the rehearsals; after a fit without rehearsals the probabilities are taken
        at their word.

        A. Angelopoulos and S. Bates, "A gentle introduction to conformal prediction and
        distribution-free uncertainty quantification", 2021, Section 2.1 (adaptive prediction sets).

        Parameters
        ----------
        X : array of shape (N, p)
        coverage : float in (0, 1)
            How often a set should hold the true class.

        Returns
        -------
        array of shape (N, L), bool
            Columns as in ``classes_``.

        Examples
        --------
        >>> from unseen import ESZSL
        >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "elk": [0, 2]}
        >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
        >>> model = ESZSL(semantics, candidates="all").fit(X, ["cat", "cat", "dog", "dog"])
        >>> model.predict_set([[0.8, 0.9], [1.0, 0.0]]).shape
        (2, 4)
        """
        if not isinstance(coverage, (float, np.floating)) or not 0 < coverage < 1:
            raise ValueError(
                "The 'coverage' of predict_set must be a number between 0 and 1. "
                f"Got {coverage!r} instead."
            )
        P: Array = np.asarray(self.predict_proba(X))  # type: ignore[attr-defined]
        return self._likeliest(P, float(coverage))

    def _likeliest(self, P: Array, coverage: float) -> Mask:
        """Return the prediction sets of rows with these probabilities."""
        order = np.argsort(-P, axis=1, kind="stable")
        ranked = np.take_along_axis(P, order, axis=1)
        above = np.cumsum(ranked, axis=1) - ranked
        inside = np.empty(P.shape, dtype=bool)
        np.put_along_axis(inside, order, above <= self._mass_limit(coverage) + 1e-12, axis=1)
        return inside

    def review(self, X: object, n: int = 20) -> Codes:
        """Return which rows of X a person should look at first, the most worthwhile in front.

        Uncertain rows that stand for many others: the most uncertain ones are grouped by which classes
        they are between, and of each of ``n`` groups the row in its middle is taken. A transductive
        method takes the labels back as ``known`` in its ``fit``.

        Parameters
        ----------
        X : array of shape (N, p)
            For example the pool.
        n : int

        Returns
        -------
        array of n row numbers

        Examples
        --------
        >>> from unseen import ESZSL
        >>> semantics = {"cat": [1, 0], "dog": [0, 1], "fox": [1, 1], "elk": [0, 2]}
        >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
        >>> model = ESZSL(semantics, candidates="all").fit(X, ["cat", "cat", "dog", "dog"])
        >>> len(model.review([[0.8, 0.9], [1.0, 0.0], [0.5, 0.5]], n=2))
        2
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"The 'n' of review must be an integer >= 1. Got {n!r} instead.")
        P: Array = np.asarray(self.predict_proba(X))  # type: ignore[attr-defined]
        return rows_to_review(P, int(n))

    def _mass_limit(self, coverage: float) -> float:
        """Return how much probability the classes above one in the set may have together."""
        masses = self.set_masses_
        if masses is None or not len(masses):
            return coverage
        place = int(np.ceil((len(masses) + 1) * coverage)) - 1  # the conformal quantile
        return 1.0 if place >= len(masses) else float(masses[place])
