"""The generalised settings: answers among seen and unseen classes, by two protocols of the field."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen import CalibratedStacking
from unseen.datasets import ZeroShotDataset
from unseen.typing import Array

MIXED, UNSEEN_KNOWN, OFFSET = "gzsl", "gzsl known", "gzsl offset"
GENERALISED = {
    MIXED: "mixed pool",
    UNSEEN_KNOWN: "unseen rows known as such",
    OFFSET: "inductive, calibrated offset",
}
"""Setting → its protocol. In a mixed pool a transductive method does not know which unlabelled rows are
of unseen classes. Where they are known as such, its pool are the unseen rows, and only its answers are
among all classes. An inductive method sees no pool; with the offset it is
:class:`~unseen.CalibratedStacking`."""


def applies(setting: str, transductive: bool) -> bool:
    """Tell whether a method of this kind has cells of a setting of its own."""
    return {UNSEEN_KNOWN: transductive, OFFSET: not transductive}.get(setting, True)


def protocol(setting: str, transductive: bool) -> str:
    """Return how a method of this kind learned in a setting, in words."""
    return GENERALISED[setting] if transductive or setting == OFFSET else "inductive"


def pool_rows(setting: str, data: ZeroShotDataset) -> Array:
    """Return the rows that a transductive method gets without labels."""
    if setting == MIXED:
        return np.concatenate([data.test_seen, data.test_unseen])
    return data.test_unseen


def with_offset(model: Any, setting: str) -> Any:
    """Return what is fitted: in the setting of the offset, the method inside a wrapper."""
    return CalibratedStacking(model) if setting == OFFSET else model


def answering_among(model: Any, setting: str) -> Any:
    """Return a fitted model that answers among all classes, whatever it learned among."""
    return model.set_params(candidates="all") if setting == UNSEEN_KNOWN else model
