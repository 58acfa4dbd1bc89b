"""A small data set that has everything a layout must hold, and the real data if it is here."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest

from unseen.datasets import ZeroShotDataset, load_xlsa17, simulate
from unseen.semantics import ClassTable

SHARED = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture
def shared():
    """Return a folder of the real data, or skip with its name."""

    def find(name: str) -> Path:
        if not (SHARED / name).exists():
            pytest.skip(f"needs {SHARED / name}")
        return SHARED / name

    return find


@pytest.fixture(scope="session")
def real():
    """Return a benchmark in the xlsa17 layout, loaded once in all the tests."""
    return functools.cache(load_xlsa17)


@pytest.fixture
def small() -> ZeroShotDataset:
    """Five classes (one without rows), interleaved rows, images, index sets in no order."""
    rng = np.random.default_rng(0)
    classes = ["b fox", "a+bat", "c_owl", "é elk", "unused"]
    y = np.array(classes)[[0, 1, 2, 3, 0, 1, 2, 3, 0, 2, 2, 1]]
    X = rng.standard_normal((12, 4)).astype(np.float32)
    X[0, 0], X[1, 1] = -0.0, np.float32(1) / 3
    vectors = rng.random((5, 3))
    vectors[0, 0] = 0.1
    return ZeroShotDataset(
        X=X,
        y=y,
        semantics=ClassTable(classes, vectors, ["furry", "flies", "big eyes"]),
        train=np.array([8, 0, 1, 5]),
        test_seen=np.array([11, 4]),
        test_unseen=np.array([7, 2, 3, 6, 9]),  # row 10 is in no set
        name="small",
        features="four numbers",
        provenance="made in a test",
        images=[f"{c}/{i}.jpg" for i, c in enumerate(y)],
    )


@pytest.fixture(scope="session")
def made() -> ZeroShotDataset:
    """Return a simulated data set that is large enough to audit."""
    return simulate("AwA", scale=0.05, n_features=64, held_out=0.2, random_state=0)


@pytest.fixture
def same():
    """Assert that two data sets agree bit for bit."""

    def compare(a: ZeroShotDataset, b: ZeroShotDataset, *, images: bool = True) -> None:
        assert np.asarray(a.X).dtype == np.asarray(b.X).dtype
        assert np.asarray(a.X).tobytes() == np.asarray(b.X).tobytes()
        assert a.y.tolist() == b.y.tolist()
        assert a.semantics.classes.tolist() == b.semantics.classes.tolist()
        assert a.semantics.vectors.dtype == b.semantics.vectors.dtype
        assert a.semantics.vectors.tobytes() == b.semantics.vectors.tobytes()
        assert a.semantics.attributes == b.semantics.attributes
        for part in ("train", "test_seen", "test_unseen"):
            assert getattr(a, part).tolist() == getattr(b, part).tolist(), part
        assert (a.name, a.features) == (b.name, b.features)
        if images:
            assert (a.images and list(a.images)) == (b.images and list(b.images))

    return compare
