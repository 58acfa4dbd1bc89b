"""Mini-batch descent against a loop over rows, its draws, and the bound on the curvature."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest

from unseen.solvers.gradient_descent import _draws, descend, latent_scores, lipschitz
from unseen.solvers.losses import adaptive_structural_cost, ranking_hinge


def problem(rows: int = 40):
    random = np.random.default_rng(0)
    X, codes = random.normal(size=(rows, 5)), random.integers(4, size=rows)
    return X, codes, random.normal(size=(3, 4)), random.normal(size=(5, 3))


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.3, np.array([0.1, 0.2, 0.3])])
@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_steps_are_those_of_a_loop_over_rows(averaged, decay, ridge):
    X, codes, A, V = problem()
    steps = [0.1, 0.05, 0.02]
    found = descend(
        X, codes, A, ranking_hinge, V, steps,
        batch=8, random=np.random.default_rng(1), decay=decay, ridge=ridge, averaged=averaged,
    )  # fmt: skip
    drawn = np.random.default_rng(1).integers(40, size=(3, 8))
    seen = []
    for step, rows in zip(steps, drawn, strict=True):
        gradient = np.zeros_like(V)
        for x, y in zip(X[rows], codes[rows], strict=True):
            _, taught = ranking_hinge((x @ V @ A)[None], np.array([y]))
            gradient += np.outer(x, taught[0] @ A.T) + 2 * ridge * np.outer(x, x @ V)
        V = V - step * (gradient / 8 + V * decay)
        seen.append(V)
    np.testing.assert_allclose(found, np.mean(seen, axis=0) if averaged else V, atol=1e-12)


def test_a_batch_has_no_more_rows_than_there_are():
    X, codes, A, V = problem(6)
    calls = []

    def counted(scores, codes):
        calls.append(len(scores))
        return adaptive_structural_cost(scores, codes)

    descend(X, codes, A, counted, V, [0.1, 0.1], batch=50, random=np.random.default_rng(0))
    assert calls == [6, 6]


def test_without_steps_the_start_is_returned_and_never_changed():
    X, codes, A, V = problem()
    kept = V.copy()
    found = descend(X, codes, A, ranking_hinge, V, [], batch=8, random=np.random.default_rng(0))
    np.testing.assert_array_equal(found, kept)
    descend(X, codes, A, ranking_hinge, V, [0.1], batch=8, random=np.random.default_rng(0))
    np.testing.assert_array_equal(V, kept)


def test_single_precision_stays():
    X, codes, A, V = problem()
    for start in (V, V[None]):
        found = descend(
            X.astype(np.float32), codes, A, ranking_hinge, start, [0.1],
            batch=8, random=np.random.default_rng(0), decay=0.1, ridge=0.1,
        )  # fmt: skip
        assert found.dtype == np.float32


def test_the_largest_score_of_the_pieces_and_the_piece_that_has_it():
    X, _, A, _ = problem()
    V = np.random.default_rng(2).normal(size=(3, 5, 3))
    scores, best = latent_scores(X, V, A)
    each = np.stack([X @ piece @ A for piece in V])
    np.testing.assert_allclose(scores, each.max(axis=0))
    np.testing.assert_array_equal(best, each.argmax(axis=0))


def test_each_score_teaches_the_piece_that_attained_it():
    X, codes, A, _ = problem()
    V = np.random.default_rng(2).normal(size=(3, 5, 3))
    found = descend(
        X, codes, A, ranking_hinge, V, [0.1],
        batch=8, random=np.random.default_rng(1), ridge=0.2, decay=0.1, averaged=False,
    )  # fmt: skip
    gradient = np.zeros_like(V)
    for row in np.random.default_rng(1).integers(40, size=8):
        scores, best = latent_scores(X[[row]], V, A)
        _, taught = ranking_hinge(scores, codes[[row]])
        for k in range(A.shape[1]):
            gradient[best[0, k]] += taught[0, k] * np.outer(X[row], A[:, k])
        for piece in range(3):
            gradient[piece] += 0.4 * np.outer(X[row], X[row] @ V[piece])
    np.testing.assert_allclose(found, V - 0.1 * (gradient / 8 + 0.1 * V), atol=1e-12)


def test_the_curvature_is_the_mean_length_times_the_largest_eigenvalue():
    X = np.array([[3.0, 4.0], [0.0, 1.0]])
    A = np.diag([2.0, 1.0])
    assert lipschitz(X, A) == pytest.approx(13 * 4)
    assert lipschitz(X, A, ridge=0.5) == pytest.approx(13 * 4.5)
    assert lipschitz(0 * X, A) == np.finfo(float).tiny


def test_the_curvature_of_many_rows_is_that_of_every_nth():
    X = np.arange(12.0)[:, None]
    assert lipschitz(X, np.eye(1), sample=4) == pytest.approx(np.mean([0, 9, 36, 81]))


def test_one_piece_of_the_latent_engine_is_the_plain_engine():
    random = np.random.default_rng(0)
    X, codes, A = random.normal(size=(40, 5)), random.integers(4, size=40), random.normal(size=(3, 4))
    start = random.normal(size=(5, 3))
    same = {"batch": 8, "decay": 0.1, "ridge": 0.2}
    plain = descend(
        X, codes, A, ranking_hinge, start, repeat(0.01, 30), random=np.random.default_rng(1), **same
    )
    latent = descend(
        X, codes, A, ranking_hinge, start[None], repeat(0.01, 30),
        random=np.random.default_rng(1), **same,
    )  # fmt: skip
    np.testing.assert_allclose(latent[0], plain, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_drawn_as_a_generator_draws_them(weighted) -> None:
    weights = np.random.default_rng(0).random(200)
    weights[::3] = 0
    weights = weights if weighted else None
    share = None if weights is None else weights / weights.sum()
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    for steps in (120, 7):  # a second descent goes on with the same generator
        for rows in _draws(200, steps, 21, weights, ours):
            np.testing.assert_array_equal(rows, theirs.choice(200, size=21, p=share))


def test_a_descent_averages_and_decays_nothing_unless_told():
    X, codes, A, V = problem()

    def run(**more):
        random = np.random.default_rng(1)
        return descend(X, codes, A, ranking_hinge, V, [0.1, 0.05], batch=8, random=random, **more)

    np.testing.assert_array_equal(run(), run(decay=0.0, ridge=0.0, averaged=True))
    assert np.abs(run() - run(averaged=False)).max() > 1e-3
    assert np.abs(run() - run(decay=1.0)).max() > 1e-3
    assert np.abs(run() - run(ridge=1.0)).max() > 1e-3


@pytest.mark.parametrize("steps", [50, 51, 120])
def test_as_many_rows_are_drawn_as_there_are_steps(steps):
    for weights in (None, np.ones(30)):
        random = np.random.default_rng(0)
        drawn = list(_draws(30, steps, 4, weights, random))
        assert [rows.shape for rows in drawn] == [(4,)] * steps


def test_weights_count_by_their_shares_whatever_their_sum():
    weights = np.array([1.0, 0.0, 3.0])
    for scale in (1e-3, 1.0, 1e3):
        random = np.random.default_rng(0)
        drawn = np.concatenate(list(_draws(3, 500, 8, scale * weights, random)))
        assert set(drawn.tolist()) == {0, 2}
        assert (drawn == 2).mean() == pytest.approx(0.75, abs=0.03)


def test_a_regulariser_of_some_columns_alone_counts():
    X, codes, A, V = problem()

    def run(decay):
        random = np.random.default_rng(1)
        return descend(X, codes, A, ranking_hinge, V, [0.1], batch=8, random=random, decay=decay)

    difference = run(np.array([0.0, 0.0, 0.5])) - run(0.0)
    np.testing.assert_allclose(difference, -0.1 * 0.5 * V * [0, 0, 1], atol=1e-12)


def test_the_curvature_takes_512_rows_at_most():
    X = np.ones((1024, 1))
    X[1::2] = 7  # every second row is left out
    assert lipschitz(X, np.eye(1)) == 1
