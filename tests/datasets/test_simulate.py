"""The simulators: true shapes, knobs that work, and never mistaken for real data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from unseen.datasets import simulate
from unseen.datasets.simulator import SHAPES
from unseen.exceptions import DataError

TRUE = {
    "AwA": (30475, 24295, 40, 10, 85),
    "CUB": (11788, 8821, 150, 50, 312),
    "aPY": (15339, 12695, 20, 12, 64),
    "SUN": (14340, 12900, 645, 72, 102),
}


@pytest.mark.parametrize("like", TRUE)
def test_the_true_shape(like):
    rows, train, seen, unseen, attributes = TRUE[like]
    data = simulate(like, n_features=8, random_state=0)
    assert data.X.shape == (rows, 8)
    assert data.X.dtype == np.float32
    assert (len(data.train), len(data.test_unseen)) == (train, rows - train)
    assert (len(data.seen_classes), len(data.unseen_classes)) == (seen, unseen)
    assert data.semantics.vectors.shape == (seen + unseen, attributes)
    assert SHAPES[like].features == 4096
    for text in (data.name, data.features, data.provenance):
        assert "simulated" in text


def test_the_seed_decides():
    one, two, other = (simulate("aPY", scale=0.02, n_features=16, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(one.X, two.X)
    assert one.y.tolist() == two.y.tolist()
    assert not np.array_equal(one.X, other.X)


def test_class_sizes_differ():
    _, sizes = np.unique(simulate("AwA", n_features=4, random_state=0).y, return_counts=True)
    assert sizes.max() > 3 * sizes.min()
    assert sizes.min() >= 2


def nearest(data):
    """Return the accuracy on unseen classes of ridge regression to class means."""
    seen, S = data.seen_classes, data.semantics.vectors - data.semantics.vectors.mean(axis=0)
    means = np.stack([data.X[data.train[data.y[data.train] == c]].mean(axis=0) for c in seen])
    centre = means.mean(axis=0)
    Z = S[data.semantics.positions(seen)]
    W = np.linalg.solve(Z.T @ Z + 0.1 * np.eye(Z.shape[1]), Z.T @ (means - centre))
    guess = S[data.semantics.positions(data.unseen_classes)] @ W + centre
    rows = data.X[data.test_unseen]
    distance = ((rows[:, None] - guess[None]) ** 2).sum(axis=2)
    return (data.unseen_classes[distance.argmin(axis=1)] == data.y[data.test_unseen]).mean()


def test_vectors_foretell_features_and_the_shift_harms():
    near, far = (
        np.mean(
            [
                nearest(simulate("AwA", scale=0.05, n_features=64, domain_shift=shift, random_state=s))
                for s in range(3)
            ]
        )
        for shift in (0.0, 3.0)
    )
    assert near > 0.5  # chance is 0.1
    assert far < near - 0.15


def test_label_noise_changes_that_many_training_labels():
    clean, noisy = (
        simulate("AwA", scale=0.1, n_features=8, label_noise=n, random_state=0) for n in (0, 0.3)
    )
    changed = np.flatnonzero(clean.y != noisy.y)
    assert np.isin(changed, clean.train).all()
    assert abs(len(changed) / len(clean.train) - 0.3) < 0.001
    assert np.array_equal(clean.X, noisy.X)
    assert set(noisy.y[noisy.train]) <= set(clean.seen_classes)


def test_held_out_rows():
    data = simulate("CUB", scale=0.1, n_features=8, held_out=0.25, random_state=0)
    assert abs(len(data.test_seen) / (len(data.train) + len(data.test_seen)) - 0.25) < 0.01
    assert np.isin(data.y[data.test_seen], data.seen_classes).mean() > 0.9


def test_memory_is_bounded():
    tracemalloc.start()
    data = simulate("AwA", scale=0.3, n_features=1024, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * data.X.nbytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"like": "MNIST"}, "like must be one of AwA, CUB, aPY, SUN. Got 'MNIST'"),
        ({"scale": 0}, "scale must lie"),
        ({"label_noise": 1.5}, "label_noise must lie between 0 and 1. Got 1.5"),
        ({"domain_shift": -1}, "domain_shift must lie"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(DataError, match=message):
        simulate(**options)


@pytest.mark.parametrize("like", TRUE)
def test_real_difficulty_keeps_the_shape_and_is_harder(like):
    easy, real = (
        simulate(like, scale=0.05, n_features=64, difficulty=kind, random_state=0)
        for kind in ("easy", "real")
    )
    assert real.X.shape[1] == 64
    assert real.X.dtype == np.float32
    assert "difficulty=real" in real.provenance
    assert "difficulty" not in easy.provenance
    assert nearest(real) < nearest(easy)
    with pytest.raises(DataError, match="difficulty must be 'easy' or 'real'"):
        simulate(like, difficulty="hard")


@pytest.mark.parametrize(
    ("like", "classes", "low", "high"), [("CUB", 50, 0.7, 0.9), ("AwA", 10, 0.3, 0.6)]
)
def test_classes_overlap_as_in_the_data_that_were_measured(like, classes, low, high):
    data = simulate(like, scale=0.5, n_features=256, difficulty="real", random_state=0)
    X, y = data.X[data.train], data.y[data.train]
    names = data.seen_classes[:classes]
    half = np.arange(len(X)) % 2 == 0
    means = np.stack([X[half & (y == name)].mean(axis=0) for name in names])
    shares = []
    for place, name in enumerate(names):
        rows = X[~half & (y == name)]
        found = (np.square(means).sum(axis=1) - 2 * rows @ means.T).argmin(axis=1)
        shares.append((found == place).mean())
    assert low < np.mean(shares) < high  # measured: 0.81 on CUB, 0.42 on AwA1
