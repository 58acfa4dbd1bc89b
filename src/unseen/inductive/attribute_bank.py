"""What DAP, KDICA and HAT share: attribute classifiers, calibrated on classes that they never saw."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from unseen.inductive._tuning import (
    FOLDS,
    Fold,
    Setting,
    TunedClassifier,
    class_wise_folds,
    search,
)
from unseen.rows.labelled import FEWEST_CLASSES, Rows
from unseen.statistics.attributes import (
    attribute_log_likelihood,
    log_prior,
    platt,
    signs,
    thresholds,
)
from unseen.typing import Array, Codes

Groups = list[tuple[Array, Codes]]
"""Attribute scores (N, M), each with the classes, by place, that they score."""


class AttributeClassifier(TunedClassifier):
    """Attributes from features, classes from attributes.

        score of class k = Σₘ log p(aₘ = aₘₖ | x) − log p(aₘ = aₘₖ)

    An attribute is present in a class if its value is above the mean over the seen classes. The
    classifiers are calibrated (Platt) on seen classes that were held out of their training, since they
    will be asked about unseen ones; the same folds choose what is "auto". A subclass writes
    ``search_space``, ``_prepare``, ``_solve`` and ``_groups``.

    Attributes
    ----------
    threshold_ : array of shape (q,)
        What an attribute must exceed to be present.
    seen_signs_ : array of shape (K, q)
        Which seen class has which attribute, +1 or −1.
    slope_, offset_ : arrays of shape (q,)
        Platt's parameters: log-odds = slope · score + offset.
    """

    threshold_: Array
    seen_signs_: Array
    slope_: Array
    offset_: Array

    @abstractmethod
    def _groups(self, X: Array, vectors: Array) -> Groups:
        """Return attribute scores, not calibrated, for all the classes."""

    def _fit(self, rows: Rows, vectors: Array, held: Rows | None = None) -> float | None:
        self.threshold_ = self._thresholds(vectors)
        present = signs(vectors, self.threshold_)
        setting, temperature = self._choose(rows, vectors, held)
        self._solve(self._prepare(rows, vectors), setting)
        self.seen_signs_ = present
        for name, value in setting.items():
            setattr(self, f"{name}_", value)
        if temperature is None:
            raw = _of_true_class(self._groups(rows.X, vectors), rows.codes)
            self.slope_, self.offset_ = platt(raw, present[rows.codes], rows.weights)
        return temperature

    def _choose(self, rows: Rows, vectors: Array, held: Rows | None) -> tuple[Setting, float | None]:
        """Choose by folds what is "auto", and calibrate on them even where nothing is."""
        by_hand = {name: self._number(name) for name in self._searched()}
        if self.semantics is None or len(vectors) < FEWEST_CLASSES:
            return self._fallback() | {n: v for n, v in by_hand.items() if v is not None}, None
        tries = {n: self._searched()[n] if v is None else (v,) for n, v in by_hand.items()}
        grid = [dict(zip(tries, values, strict=True)) for values in product(*tries.values())]
        learned, judged = self._tuning_rows(rows, held, len(vectors))
        folds = class_wise_folds(judged, vectors, FOLDS)
        answers: list[list[Groups]] = []
        for fold in folds:
            prepared = self._prepare(learned.of_classes(fold.others), vectors[fold.others])
            answers.append([])
            for setting in grid:
                self._solve(prepared, setting)
                answers[-1].append(self._groups(fold.rows.X, vectors[fold.held]))
        present = signs(vectors, self.threshold_)
        platts = [_calibrated(raw, folds, present) for raw in zip(*answers, strict=True)]

        def scores(fold: Fold, answered: list[Groups]) -> Iterable[Array]:
            self.seen_signs_ = present[fold.others]
            for groups, (slope, offset) in zip(answered, platts, strict=True):
                yield self._from_groups(groups, present[fold.held], slope, offset)

        chosen = search(folds, map(scores, folds, answers))
        self.slope_, self.offset_ = platts[chosen.best]
        return grid[chosen.best], chosen.temperature

    def _from_groups(self, groups: Groups, present: Array, slope: Array, offset: Array) -> Array:
        scores = np.empty((len(groups[0][0]), len(present)), dtype=groups[0][0].dtype)
        for raw, classes in groups:
            logits = raw * slope.astype(raw.dtype) + offset.astype(raw.dtype)
            scores[:, classes] = attribute_log_likelihood(logits, present[classes])
        smoothed = self.get_params(deep=False).get("prior", "smoothed") == "smoothed"
        prior = log_prior(self.seen_signs_, present, smoothed)
        return np.asarray(scores - prior.astype(scores.dtype))

    def _thresholds(self, vectors: Array) -> Array:
        """Return the threshold of each attribute: its own mean, or that of the whole table."""
        given = self.get_params(deep=False)
        if given.get("prior", "smoothed") not in ("smoothed", "shares"):
            self._refuse("prior", "'smoothed' or 'shares'")
        binarise = given.get("binarise", "attribute")
        if binarise not in ("attribute", "overall"):
            self._refuse("binarise", "'attribute' or 'overall'")
        if binarise == "attribute":
            return thresholds(vectors)
        return np.full(vectors.shape[1], float(self._table().vectors.mean()))

    def _scores(self, X: Array, vectors: Array) -> Array:
        present = signs(vectors, self.threshold_)
        return self._from_groups(self._groups(X, vectors), present, self.slope_, self.offset_)

    def _semantic_width(self) -> int:
        return len(self.threshold_)


def _of_true_class(groups: Groups, codes: Codes) -> Array:
    """Return for each row the attribute scores that belong to its own class."""
    raw_of_class = np.empty_like(groups[0][0])
    for raw, classes in groups:
        mine = np.isin(codes, classes)
        raw_of_class[mine] = raw[mine]
    return raw_of_class


def _calibrated(answers: Sequence[Groups], folds: list[Fold], present: Array) -> tuple[Array, Array]:
    """Fit Platt's parameters on the attributes of all folds together."""
    raw = [_of_true_class(groups, fold.rows.codes) for groups, fold in zip(answers, folds, strict=True)]
    wanted = [present[fold.held][fold.rows.codes] for fold in folds]
    weights = [fold.rows.weights for fold in folds if fold.rows.weights is not None]
    joined = np.concatenate(weights) if weights else None
    return platt(np.concatenate(raw), np.concatenate(wanted), joined)
