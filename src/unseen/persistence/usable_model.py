"""Whether a model that was read from a file can answer: whoever forges a file can give it any state."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from unseen.typing import Classifier

MOST_FEATURES = 10_000_000
"""Columns of a row. One row of them is made to try a model."""


def check_usable(model: Classifier) -> None:
    """Let a model answer for one row; whatever it raises says that its file was not made by ``save``.

    A model whose candidates leave nothing to answer with is tried with all classes: it becomes usable
    by ``set_params(candidates="all")``.
    """
    columns = model.n_features_in_
    if type(columns) is not int or not 1 <= columns <= MOST_FEATURES:
        raise ValueError(f"it claims rows of {str(columns)[:40]} features")
    trial = _with_candidates(model)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        probabilities = trial.predict_proba(np.ones((1, columns)))
    if np.shape(probabilities) != (1, len(trial.classes_)):
        raise ValueError("it does not give one probability a class")


def _with_candidates(model: Classifier) -> Any:
    try:
        candidates = len(model.classes_)
    except ValueError:
        candidates = 0
    if candidates:
        return model
    trial = copy.copy(model)
    return trial.set_params(candidates="all")
