"""What a pool in the space of its class texts says of its class sizes."""

from __future__ import annotations

import numpy as np
import pytest

from unseen.statistics.shared_space import SharedPool

CLASSES, ROWS, WIDTH = 12, 20, 24


def pool(present=CLASSES, **given):
    random = np.random.default_rng(0)
    texts = random.normal(size=(CLASSES, WIDTH))
    X = np.repeat(texts[:present], ROWS, axis=0) + 0.3 * random.normal(size=(present * ROWS, WIDTH))
    return SharedPool(X, texts, 20.0, 3, **given)


def test_a_pool_of_all_classes_is_taken_for_even_and_one_of_few_is_not():
    assert pool().evenness > 0.99
    assert pool(present=2).evenness < 0.05  # (5/2)⁴ is 39
    assert pool(present=2, equal=True).evenness == 1


def test_first_answers_near_chance_hide_what_is_uneven():
    clear, blurred = pool(present=9), pool(present=9)
    blurred.entropy = 0.8 * np.log(CLASSES)
    codes = clear.start.codes
    assert blurred._evenness(codes) < clear._evenness(codes)


def test_balance_raises_small_classes_of_an_even_pool_alone():
    sizes = np.array([40.0] + [20.0] * (CLASSES - 2) + [0.0])
    even, uneven = pool().balance(sizes), pool(present=2).balance(sizes)
    assert even[0] < 0 < even[-1]
    assert even[1] == pytest.approx(0)
    assert np.abs(uneven).max() < 0.05 * np.abs(even).max()


def test_equal_sizes_need_no_balance_and_have_equal_shares():
    sizes = np.full(CLASSES, 7.0)
    assert pool().balance(sizes) == pytest.approx(0)
    assert np.ptp(pool().log_shares(sizes)) == pytest.approx(0)


def test_shares_of_a_pool_that_lacks_classes_are_learned():
    sizes = np.array([20.0, 20.0] + [0.0] * (CLASSES - 2))
    shares = pool(present=2).log_shares(sizes)
    assert shares[0] - shares[-1] > 1.5
    assert np.ptp(pool(equal=True).log_shares(sizes)) < 1e-3
