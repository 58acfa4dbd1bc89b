"""Figures of minutes at most, each one thing that a user waits for, by the public interface only.

    python benchmarks/figures.py         one JSON line for each figure; benchmarks/history.py reads them

As a child of benchmarks/history.py it reads names of figures from its input and answers each with the
processor seconds of one run: two revisions are measured by turns, whatever else the machine does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Work = Callable[[], object]


@cache
def letters() -> Any:
    """Return the letters: labelled rows, and rows with a pool."""
    from unseen.datasets import load_letters_to_digits

    return load_letters_to_digits()


@cache
def awa() -> Any:
    """Return simulated rows at a tenth of the paper's AwA shape."""
    from unseen.datasets import simulate

    return simulate("AwA", scale=0.1, n_features=1024, random_state=0)


@cache
def many_classes(classes: int) -> tuple[Any, Any, dict[int, Any]]:
    """Return 20,000 rows of so many classes with 100 attributes."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(classes + 50, 100)).astype(np.float32)
    codes = np.concatenate([np.arange(classes), random.integers(0, classes, 20_000 - classes)])
    X = vectors[codes] @ random.normal(size=(100, 256)).astype(np.float32) / 10
    X += random.normal(size=X.shape).astype(np.float32)
    return X, codes, dict(enumerate(vectors))


@cache
def names() -> Any:
    """Return a million labels that are strings."""
    codes = np.random.default_rng(0).integers(0, 200, 1_000_000)
    return np.array([f"class {k:03d} of two hundred" for k in range(200)])[codes]


def fit(name: str, data: Callable[[], Any]) -> Callable[[], Work]:
    """Return what fits a method of the catalogue with its defaults."""

    def prepare() -> Work:
        from unseen.methods import find

        method, found = find(name), data()
        X, y = found.X[found.train], found.y[found.train]
        if method.transductive:
            X, y = found.transductive()
        return lambda: method.build(found.semantics, random_state=0).fit(X, y)

    return prepare


def fold_search(classes: int) -> Callable[[], Work]:
    """Return what fits ESZSL with its ridges searched for."""

    def prepare() -> Work:
        from unseen import ESZSL

        X, y, semantics = many_classes(classes)
        return lambda: ESZSL(semantics).fit(X, y)

    return prepare


def reading_labels() -> Work:
    """Return what reads a million strings as labels, and fits next to nothing."""
    from unseen.semantics import read_labels

    y = names()
    return lambda: read_labels(y)


def python(code: str) -> Callable[[], Work]:
    """Return what runs code in a new interpreter."""
    return lambda: lambda: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


FIGURES: dict[str, Callable[[], Work]] = {
    "import unseen": python("import unseen"),
    "from unseen import ESZSL": python("from unseen import ESZSL"),
    "unseen --help": python("import sys; from unseen.cli import app; app(['--help'])"),
    "a million strings as labels": reading_labels,
    **{f"letters, {name}": fit(name, letters) for name in ("ESZSL", "ASTE", "TASTE")},
    "letters, SelfPacedPrototypes": fit("SelfPacedPrototypes", letters),
    **{f"AwA / 10, {name}": fit(name, awa) for name in ("ESZSL", "ASTE", "Fast-ASTE", "TASTE")},
    **{f"AwA / 10, {name}": fit(name, awa) for name in ("Fast-TASTE", "SelfPacedPrototypes")},
    "ESZSL, 500 classes": fold_search(500),
    "ESZSL, 5,000 classes": fold_search(5000),
}


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    times = os.times()
    return float(times.user + times.system + times.children_user + times.children_system)


def main() -> None:
    """Answer each name that is read with the processor seconds of one run, or with what went wrong."""
    warnings.simplefilter("ignore")
    prepared: dict[str, Work] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in prepared:
                prepared[name] = FIGURES[name]()
                prepared[name]()  # the first run loads and fills caches
            begun, clock = processor_seconds(), time.process_time()
            prepared[name]()
            seconds = processor_seconds() - begun
            answer: dict[str, Any] = {"seconds": max(seconds, time.process_time() - clock)}
        except Exception as error:  # an older revision may lack what a figure needs
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
