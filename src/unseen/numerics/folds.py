"""Class-wise folds: whole classes are held out, as the unseen classes will be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def class_folds(classes: int, folds: int, seed: int = 0) -> list[npt.NDArray[np.intp]]:
    """Deal ``classes`` codes into folds of nearly equal size, at random but repeatably.

    >>> [len(fold) for fold in class_folds(10, 3)]
    [4, 3, 3]
    """
    order = np.random.default_rng(seed).permutation(classes)
    return [np.sort(part) for part in np.array_split(order, folds) if len(part)]
