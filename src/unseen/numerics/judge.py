"""May a pool teach a model whose rounds lean to equal class shares? Judged with no label of it.

The judge is the same whatever the model: Gaussian classes in a sketch of the features, adapted to the
pool and, in rehearsal, to held-out seen classes in its place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unseen.numerics.chunks import Chunks
from unseen.numerics.folds import Rows, at_places, drawn
from unseen.numerics.positive import lower_factor, lower_inverse
from unseen.numerics.rehearsal import (
    FEWEST_TO_REHEARSE,
    STRICT_DEVIATIONS,
    observe,
    rehearse,
    seen_model,
)
from unseen.numerics.rows import blocks, class_sums, class_weights, gram
from unseen.numerics.space import FEW, to_be_powered
from unseen.numerics.whitening import power_normalise

Array = npt.NDArray[Any]

COLUMNS = 256
"""Features of the sketch: the first principal directions of the labelled rows."""

MOST_ROWS = 3000
"""Labelled rows, and rows of the pool, that the judge looks at."""

REHEARSALS = 9


class Judgement(NamedTuple):
    """Whether to adapt, and what speaks against it."""

    adapt: bool
    alarm: str | None
    """"uneven" or "rehearsal"."""
    evenness: float
    """Of the pool; see :func:`unseen.numerics.evaluation.evenness`."""
    least_evenness: float
    """Below this, classes are missing or rare."""

    @property
    def reason(self) -> str:
        """What speaks against adapting, in words."""
        if self.alarm == "uneven":
            return (
                "its rows look too uneven over the candidates, some of which may have no row "
                f"(evenness {self.evenness:.2f}, {self.least_evenness:.2f} needed)"
            )
        return "rehearsals with pools of its size lost accuracy on held-out seen classes"


def judge(rows: Rows, pool: Any, seen: Array, vectors: Array) -> Judgement | None:
    """Judge a pool whose candidates are all unseen; None where too few classes can be rehearsed.

    Parameters
    ----------
    rows : Rows
        The labelled rows.
    pool : array or chunks of shape (M, p)
    seen, vectors : arrays of shape (K, q) and (L, q)
        Semantics of the seen classes and of the candidates.
    """
    K, L = len(seen), len(vectors)
    if K < FEWEST_TO_REHEARSE or L < 2 or not len(pool):
        return None
    rng = np.random.default_rng(0)
    share = min(1.0, MOST_ROWS / len(rows.X))
    some = rows.share(share, rng)
    few = np.sort(drawn(len(pool), MOST_ROWS, rng))
    if isinstance(pool, Chunks):
        pool, few = at_places(pool, few), np.arange(len(few))
    some, Z = sketched(some, pool, few)
    X = some.X
    moments = gram(X, some.weights)
    sums = class_sums(X, some.codes, K, some.weights)
    counts = class_weights(some.codes, K, some.weights)
    model = seen_model(moments, sums, counts, seen, None, X.dtype)
    report = rehearse(some, seen, moments, None, L, len(pool), REHEARSALS)
    prior = model.prior(vectors, np.full(L, -1), False)
    evenness, shift = observe(model.whitening(Z), prior, report)
    advice = report.verdict(evenness, shift, True, STRICT_DEVIATIONS)
    adapt = advice.adapt and advice.alarm is None
    return Judgement(adapt, advice.alarm, evenness, report.least_evenness)


def sketched(rows: Rows, pool: Array, few: Array) -> tuple[Rows, Array]:
    """Return labelled rows, and those rows of the pool, in few features; ``rows`` are overwritten.

    Powered where features are many, and in the first principal directions of the labelled rows where
    these are many, too. Block by block: a copy of all rows would be the largest thing that a fit makes.
    """
    powered = to_be_powered(rows.X.shape[1])
    for part in blocks(len(rows.X) if powered else 0, FEW):
        rows.X[part] = power_normalise(rows.X[part])
    basis = first_directions(rows.X) if min(rows.X.shape) > COLUMNS else None
    Z = np.empty((len(few), rows.X.shape[1] if basis is None else COLUMNS), dtype=pool.dtype)
    for part in blocks(len(few), FEW):
        block = pool[few[part]]
        block = power_normalise(block) if powered else block
        Z[part] = block if basis is None else block @ basis
    return (rows if basis is None else rows._replace(X=rows.X @ basis)), Z


def first_directions(X: Array) -> Array:
    """Return an orthonormal basis (p, COLUMNS) near the first principal directions of the rows.

    One step of subspace iteration from random directions; the judge needs no singular values.
    """
    rng = np.random.default_rng(0)
    start = rng.standard_normal((X.shape[1], COLUMNS)).astype(X.dtype)
    basis: Array = (X.T @ (X @ start)).astype(float)
    try:  # by factors of BᵀB, twice: as orthonormal as by reflections, in a quarter of the time
        for _ in range(2):
            basis = basis @ lower_inverse(lower_factor(basis.T @ basis)).T
    except np.linalg.LinAlgError:
        basis = np.linalg.qr(basis)[0]
    return basis.astype(X.dtype)
