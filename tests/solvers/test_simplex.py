"""The simplex coder against a general solver."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from unseen.solvers.simplex import project_to_simplex, simplex_codes


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_projection_is_feasible_and_nearest(seed: int, width: int) -> None:
    random = np.random.default_rng(seed)
    rows = 3 * random.normal(size=(4, width))
    found = project_to_simplex(rows)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    others = random.dirichlet(np.ones(width), size=50)
    # The variational inequality of a projection: ⟨row − found, other − found⟩ ≤ 0.
    inner = np.einsum("nd,nmd->nm", rows - found, others[None] - found[:, None])
    assert inner.max() <= 1e-9


def test_codes_are_those_of_a_general_solver() -> None:
    random = np.random.default_rng(0)
    atoms, rows = random.normal(size=(6, 4)), random.normal(size=(5, 4))
    reward = 0.1 * random.normal(size=(5, 6))
    unit = ((atoms - atoms.mean(axis=0)) ** 2).sum() / 6
    got = simplex_codes(rows, atoms, 0.3, 3000, reward)
    for x, z, gift in zip(rows, got, reward, strict=True):

        def loss(code, x=x, gift=gift):
            residual = x - code @ atoms
            return 0.5 * residual @ residual + unit * (0.15 * code @ code - gift @ code)

        constraint = {"type": "eq", "fun": lambda code: code.sum() - 1}
        want = minimize(
            loss, np.full(6, 1 / 6), bounds=[(0, 1)] * 6, constraints=constraint,
            method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        assert loss(z) <= want.fun + 1e-8
        np.testing.assert_allclose(z, want.x, atol=1e-3)


def test_a_row_does_not_depend_on_the_rows_beside_it() -> None:
    random = np.random.default_rng(1)
    atoms, rows = random.normal(size=(7, 5)), random.normal(size=(9, 5))
    np.testing.assert_allclose(
        simplex_codes(rows[3:5], atoms, 0.1), simplex_codes(rows, atoms, 0.1)[3:5], atol=1e-12
    )
    shifted = simplex_codes(rows + 100, atoms + 100, 0.1)
    np.testing.assert_allclose(shifted, simplex_codes(rows, atoms, 0.1), atol=1e-8)


def test_steps_are_those_of_the_accelerated_gradient() -> None:
    """Nesterov's sequence, t' = (1 + sqrt(1 + 4t²)) / 2, by hand, stopped before it converges."""
    random = np.random.default_rng(2)
    atoms, row = random.normal(size=(6, 4)), random.normal(size=(1, 4))
    D = atoms - atoms.mean(axis=0)
    gram = D @ D.T
    gram += 0.2 * np.trace(gram) / 6 * np.eye(6)
    largest = np.linalg.norm(gram, 2)
    z = y = np.full((1, 6), 1 / 6)
    t = 1.0
    for steps in range(1, 9):
        slope = y @ gram - (row - atoms.mean(axis=0)) @ D.T
        new = project_to_simplex(y - slope / largest)
        larger = 0.5 + np.sqrt(0.25 + t * t)
        y = new + (t - 1) / larger * (new - z)
        z, t = new, larger
        np.testing.assert_allclose(simplex_codes(row, atoms, 0.2, steps), z, atol=1e-12)


def test_steps_begin_in_the_middle_and_are_two_hundred() -> None:
    random = np.random.default_rng(3)
    atoms, rows = random.normal(size=(6, 4)), random.normal(size=(2, 4))
    np.testing.assert_array_equal(simplex_codes(rows, atoms, 0.1, 0), np.full((2, 6), 1 / 6))
    np.testing.assert_array_equal(simplex_codes(rows, atoms, 0.1), simplex_codes(rows, atoms, 0.1, 200))


def test_a_point_of_the_simplex_stays() -> None:
    corners = np.eye(3)
    np.testing.assert_array_equal(project_to_simplex(corners), corners)
    edge = np.array([[0.25, 0.75, 0.0]])
    np.testing.assert_array_equal(project_to_simplex(edge), edge)
