"""The review of a pool, in a sketch: some of its rows, in few directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.rows.chunks import Chunks, blocks
from unseen.rows.labelled import Rows
from unseen.solvers.cholesky import lower_factor, lower_inverse
from unseen.statistics.evaluation import evenness
from unseen.statistics.gaussian_classes import Plan, Pool, adapt
from unseen.statistics.review import FEWEST_TO_REHEARSE, REHEARSALS, Review, rehearse
from unseen.statistics.seen_model import pool_model, seen_model, start_of
from unseen.statistics.visual_space import scaled_rows, seen_statistics, usual_scaling
from unseen.statistics.whitening import Scaling, scaled
from unseen.typing import Array

SKETCH_COLUMNS = 256
"""Features of the sketch: the first principal directions of the labelled rows."""

SKETCH_ROWS = 3000
"""Rows of the pool that the review looks at; rehearsals have as many."""

LEAST_ROWS = 20
"""Labelled rows of a class that it looks at, if there are so many."""


def review_pool(
    rows: Rows, pool: Any, seen: Array, vectors: Array, rehearsals: int = REHEARSALS
) -> Review | None:
    """Review a pool whose candidates are all unseen; None where too few classes can be rehearsed.

    Parameters
    ----------
    rows : Rows
        The labelled rows.
    pool : array or chunks of shape (M, p)
    seen, vectors : arrays of shape (K, q) and (L, q)
        Semantics of the seen classes and of the candidates.
    rehearsals : int
    """
    K, L = len(seen), len(vectors)
    if K < FEWEST_TO_REHEARSE or L < 2 or not len(pool) or not rehearsals:
        return None
    scaling = usual_scaling(rows.X)
    own = pool.constant(0) if isinstance(pool, Chunks) else np.zeros(len(pool), dtype=np.intp)
    few = Rows(pool, own).thinned(SKETCH_ROWS).X
    some: Rows = rows.thinned(max(LEAST_ROWS, -(-len(few) // min(L, K // 3))))
    basis = None
    if min(some.X.shape) > SKETCH_COLUMNS:
        basis = first_directions(scaled_rows(some.thinned(LEAST_ROWS).X, scaling))
    few, some = _sketched(few, scaling, basis), some._replace(X=_sketched(some.X, scaling, basis))
    model = seen_model(seen_statistics(some, K, "none"), seen, None, some.X.dtype)
    review = rehearse(model, some, L, len(few), rehearsals)
    before, sketch = pool_model(model, vectors, np.full(L, -1)), Pool(few, model.space)
    found = adapt(sketch, before.prior, start_of(model, before, sketch, None), Plan())
    return review.of_pool(evenness(found.shares), found.shares)


def _sketched(X: Array, scaling: Scaling, basis: Array | None) -> Array:
    """Return scaled rows in the directions of the basis, block by block."""
    if basis is None:
        return np.asarray(scaled_rows(X, scaling))
    out = np.empty((len(X), basis.shape[1]), dtype=X.dtype)
    for part in blocks(len(X)):
        out[part] = scaled(X[part], scaling) @ basis
    return out


def first_directions(X: Array) -> Array:
    """Return an orthonormal basis (p, SKETCH_COLUMNS) near the first principal directions of the rows.

    One step of subspace iteration from random directions; the review needs no singular values.
    """
    rng = np.random.default_rng(0)
    start = rng.standard_normal((X.shape[1], SKETCH_COLUMNS)).astype(X.dtype)
    basis: Array = (X.T @ (X @ start)).astype(float)
    try:  # by factors of BᵀB, twice: as orthonormal as by reflections, in a quarter of the time
        for _ in range(2):
            basis = basis @ lower_inverse(lower_factor(basis.T @ basis)).T
    except np.linalg.LinAlgError:
        basis = np.linalg.qr(basis)[0]
    return basis.astype(X.dtype)
