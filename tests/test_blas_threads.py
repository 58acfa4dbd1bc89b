"""A fit on small matrices takes one thread of linear algebra, and leaves the limits as they were."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from unseen import ESZSL, FastTraining, SelfPacedPrototypes, inputs
from unseen.inputs import one_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture
def three_threads():
    """As many on every machine: some have one core, and ``make`` asks for one thread."""
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        yield


class Watched(ESZSL):
    """ESZSL that notes how many threads it had."""

    def _fit(self, rows, vectors, held=None):
        self.threads_ = threads()
        return super()._fit(rows, vectors, held)


def small_problem():
    generator = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 6)
    return generator.normal(size=(30, 4)) + y[:, None], y, {k: [k, k**2 % 5, 1.0] for k in range(7)}


def test_a_small_fit_has_one_thread(three_threads):
    X, y, semantics = small_problem()
    assert Watched(semantics).fit(X, y).threads_ == {1}
    assert FastTraining(Watched(semantics)).fit(X, y).estimator_.threads_ == {1}
    assert threads() == {3}


def test_a_large_fit_keeps_the_threads(three_threads, monkeypatch):
    monkeypatch.setattr(inputs, "MOST_WORK_OF_ONE_THREAD", 30 * 4 * 4 - 1)
    X, y, semantics = small_problem()
    assert Watched(semantics).fit(X, y).threads_ == {3}


def test_a_fit_that_fails_leaves_the_threads(three_threads):
    X, y, semantics = small_problem()
    with pytest.raises(ValueError, match="'gamma' parameter"):
        Watched(semantics, gamma=-1).fit(X, y)
    assert threads() == {3}
    with pytest.raises(ValueError, match="NaN"):
        SelfPacedPrototypes(semantics).fit(np.full_like(X, np.nan), y)
    assert threads() == {3}


def test_fits_that_overlap_leave_the_threads(three_threads):
    """The second enters before the first leaves, and leaves last: it must not restore one thread."""
    inside, leave = threading.Event(), threading.Event()

    def second():
        with one_thread():
            inside.set()
            leave.wait()

    other = threading.Thread(target=second)
    with one_thread():
        other.start()
        inside.wait()
        assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == {3}
    with one_thread():
        assert threads() == {1}
