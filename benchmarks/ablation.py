"""What each part of SelfPacedPrototypes gives: prints the tables of docs/guide/transduction.md.

    python benchmarks/ablation.py [--data ../shared/data] [--folds N] [--pool "half absent"]
                                  [CUB SS PS letters]

With ``--folds N`` nothing of the unseen classes is read: N times, seen classes are held out and play
the pool. That is how choices were made. Without it, the pool is that of the unseen classes and
their labels are used for the printed accuracy only. ``--pool`` makes the pool awkward.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from pools import POOLS, pool_rows

from unseen.datasets import load_letters_to_digits, load_xlsa17
from unseen.exceptions import AdaptationWarning
from unseen.numerics import gaussian, predicted, rehearsal
from unseen.transductive import SelfPacedPrototypes

FULL: dict[str, Any] = {"adaptation": "full"}
#: name: (parameters, constants of the numerics to replace)
VARIANTS: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    "start: no adaptation": ({"rounds": 0}, []),
    "default": ({}, []),
    "full, no class prior": (FULL | {"class_prior": None}, []),
    "full, equal class shares": (FULL | {"class_prior": "uniform"}, []),
    "full, learned class shares": (FULL | {"class_prior": "estimated"}, []),
    "full, learned shares, tie as the errors suggest": (
        FULL | {"class_prior": "estimated"},
        [(rehearsal, "FIRMNESS", 1.0)],
    ),
    "full, learned shares, 10 rounds": (FULL | {"class_prior": "estimated", "rounds": 10}, []),
    "cautious": ({"adaptation": "cautious", "class_prior": None}, []),
    "no square root, no unit length": ({"normalise": False}, []),
    "no whitening (shrinkage 1)": ({"shrinkage": 1.0}, []),
    "shrinkage 0.05": ({"shrinkage": 0.05}, []),
    "tie alike in every direction": ({}, [(predicted, "RESIDUAL_SHRINKAGE", 1.0)]),
    "tie not shrunk": ({}, [(predicted, "RESIDUAL_SHRINKAGE", 0.05)]),
    "no common shift": ({}, [(rehearsal, "OFFSET", 0.0)]),
    "hard labels": ({}, [(gaussian, "assign", None)]),
    "3 rounds": ({"rounds": 3}, []),
    "10 rounds": ({"rounds": 10}, []),
}


def harden(S: Any, shares: Any, offsets: Any = None, soft: Any = gaussian.assign) -> Any:
    """Assign each row wholly to its likeliest class."""
    state = soft(S, shares, offsets)
    Q = np.zeros_like(state.Q)
    Q[np.arange(len(Q)), state.Q.argmax(axis=1)] = 1
    moved = S + state.offsets.astype(S.dtype)
    energy = -float(moved.max(axis=1).sum(dtype=float))
    if shares is not None:
        energy += len(S) * float(shares @ state.offsets)
    return gaussian.Assignment(Q, state.offsets, energy)


def load(name: str, data: Path) -> Any:
    """Load one of the four data sets."""
    if name == "letters":
        return load_letters_to_digits()
    folder = data / "xlsa17" / ("CUB" if name == "CUB" else "AWA1")
    return load_xlsa17(folder, split="SS" if name == "SS" else "PS")


def pools(dataset: Any, folds: int, kind: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield X, y with a pool unlabelled, the semantics, and the labels of the pool."""
    table = dataset.semantics
    if not folds:
        pool = pool_rows(dataset.y, dataset.test_unseen, kind, np.random.default_rng(900))
        rows = np.concatenate([dataset.train, pool])
        labels = dataset.y[rows].astype(object)
        labels[len(dataset.train) :] = None
        yield dataset.X[rows], labels, table, dataset.y[pool]
        return
    X, y = np.asarray(dataset.X[dataset.train]), dataset.y[dataset.train]
    seen, wanted = dataset.seen_classes, len(table) - len(dataset.seen_classes)
    for draw in range(folds):
        random = np.random.default_rng([900, draw])
        away = np.isin(y, random.permutation(seen)[: min(wanted, len(seen) // 3)])
        labels = np.where(away, None, y.astype(object))
        pool = pool_rows(y, np.flatnonzero(away), kind, random)
        index = np.concatenate([np.flatnonzero(~away), pool])
        yield X[index], labels[index], table.restricted_to(seen), y[pool]


def accuracy(task: tuple[Any, Any, Any, Any], variant: str, seed: int) -> float:
    """Return the mean per-class accuracy on the pool, in percent."""
    X, y, semantics, true = task
    parameters, constants = VARIANTS[variant]
    with ExitStack() as stack:
        for module, name, value in constants:
            stack.enter_context(patch.object(module, name, harden if value is None else value))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", AdaptationWarning)
        model = SelfPacedPrototypes(semantics, random_state=seed, **parameters).fit(X, y)
    found = model.transduction_[len(X) - len(true) :]
    return 100 * float(np.mean([np.mean(found[true == k] == k) for k in np.unique(true)]))


def main() -> None:
    """Print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["CUB", "SS", "PS", "letters"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--folds", type=int, default=0)
    parser.add_argument("--pool", choices=POOLS, default="full")
    options = parser.parse_args()
    columns = []
    for name in options.names:
        tasks = list(pools(load(name, options.data), options.folds, options.pool))
        columns.append([np.mean([accuracy(t, v, i) for i, t in enumerate(tasks)]) for v in VARIANTS])
    print("| | " + " | ".join(options.names) + " |\n| --- |" + " --- |" * len(options.names))
    for row, variant in enumerate(VARIANTS):
        print(f"| {variant} | " + " | ".join(f"{column[row]:.1f}" for column in columns) + " |")


if __name__ == "__main__":
    main()
