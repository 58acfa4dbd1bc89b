"""One pass over the features, block by block, for everything that the auditor's checks need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unseen.datasets.record import ZeroShotDataset
from unseen.datasets.splits import PARTS
from unseen.typing import Array

_BLOCK_BYTES = 2**25


@dataclass(frozen=True)
class Statistics:
    """The statistics of one pass over ``X``.

    ``norms`` is the length of each row, NaN where it is not finite; ``means`` holds, for the
    classes at ``trained`` in the class table, the mean of their finite training rows;
    ``mean`` and ``spread`` are, for each part, those of its columns, and ``negative`` the
    fraction of its values below zero.
    """

    norms: Array
    not_finite: Array
    trained: Array
    means: Array
    mean: dict[str, Array]
    spread: dict[str, Array]
    negative: dict[str, float]


def measure(dataset: ZeroShotDataset) -> Statistics:
    """Read ``X`` once, in blocks of about 32 MB, and return its statistics."""
    rows, width = dataset.X.shape
    count = len(dataset.semantics)
    groups = _groups(dataset)
    sums, sizes = np.zeros((count + len(PARTS), width)), np.zeros(count + len(PARTS))
    squares = np.zeros((len(PARTS), width))
    norms, negative = np.empty(rows), np.empty(rows)
    step = max(1, _BLOCK_BYTES // (8 * width))
    for start in range(0, rows, step):
        here = slice(start, start + step)
        block = np.asarray(dataset.X[here], dtype=np.float64)
        negative[here] = (block < 0).mean(axis=1)
        square = block**2
        norms[here] = np.sqrt(square.sum(axis=1))
        broken = ~np.isfinite(norms[here])
        block[broken], square[broken] = 0, 0
        member = groups[here].T.multiply(~broken).tocsr()
        sums += member @ block
        squares += member[count:] @ square
        sizes += member.sum(axis=1)
    trained = np.flatnonzero(sizes[:count])
    totals = np.maximum(sizes[count:], 1)[:, None]
    mean = sums[count:] / totals
    spread = np.sqrt(np.maximum(squares / totals - mean**2, 0))
    return Statistics(
        norms=np.where(np.isfinite(norms), norms, np.nan),
        not_finite=np.flatnonzero(~np.isfinite(norms)),
        trained=trained,
        means=sums[trained] / sizes[trained, None],
        mean=dict(zip(PARTS, mean, strict=True)),
        spread=dict(zip(PARTS, spread, strict=True)),
        negative={part: _mean(negative[getattr(dataset, part)]) for part in PARTS},
    )


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else 0.0


def _groups(dataset: ZeroShotDataset) -> Any:
    """Return, row by row, membership of each class (training rows only), then of each part."""
    import scipy.sparse  # loads slowly, and only an audit needs it

    rows, count = len(dataset.y), len(dataset.semantics)
    train = np.unique(dataset.train)
    places = [(train, dataset.semantics.positions(dataset.y[train]))]
    for column, part in enumerate(PARTS, count):
        members = np.unique(getattr(dataset, part))
        places.append((members, np.full(len(members), column)))
    at, columns = (np.concatenate(values) for values in zip(*places, strict=True))
    shape = (rows, count + len(PARTS))
    return scipy.sparse.csr_array((np.ones(len(at)), (at, columns)), shape=shape)


def rank_of_own_class(means: Array, vectors: Array) -> float:
    """Return how well vectors predict class means: 0 perfectly, 0.5 by chance.

    Leave one class out, regress the mean features of the others on their vectors (ridge), predict
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
    leverage = np.diag(hat)[:, None]
    predicted = (hat @ targets - leverage * targets) / np.maximum(1 - leverage, 1e-9)
    score = _unit(predicted) @ _unit(targets).T
    better = (score > np.diag(score)[:, None]).sum(axis=1)
    return float((better / max(count - 1, 1)).mean())


def _unit(rows: Array) -> Array:
    unit: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return unit
