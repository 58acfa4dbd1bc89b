"""Attributes, words, or both: which description of the classes labels best, on draws of seen classes.

    python benchmarks/descriptions.py [--data animals cub awa1] [--draws 10] [--methods ...]

Every draw holds out some of the *seen* classes of a data set; those that it calls unseen
are left out altogether: a default that is chosen here has not looked at them. Words are the
names of the classes by MiniLM. ``animals`` is a folder of photographs, see docs/guide/photographs.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from photographs import load_animals

from unseen.datasets import load_xlsa17
from unseen.features import describe, mix, words
from unseen.features.words import DEFAULT_WEIGHT
from unseen.methods import DEFAULT, find
from unseen.metrics import per_class_accuracy
from unseen.semantics import ClassTable
from unseen.typing import Array

SHARED = Path(__file__).parents[2] / "shared" / "data"
WORD_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_ROWS_OF_A_CLASS = 60
SHARE_HELD_OUT = 0.25


class Seen(NamedTuple):
    """The rows of the seen classes of a data set, and two descriptions of these classes."""

    X: Array
    y: Array
    attributes: ClassTable
    by_words: ClassTable


def animals(cache: Path | None) -> Seen:
    """Read the photographs of the classes that ``unseen.txt`` does not name."""
    data = load_animals(SHARED / "animal-photos", cache)
    names = data.seen_classes.tolist()
    by_words = describe(names, words("minilm"))
    return Seen(data.X[data.train], data.y[data.train], data.semantics.restricted_to(names), by_words)


def published(name: str) -> Seen:
    """Read the training rows of an xlsa17 data set, at most so many of a class."""
    data = load_xlsa17(SHARED / "xlsa17" / name)
    X, y = data.X[data.train], data.y[data.train]
    rng = np.random.default_rng(0)
    keep = np.concatenate(
        [rng.permutation(np.flatnonzero(y == c))[:MOST_ROWS_OF_A_CLASS] for c in np.unique(y)]
    )
    names = np.unique(y).tolist()
    table = data.semantics.restricted_to(names)
    return Seen(np.asarray(X[keep]), y[keep], table, describe(names, words("minilm")))


def described(seen: Seen, weight: float) -> ClassTable:
    """Return the class vectors as ``unseen label`` makes them with this weight of the words."""
    if weight in (0.0, 1.0):
        return seen.by_words if weight else seen.attributes
    return mix(seen.attributes, seen.by_words, weight)


def accuracy(seen: Seen, held: list[str], table: ClassTable, method: str) -> float:
    """Return the per-class accuracy on held-out seen classes, whose rows are the pool."""
    is_held = np.isin(seen.y, held)
    chosen = find(method)
    model = chosen.build(table, candidates=held, random_state=0)
    if not chosen.transductive:
        model.fit(seen.X[~is_held], seen.y[~is_held])
        return float(per_class_accuracy(seen.y[is_held], model.predict(seen.X[is_held])))
    labels = np.where(is_held, None, seen.y.astype(object))
    model.fit(seen.X, labels)
    return float(per_class_accuracy(seen.y[is_held], model.transduction_[is_held].astype(str)))


def main() -> None:
    """Print one table a data set: the mean and the worst accuracy of each weight."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["animals", "CUB", "AWA1"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=[DEFAULT])
    parser.add_argument("--cache", type=Path, help="Where features of photographs are kept.")
    given = parser.parse_args()
    for name in given.data:
        seen = animals(given.cache) if name == "animals" else published(name)
        classes = seen.attributes.classes.tolist()
        size = max(2, round(SHARE_HELD_OUT * len(classes)))
        print(f"\n{name}: {given.draws} draws of {size} of {len(classes)} seen classes")
        print("| method | " + " | ".join(f"words {w:g}" for w in WORD_WEIGHTS) + " |")
        print("| --- |" + " --- |" * len(WORD_WEIGHTS))
        for method in given.methods:
            table = np.array(
                [
                    [accuracy(seen, held, described(seen, weight), method) for weight in WORD_WEIGHTS]
                    for held in draws(classes, size, given.draws)
                ]
            )
            cells = [
                f"{100 * mean:.1f} (worst {100 * worst:.1f})"
                for mean, worst in zip(table.mean(axis=0), table.min(axis=0), strict=True)
            ]
            print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
            gain = table[:, WORD_WEIGHTS.index(DEFAULT_WEIGHT)] - table[:, 0]
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            print(
                f"words {DEFAULT_WEIGHT:g} − attributes: {100 * gain.mean():+.1f} points, standard "
                f"error {100 * error:.1f}, from {100 * gain.min():+.1f} to {100 * gain.max():+.1f}"
            )


def draws(classes: list[str], size: int, count: int) -> list[list[str]]:
    """Return draws of held-out classes, by seed."""
    return [
        [str(c) for c in np.random.default_rng(seed).choice(classes, size, replace=False)]
        for seed in range(count)
    ]


if __name__ == "__main__":
    main()
