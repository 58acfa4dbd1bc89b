"""What a pool of another domain changes: its scatter counts in the covariance that whitens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits
from unseen.rows.labelled import Rows
from unseen.statistics import transduction
from unseen.statistics.gaussian_classes import Assignment, Pool
from unseen.statistics.transduction import with_pool
from unseen.statistics.visual_space import seen_statistics


def test_the_scatter_of_the_pool_is_that_about_its_classes() -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 4
    statistics = seen_statistics(Rows(rng.standard_normal((60, 5)), codes), 4, "none")
    X, S, biases = rng.standard_normal((30, 5)), rng.standard_normal((30, 3)), np.array([0.5, 0, -1])
    pool = Pool(X, statistics.whitened(0.2, float))
    Q = softmax(S + biases, axis=1)
    found = with_pool(statistics, pool, Assignment(S, biases, Q, 0.0))
    want = np.zeros((5, 5))
    for k in range(3):
        mean = Q[:, k] @ X / Q[:, k].sum()
        want += ((X - mean) * Q[:, [k]]).T @ (X - mean)
    np.testing.assert_allclose(found.scatter(), statistics.scatter() + want, atol=1e-9)
    assert found.freedom == statistics.freedom + 30
    np.testing.assert_array_equal(found.means, statistics.means)


def test_only_a_pool_of_another_domain_is_whitened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_letters_to_digits()
    shown: list[int] = []

    def fitted() -> Any:
        model = SelfPacedPrototypes(data.semantics)
        return model.fit(*data.transductive(), observer=lambda number, _: shown.append(number))

    again = fitted()
    assert shown == list(range(len(again.history_) + 1)), "rounds are numbered on"
    monkeypatch.setattr(transduction, "SHIFTED", np.inf)
    once = fitted()
    assert len(again.history_) > len(once.history_)
    shared = [line.objective for line in again.history_[: len(once.history_)]]
    assert shared == [line.objective for line in once.history_]
    assert not np.allclose(again._space.full_matrix, once._space.full_matrix)
    true = data.y[data.test_unseen]
    right = [(m.transduction_[len(data.train) :] == true).mean() for m in (again, once)]
    assert right[0] >= right[1]
