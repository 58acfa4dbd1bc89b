"""Rows in a sketch, and class vectors that are rows of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen.rows.labelled import Rows
from unseen.solvers.row_space import SKETCH_COLUMNS
from unseen.statistics.held_out import plan_rehearsals
from unseen.statistics.review import review_pool
from unseen.statistics.seen_model import SeenModel, model_of_sketch, sketched
from unseen.statistics.stranger_signs import behind
from unseen.statistics.strangers import fit_strangers
from unseen.statistics.visual_space import Space


def shared_problem(columns: int) -> tuple[Rows, np.ndarray, Space]:
    """Rows near their class vectors, in one space with them."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(30, columns))
    codes = np.repeat(np.arange(30), 20)
    X = (vectors[codes] + 0.8 * random.normal(size=(600, columns))).astype(np.float32)
    rows = Rows(X, codes)
    return rows, vectors, sketched(rows, X, X)[2]


def predicted(model: SeenModel, vectors: np.ndarray) -> np.ndarray:
    predictor = model.predictor()
    assert predictor is not None
    return predictor(vectors)


@pytest.mark.parametrize("columns", [100, 384])
def test_a_sketch_keeps_the_space_that_rows_and_class_vectors_share(columns: int) -> None:
    """Prototypes of classes that were left out are near their rows, in few directions as in all."""
    rows, vectors, sketch = shared_problem(columns)
    assert (sketch.matrix is not None) == (columns > SKETCH_COLUMNS)
    few = rows._replace(X=sketch(rows.X))
    model = model_of_sketch(few.of_classes(np.arange(20)), vectors[:20], sketch)
    predictor = model.predictor()
    assert predictor is not None
    assert predictor.process.features.shared
    means = np.stack([few.X[few.codes == k].mean(axis=0) for k in range(20, 30)])
    apart = np.linalg.norm(predictor(vectors[20:])[:, None] - means, axis=2)
    np.testing.assert_array_equal(apart.argmin(axis=1), np.arange(10))
    blind = model_of_sketch(few.of_classes(np.arange(20)), vectors[:20, :-1], sketch)
    off = np.linalg.norm(predicted(blind, vectors[20:, :-1]) - means, axis=1)
    assert np.diag(apart).mean() < 0.5 * off.mean()


def test_a_space_behind_a_sketch_is_that_of_rows_as_they_were() -> None:
    rows, _, sketch = shared_problem(384)
    random = np.random.default_rng(1)
    center, matrix = random.normal(size=SKETCH_COLUMNS), random.normal(size=(SKETCH_COLUMNS, 5))
    want = (sketch(rows.X) - center) @ matrix
    space = Space("none", center, matrix)
    np.testing.assert_allclose(behind(sketch, space)(rows.X), want, rtol=1e-3, atol=1e-3)
    X = rows.X[:, :SKETCH_COLUMNS].astype(float)
    narrow = Space("none", np.zeros(SKETCH_COLUMNS), None)
    np.testing.assert_allclose(behind(narrow, space)(X), (X - center) @ matrix)


def wide_problem(order: Any) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
    """Labelled rows and a pool of more columns than a sketch has, turned; vectors of both."""
    random = np.random.default_rng(3)
    vectors = random.normal(size=(30, 12))
    codes = np.repeat(np.arange(30), 40)
    X = vectors[codes] @ random.normal(size=(12, 400)) + 4 * random.normal(size=(1200, 400))
    X, codes = X[order], codes[order]
    seen = codes < 24
    return Rows(X[seen], codes[seen]), X[~seen], vectors[:24], vectors[24:]


def test_what_is_drawn_in_a_sketch_does_not_depend_on_the_order_of_rows() -> None:
    """Its numbers do, by rounding; keys of these would be others altogether."""
    found = []
    for order in (np.arange(1200), np.random.default_rng(0).permutation(1200)):
        rows, pool, seen, vectors = wide_problem(order)
        review = review_pool(rows, pool, seen, vectors, calibrates=True)
        assert review is not None
        strangers = fit_strangers(rows, pool, seen, vectors, np.full(6, -1), None)
        plan = plan_rehearsals(rows, pool, seen, 6, in_directions=True)
        judged = [rehearsal.judged.X for rehearsal in plan.rehearsals]
        numbers = [review.even, review.shares, review.masses, strangers.scale.tail, *map(norms, judged)]
        found.append(numbers)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def norms(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X, axis=1)
