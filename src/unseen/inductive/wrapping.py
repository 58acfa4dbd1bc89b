"""What meta-estimators share: parameters and scores are those of the estimator that they wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from unseen.base import ZeroShotClassifier
from unseen.inductive.eszsl import ESZSL
from unseen.statistics.scorer import Scorer
from unseen.typing import Array, CandidateClasses, RowValues


def wrapped(meta: Any) -> Any:
    """Return the estimator inside; ESZSL when none was given."""
    return ESZSL() if meta.estimator is None else meta.estimator


class WrappingClassifier(ZeroShotClassifier):
    """A classifier around an ``estimator``, whose fitted clone ``estimator_`` gives the scores."""

    estimator: ZeroShotClassifier
    estimator_: Any

    def _parameters(self) -> tuple[object, Any]:
        """Return the semantics and candidates in force: its own, or those of the estimator inside."""
        semantics, candidates = wrapped(self)._parameters()
        return (
            semantics if self.semantics is None else self.semantics,
            candidates if self.candidates is None else self.candidates,
        )

    def _scores(self, X: Array, vectors: Array) -> Array:
        return np.asarray(self.estimator_._scores(X, vectors))

    def _clone(self, candidates: CandidateClasses = None) -> ZeroShotClassifier:
        """Return an unfitted clone of the estimator inside, with the parameters in force."""
        semantics, in_force = self._parameters()
        model: ZeroShotClassifier = clone(wrapped(self))
        model.set_params(semantics=semantics, candidates=in_force if candidates is None else candidates)
        return model

    def _adopt(self, model: ZeroShotClassifier) -> None:
        """Answer with a fitted model and its temperature."""
        self.estimator_ = model
        self.temperature_, self.calibration_ = model.temperature_, model.calibration_

    def _take_calibration(self, model: ZeroShotClassifier) -> None:
        """Answer with the probabilities and prediction sets of the estimator inside."""
        for name in ("temperature_", "name_doubt_", "calibration_", "set_masses_"):
            setattr(self, name, getattr(model, name))

    @property
    def _shows_bad_values(self) -> bool:  # type: ignore[override]
        return bool(self.estimator_._shows_bad_values)

    def _scorer(self, vectors: Array) -> Scorer:
        scorer: Scorer = self.estimator_._formula(vectors)
        return scorer

    def _label_embedding(self, X: object) -> RowValues:
        embedding: RowValues = self.estimator_._label_embedding(X)
        return embedding

    def _semantic_width(self) -> int:
        return int(self.estimator_._semantic_width())
