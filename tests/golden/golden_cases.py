"""What golden answers are about: every estimator on three small slices of data.

An answer is what a fit with default parameters says: the classes of the pool, their scores, and the
numbers of every round. Scores are kept as whole numbers from 0 to ``STEPS`` between the least and the
largest score of the fit, so that a difference of one is 1e-7 of their spread.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
import platform
import warnings
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from unseen.datasets import ZeroShotDataset, load_letters_to_digits, load_xlsa17

ANSWERS = Path(__file__).with_name("answers.json.xz")
DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[3] / "shared" / "data")) / "xlsa17"


class Slice(NamedTuple):
    """Where rows come from, and how many of them are taken."""

    load: Callable[[], ZeroShotDataset]
    seen_classes: int
    unseen_classes: int
    rows_per_class: int


SLICES = {
    "letters": Slice(load_letters_to_digits, 24, 10, 20),
    "CUB": Slice(lambda: load_xlsa17(DATA / "CUB"), 12, 4, 12),
    "AWA1": Slice(lambda: load_xlsa17(DATA / "AWA1", split="SS"), 12, 4, 15),
}
STEPS = 10**7
SCORED_ROWS, GENERALISED_ROWS = 48, 12
"""Rows of the pool whose scores are kept: for unseen classes, and for seen and unseen ones together."""


def missing(name: str) -> str:
    """Say what a slice needs and does not find, or nothing."""
    folder = DATA / name
    return "" if name == "letters" or folder.exists() else f"needs {folder}"


@cache
def small_slice(name: str) -> ZeroShotDataset:
    """Return a few rows of a few classes: both chosen by a hash of their content."""
    size = SLICES[name]
    data = size.load()
    X = np.asarray(data.X)

    def choose(index: Any, n_classes: int) -> Any:
        classes = sorted(np.unique(data.y[index]).tolist(), key=lambda c: _hash(c.encode()))[:n_classes]
        rows = [
            sorted(index[data.y[index] == c], key=lambda row: _hash(X[row].tobytes())) for c in classes
        ]
        return np.concatenate([of_class[: size.rows_per_class] for of_class in rows])

    seen = choose(data.train, size.seen_classes)
    rows = np.concatenate([seen, choose(data.test_unseen, size.unseen_classes)])
    return ZeroShotDataset(
        X=X[rows],
        y=data.y[rows],
        semantics=data.semantics.restricted_to(np.unique(data.y[rows])),
        train=np.arange(len(seen)),
        test_seen=np.array([], dtype=np.intp),
        test_unseen=np.arange(len(seen), len(rows)),
        name=name,
    )


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def slice_digest(data: ZeroShotDataset) -> str:
    """Return a digest of the rows of a slice, their classes and the class vectors."""
    content = [data.X.tobytes(), "\n".join(data.y.tolist()).encode(), data.semantics.vectors.tobytes()]
    return _hash(b"\0".join(content))[:16]


def answer(estimator: Any, data: ZeroShotDataset) -> dict[str, Any]:
    """Fit an estimator and return what it says of the pool, as plain numbers."""
    model = clone(estimator).set_params(semantics=data.semantics)
    X = data.X[data.test_unseen]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(*data.transductive())
        found = {
            "labels": places(model, model.predict(X)),
            "scores": scores(model, X, SCORED_ROWS),
        }
        if hasattr(model, "transduction_"):
            found["transduction"] = places(model, model.transduction_[len(data.train) :])
            found["labelled_round"] = model.labelled_round_[len(data.train) :].tolist()
            found["history"] = [numbers(line) for line in model.history_]
        model.set_params(candidates="all")
        found["generalised"] = scores(model, X, GENERALISED_ROWS)
    return found


def places(model: Any, labels: Any) -> list[int]:
    """Return the place of each label among the candidates."""
    return [model.classes_.tolist().index(label) for label in labels.tolist()]


def scores(model: Any, X: Any, rows: int) -> dict[str, Any]:
    """Return the scores of some rows as whole numbers between the least and the largest."""
    given = model.decision_function(X[:: len(X) // rows]).astype(float)
    low, spread = float(given.min()), float(np.ptp(given))
    steps = np.rint((given - low) * (STEPS / spread)).astype(int)
    return {"low": low, "spread": spread, "steps": steps.tolist()}


def numbers(line: Any) -> dict[str, float | None]:
    """Return the numeric fields of a line of ``history_``; None stands for NaN."""
    values = {field.name: float(getattr(line, field.name)) for field in fields(line)}
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def machine() -> dict[str, Any]:
    """Return what decides how sums are rounded: versions, processor and BLAS."""
    processor = Path("/proc/cpuinfo")
    lines = processor.read_text(encoding="utf-8").splitlines() if processor.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line[:10] == "model name"), "")
    libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "processor": f"{platform.machine()} {model}".strip(),
        "blas": sorted(
            f"{lib['internal_api']} {lib['version']} {lib.get('architecture', '')}" for lib in libraries
        ),
        "rounding": rounding(),
    }


def rounding() -> str:
    """Return a digest of products and factors, to the last bit.

    Processors of one name differ in their caches, and with them the order in which a BLAS sums.
    """
    random, found = np.random.default_rng(0), hashlib.sha256()
    with threadpool_limits(1):
        for dtype in (np.float32, np.float64):
            for rows, columns in ((20, 10), (300, 64), (700, 513)):
                X = random.normal(size=(rows, columns)).astype(dtype)
                G = X.T @ X + np.eye(columns, dtype=dtype)
                results = X @ X[0], X @ G, np.linalg.cholesky(G), np.linalg.eigvalsh(G), np.exp(X)
                for result in results:
                    found.update(np.ascontiguousarray(result).tobytes())
    return found.hexdigest()[:16]


def read_answers() -> dict[str, Any]:
    """Return what ``make golden`` wrote."""
    return dict(json.loads(lzma.decompress(ANSWERS.read_bytes())))
