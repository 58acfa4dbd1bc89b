"""Growing columns, and what an operator makes of a basis, against whole products."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.solvers.images import Columns, Halves, Images

P = 30


def operator():
    rows = np.random.default_rng(0).normal(size=(50, P))
    return rows, rows.T @ rows


def basis(columns: int):
    return np.linalg.qr(np.random.default_rng(1).normal(size=(P, columns)))[0]


def test_columns_grow_and_keep_what_they_hold():
    random = np.random.default_rng(0)
    blocks = [random.normal(size=(4, n)) for n in (2, 1, 5, 1, 1)]
    columns = Columns(4, float)
    rooms = []
    for number, block in enumerate(blocks, start=1):
        columns.append(block)
        np.testing.assert_array_equal(columns.taken, np.hstack(blocks[:number]))
        rooms.append(columns.values.shape[1])
    assert columns.count == 10
    assert rooms == [2, 3, 8, 12, 12]  # half as much again, or what is needed


def test_turned_columns_are_combinations():
    random = np.random.default_rng(0)
    block, U = random.normal(size=(4, 3)), random.normal(size=(3, 2))
    columns = Columns(4, float)
    columns.append(block)
    columns.turn(U)
    np.testing.assert_allclose(columns.taken, block @ U)


@pytest.mark.parametrize("halved", [False, True])
def test_images_are_the_operator_on_the_basis_whatever_the_way(halved):
    rows, M = operator()
    Q = basis(7)
    given = Halves(lambda B: rows @ B, lambda H: rows.T @ H) if halved else lambda B: M @ B
    images = Images(given, P, float)

    def check(Q, M):
        np.testing.assert_allclose(images.columns.taken, M @ Q, atol=1e-10)
        np.testing.assert_allclose(images.form, Q.T @ M @ Q, atol=1e-10)
        np.testing.assert_array_equal(images.form, images.form.T)

    images.widen(Q[:, :3], Q[:, :3])
    check(Q[:, :3], M)
    images.widen(Q[:, 3:], Q)
    check(Q, M)
    U = np.linalg.qr(np.random.default_rng(2).normal(size=(7, 4)))[0]
    images.turn(U)
    np.testing.assert_allclose(images.form, U.T @ Q.T @ M @ Q @ U, atol=1e-10)
    np.testing.assert_allclose(images.columns.taken, M @ Q @ U, atol=1e-10)
    images.forget()
    assert images.columns.count == 0
    assert images.form.shape == (0, 0)
    images.widen(Q, Q)
    check(Q, M)


@pytest.mark.parametrize("known", [True, False])
def test_another_second_half_uses_what_the_first_made(known):
    rows, _ = operator()
    weights = np.random.default_rng(3).random(50)
    Q, calls = basis(5), []

    def first(B):
        calls.append(B.shape[1])
        return rows @ B

    images = Images(Halves(first, lambda H: rows.T @ H), P, float)
    if known:
        images.widen(Q, Q)
    images.renew(Halves(first, lambda H: rows.T @ (weights[:, None] * H)), Q)
    M = (rows.T * weights) @ rows
    np.testing.assert_allclose(images.columns.taken, M @ Q, atol=1e-10)
    np.testing.assert_allclose(images.form, Q.T @ M @ Q, atol=1e-10)
    assert calls == [5]


def test_columns_that_fill_their_room_are_not_moved():
    columns = Columns(4, float)
    for width in (4, 1):
        columns.append(np.ones((4, width)))
    room = columns.values
    assert room.shape == (4, 6)
    columns.append(np.ones((4, 1)))
    assert columns.values is room
