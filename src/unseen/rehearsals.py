"""Rehearsals: held-out seen classes take the place of the unseen ones, and tell what answers are worth.

The method itself is fitted again without some seen classes, drawn by the content of their vectors, and
answers among them: a transductive method with their rows as its pool, through the same rounds. Their
labels are known, so two things can be read off: by which temperature and which doubt of names the
probabilities agree with how often answers are right, and how much probability the classes had that were
ranked above the true one, which decides how large prediction sets must be.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from unseen.rows.labelled import Rows, content_keys
from unseen.rows.passes import spread
from unseen.semantics import place_among
from unseen.statistics.evaluation import fit_calibration, fit_temperature, sorted_masses
from unseen.statistics.review import SKETCH_COLUMNS, first_directions
from unseen.statistics.review_queue import rows_to_review
from unseen.typing import Array, Codes, Mask

POOL_REHEARSALS, POOL_HELD_SHARE = 4, 1 / 3
"""Rehearsals of a method that learns from a pool, and the share of the seen classes held out, at most.
With a fifth, answers among few classes are too good, and prediction sets too small."""

FOLD_REHEARSALS, FOLD_HELD_SHARE = 5, 1 / 5
"""The same for a method that does not. With a third, too few classes are left to learn from, and the
probabilities too timid. Both were chosen on folds of seen classes of nine data sets (tried: a third, a
fifth, an eighth)."""

LEAST_ROWS, MOST_ROWS = 30, 60
"""Rows of a class that a rehearsal learns from: at least so many, if there are, and at most."""

FEWEST_HELD = 2
"""Classes that are held out at least: with one, every answer is right."""

logger = logging.getLogger(__name__)


class Answered(NamedTuple):
    """Scores of held-out rows over the held-out classes, and the true columns."""

    scores: Array
    codes: Codes
    unit: float
    """The spread of a row's scores, by which scores of two fits are compared: that of the pool where
    there is one, else that of labelled rows over the classes that are answered among."""


class RehearsedAnswers:
    """Probabilities and prediction sets of an estimator, calibrated by rehearsals."""

    temperature_: float
    name_doubt_: float
    calibration_: str
    set_masses_: Array | None = None  # sorted; of the classes above the true one, in rehearsals
    _calibration_rows: ClassVar[int] = 30
    """Rows a class on which a temperature is fitted where no class could be held out."""
    rehearses_in_directions: ClassVar[bool] = False
    """Whether answers are the same for rows in other coordinates: rehearsals then use the first
    principal directions of the rows alone."""

    def predict_set(self, X: object, coverage: float = 0.9) -> Mask:
        """Return for each row the smallest set of candidates that should hold the true class.

        Split-conformal sets: candidates are taken from the likeliest on, until those above the next one
        have more probability than in ``coverage`` of the rows of rehearsals. The best candidate is
        always in. Nothing is guaranteed where the rows are unlike those of the rehearsals; after a fit
        without rehearsals the probabilities are taken at their word.

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
        return self._likeliest(np.asarray(self.predict_proba(X)), float(coverage))  # type: ignore[attr-defined]

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

    def _rehearse(self, rows: Rows, pool: Any = None) -> None:
        """Calibrate probabilities and prediction sets of a fitted estimator, if it can be rehearsed.

        ``rows`` are the labelled rows, ``pool`` those that it learned from without labels.
        """
        self.set_masses_, self.name_doubt_ = None, 0.0
        if vars(self).pop("_is_rehearsal", False) or not self._can_rehearse():
            return
        learns = pool is not None and len(pool) > 0
        answers = rehearsed_answers(self, rows, len(pool) if learns else 0)
        if not answers:
            return
        judged = pool if learns else rows.thinned(LEAST_ROWS).X
        own = spread(self._rows_scores(judged, self._resolve()[1]))  # type: ignore[attr-defined]
        scaled = [(scores / max(unit, 1e-300), codes) for scores, codes, unit in answers]
        found = fit_calibration(scaled)
        if not 0 < found.temperature * own < np.inf:
            return
        self.temperature_, self.name_doubt_ = found.temperature * own, found.doubt
        self.set_masses_ = sorted_masses(scaled, found)
        kind = " as the pool, through the same rounds" if learns else ", in class-wise folds"
        self.calibration_ = f"{len(answers)} rehearsals: held-out seen classes{kind}"

    def _calibrate(self, rows: Rows, vectors: Array, temperature: float | None = None) -> None:
        """Keep the temperature that folds gave, or fit one on the training rows."""
        if temperature is None:
            X, codes, weights = rows.thinned(self._calibration_rows)
            scores = self._scores(X, vectors)  # type: ignore[attr-defined]
            temperature = fit_temperature(scores, codes, len(vectors), weights)
            self.calibration_ = "training rows among the seen classes: optimistic"
        else:
            self.calibration_ = "class-wise folds: scores of held-out seen classes"
        self.temperature_ = temperature

    def _settings_to_rehearse(self, rows: float, classes: float) -> dict[str, Any]:
        """Return the parameters of a rehearsal with these shares of the labelled rows and classes."""
        return {}

    def _can_rehearse(self) -> bool:
        """Tell whether classes can be held out: they have semantics, and answers need their labels."""
        described = self._parameters()[0] is not None  # type: ignore[attr-defined]
        return described and bool(self.needs_labelled_rows)  # type: ignore[attr-defined]


def rehearsed_answers(model: Any, rows: Rows, pool_rows: int) -> list[Answered]:
    """Fit clones of a fitted model without some seen classes; return their answers on these.

    ``pool_rows`` is the size of its pool, 0 if it has none. A rehearsal that cannot be fitted, for
    instance because the classes that are left have one vector, is left out.
    """
    try:
        vectors, candidates = model._seen_vectors(), len(model.classes_)
    except ValueError:  # no candidate yet: one may be added after the fit
        return []
    share, count = (POOL_HELD_SHARE, POOL_REHEARSALS)
    if not pool_rows:
        share, count = FOLD_HELD_SHARE, FOLD_REHEARSALS
    held = min(max(candidates, FEWEST_HELD), int(len(vectors) * share + 1e-9))
    if held < FEWEST_HELD or candidates < 2:
        return []
    size = int(np.clip(round(pool_rows / candidates), 1, MOST_ROWS)) if pool_rows else LEAST_ROWS
    sample: Rows = rows.thinned(max(size, LEAST_ROWS))
    if model.rehearses_in_directions and min(sample.X.shape) > SKETCH_COLUMNS:
        sample = sample._replace(X=sample.X @ first_directions(sample.X))
    answers = []
    for number in range(count):
        out = np.sort(np.argsort(content_keys(vectors, number), kind="stable")[:held])
        try:
            answers.append(_answered(model, rows, sample, out, size, pool_rows > 0))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            logger.debug("rehearsal %s of %s left out: %s", number, type(model).__name__, error)
    return answers


def _answered(model: Any, rows: Rows, sample: Rows, out: Codes, size: int, as_pool: bool) -> Answered:
    """Fit without the classes ``out``; their rows, ``size`` of each, are the pool if ``as_pool``."""
    classes = model.seen_classes_
    kept = np.setdiff1d(np.arange(len(classes)), out)
    learned, judged = sample.of_classes(kept), sample.of_classes(out).thinned(size)
    X, labels, weights = learned.X, classes[kept][learned.codes].astype(object), learned.weights
    if as_pool:
        X = np.concatenate([X, judged.X])
        labels = np.concatenate([labels, np.full(len(judged.X), None)])
        weights = None if weights is None else np.append(weights, np.ones(len(judged.X), weights.dtype))
    settings = model._settings_to_rehearse(len(learned.X) / len(rows.X), len(kept) / len(classes))
    copy = clone(model).set_params(candidates=classes[out].tolist(), **settings)
    copy._is_rehearsal = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy.fit(X, labels, weights)
        scores = np.asarray(copy._candidate_scores(judged.X))
        unit = spread(scores if as_pool else np.asarray(copy._candidate_scores(learned.X)))
    return Answered(scores, place_among(classes[out], copy.classes_)[judged.codes], unit)
