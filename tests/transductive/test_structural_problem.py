"""TASTE's inner problem in the span of few rows against the same problem in all columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unseen.inductive.bilinear import semantic_ridge
from unseen.rows.labelled import Rows
from unseen.rows.passes import class_sums
from unseen.solvers import moments, shared_subspace
from unseen.solvers.moments import Moments, Sums
from unseen.solvers.structural import covariance_metric, frank_wolfe, ridge_by, two_domains
from unseen.transductive._structural_problem import Domain, StructuralProblem
from unseen.typing import Array


def domains(A: Array, B: Array, mu: float) -> tuple[Domain, Domain]:
    """Return both domains in the coordinates that they have."""
    return Domain(A, semantic_ridge(A, mu)), Domain(B, semantic_ridge(B, mu))


@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_few_rows_are_solved_in_their_span_by_the_metric(shrinkage: float | None) -> None:
    """The metric comes from many rows, the problem from few: fast training."""
    random = np.random.default_rng(0)
    many = Rows(random.normal(size=(300, 30)) * np.linspace(0.3, 3, 30), np.arange(300) % 6)
    few = Rows(random.normal(size=(6, 30)), np.arange(6))
    A, B = random.normal(size=(4, 6)), random.normal(size=(4, 3))
    pool, codes, weights = random.normal(size=(3, 30)), np.arange(3), np.full(3, 2.0)
    C, mu = 2.0, 0.5
    metric = covariance_metric(Sums.of(many, 6), shrinkage)
    problem = StructuralProblem(few, *domains(A, B, mu), np.eye(4), Sums.of(few, 6), 9.0)
    problem.labelled_only(1e-6, max_iter=9999)  # as TASTE does: the start knows no metric
    problem.measure(C, shrinkage, Sums.of(many, 6))
    found = problem.with_pseudo_labels(Rows(pool, codes, weights), 1e-7, max_iter=9999)
    solve = two_domains(
        ridge_by(metric, Moments(few.X), C),
        semantic_ridge(A, mu),
        ridge_by(metric, Moments(pool, weights), C),
        semantic_ridge(B, mu),
    )
    whole = frank_wolfe(
        few.X,
        few.codes,
        A,
        solve,
        pseudo_sums=2 * class_sums(pool, codes, 3, weights) @ B.T,
        pseudo_weight=6.0,
        tol=1e-7,
        max_iter=9999,
    )
    assert found.objective == pytest.approx(whole.objective, rel=1e-5)
    np.testing.assert_allclose(found.compatibility, whole.compatibility, atol=2e-3)


def test_rows_that_are_not_trusted_count_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of which most is trusted is not gathered, round after round; what is found is the same."""
    random = np.random.default_rng(0)
    rows = Rows(random.normal(size=(400, 40)), np.arange(400) % 6)
    A, B = random.normal(size=(4, 6)), random.normal(size=(4, 3))
    pool, codes = random.normal(size=(120, 40)), np.arange(120) % 3
    rounds = [
        Rows(pool, codes, random.uniform(0.5, 1.5, size=120) * (np.arange(120) % each > 0))
        for each in (3, 4, 9)
    ]
    monkeypatch.setattr(moments, "LEAST_SUBSPACE_COLUMNS", 0)
    monkeypatch.setattr(moments, "COLUMNS_PER_RIGHT_SIDE", 1)
    monkeypatch.setattr(shared_subspace, "MOST", 1)

    def found(rounds: list[Rows]) -> Any:
        sums = Sums.of(rows, 6)
        problem = StructuralProblem(rows, *domains(A, B, 0.5), np.eye(4), sums, 9.0)
        problem.labelled_only(1e-4)
        return [problem.with_pseudo_labels(pool, 1e-4).compatibility for pool in rounds]

    for whole, few in zip(found(rounds), found([pool.trusted() for pool in rounds]), strict=True):
        np.testing.assert_allclose(whole, few, atol=1e-4 * np.abs(few).max())
