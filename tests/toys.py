"""Small problems with a planted structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Toy:
    """Gaussian classes whose means are a linear map of their semantics."""

    X: Any
    y: Any
    semantics: dict[str, Any]
    train: Any
    unseen: Any

    def transductive(self) -> tuple[Any, Any]:
        rows = np.concatenate([self.train, self.unseen])
        labels = self.y[rows].astype(object)
        labels[len(self.train) :] = None
        return self.X[rows], labels


def make_toy(
    seed: int = 0, seen: int = 12, unseen: int = 4, p: int = 20, q: int = 8, rows: int = 30
) -> Toy:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(seen + unseen, q))
    means = vectors @ random.normal(size=(q, p))
    names = np.array([f"class {k:02d}" for k in range(seen + unseen)])
    codes = np.repeat(np.arange(seen + unseen), rows)
    X = means[codes] + 1.2 * random.normal(size=(len(codes), p))
    train = np.flatnonzero(codes < seen)
    return Toy(
        X,
        names[codes],
        dict(zip(names.tolist(), vectors, strict=True)),
        train,
        np.flatnonzero(codes >= seen),
    )
