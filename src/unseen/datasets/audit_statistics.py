"""One pass over the features, block by block: all that the auditor's checks need of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.splits import PARTS

Array = npt.NDArray[Any]

_BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class Statistics:
    """What one pass over ``X`` found.

    ``norms`` is the length of each row, NaN where it is not finite; ``means`` holds, for the
    classes at ``trained`` in the class table, the mean of their finite training rows;
    ``mean`` and ``spread`` are, for each part, those of its columns.
    """

    norms: Array
    not_finite: Array
    trained: Array
    means: Array
    mean: dict[str, Array]
    spread: dict[str, Array]


def measure(dataset: ZeroShotDataset) -> Statistics:
    """Read ``X`` once, in blocks of about 32 MB, and return its statistics."""
    rows, width = dataset.X.shape
    classes = dataset.semantics.positions(dataset.y)
    groups = {part: np.zeros(rows, dtype=bool) for part in PARTS}
    for part in PARTS:
        groups[part][getattr(dataset, part)] = True
    sums = np.zeros((len(dataset.semantics), width))
    counts = np.zeros(len(dataset.semantics))
    norms, finite = np.empty(rows), np.empty(rows, dtype=bool)
    moments = {part: np.zeros((2, width)) for part in PARTS}
    step = max(1, _BLOCK_BYTES // (8 * width))
    for start in range(0, rows, step):
        here = slice(start, start + step)
        block = np.asarray(dataset.X[here], dtype=np.float64)
        finite[here] = np.isfinite(block).all(axis=1)
        block = np.where(finite[here, None], block, 0.0)
        norms[here] = np.where(finite[here], np.linalg.norm(block, axis=1), np.nan)
        for part in PARTS:
            chosen = block[groups[part][here] & finite[here]]
            moments[part] += [chosen.sum(axis=0), (chosen**2).sum(axis=0)]
        usable = groups["train"][here] & finite[here]
        one_hot = _one_hot(classes[here], usable, len(counts))
        sums += one_hot @ block
        counts += np.asarray(one_hot.sum(axis=1)).ravel()
    trained = np.flatnonzero(counts)
    sizes = {part: max(1, int((groups[part] & finite).sum())) for part in PARTS}
    mean = {part: moments[part][0] / sizes[part] for part in PARTS}
    return Statistics(
        norms=norms,
        not_finite=np.flatnonzero(~finite),
        trained=trained,
        means=sums[trained] / counts[trained, None],
        mean=mean,
        spread={
            part: np.sqrt(np.maximum(moments[part][1] / sizes[part] - mean[part] ** 2, 0))
            for part in PARTS
        },
    )


def _one_hot(classes: Array, usable: Array, count: int) -> Any:
    columns = np.flatnonzero(usable)
    ones = np.ones(len(columns))
    return scipy.sparse.csr_array((ones, (classes[columns], columns)), shape=(count, len(classes)))


def rank_of_own_class(means: Array, vectors: Array) -> float:
    """Say how well vectors foretell class means: 0 perfectly, 0.5 by chance.

    Leave one class out, regress the mean features of the others on their vectors (ridge), foretell
    the mean of the class left out, and rank all classes by cosine similarity to it: the mean rank
    of its own class, from 0 (first) to 1 (last). A zero-shot learner has to do just this, so a
    data set where it fails on *seen* classes pairs classes and vectors wrongly.
    """
    centred = vectors - vectors.mean(axis=0)
    centred = centred / max(float(centred.std()), 1e-12)
    design = np.column_stack([centred, np.ones(len(centred))])
    targets = means - means.mean(axis=0)
    count = len(means)
    # hat matrix H = Z (ZᵀZ + λI)⁻¹ Zᵀ, in its K×K form; leave-one-out: (HM − hᵢᵢmᵢ)/(1 − hᵢᵢ)
    gram = design @ design.T
    hat = np.linalg.solve(gram + 0.1 * count * np.eye(count), gram).T
    own = np.diag(hat)[:, None]
    foretold = (hat @ targets - own * targets) / np.maximum(1 - own, 1e-9)
    score = _unit(foretold) @ _unit(targets).T
    better = (score > np.diag(score)[:, None]).sum(axis=1)
    return float((better / max(count - 1, 1)).mean())


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit
