"""Awkward pools, for the studies beside this file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unseen.experiments.unlabelled_pools import uneven_rows

POOLS = ("full", "half absent", "50:1", "5 rows")
STRANGERS = "strangers"
SCENARIOS = (*POOLS, STRANGERS)


class Task(NamedTuple):
    """What a method is given, and the rows of the pool on which it is judged."""

    X: Any
    #: the label of each row; None in the pool
    labels: Any
    semantics: dict[Any, Any]
    X_pool: Any
    y_pool: Any


def pool_rows(y: Any, rows: Any, kind: str, random: np.random.Generator) -> Any:
    """Return those rows that make a pool: all, or of half of the classes, or of uneven ones, or few."""
    if kind == "50:1":
        return uneven_rows(y, rows, random)
    rows = random.permutation(rows)
    classes = random.permutation(np.unique(y[rows]))
    by_class = [rows[y[rows] == c] for c in classes]
    if kind == "half absent":
        by_class = by_class[: len(classes) // 2]
    elif kind == "5 rows":
        by_class = [own[:5] for own in by_class]
    return random.permutation(np.concatenate(by_class))


def make_task(data: Any, kind: str, seed: int, X_strangers: Any = None) -> Task:
    """Draw a pool among the unseen rows of ``data``, and put it behind the labelled rows.

    With the kind "strangers" a fifth of the unlabelled rows belong to no candidate: rows of
    ``X_strangers``, or else of seen classes that lose their labels and their description. No accuracy
    is counted on them.
    """
    random = np.random.default_rng(seed)
    train, pool = random.permutation(data.train), pool_rows(data.y, data.test_unseen, kind, random)
    semantics, X_more = dict(data.semantics), data.X[:0]
    if kind == STRANGERS and X_strangers is not None:
        X_more = X_strangers[random.permutation(len(X_strangers))[: len(pool) // 4]]
    elif kind == STRANGERS:
        names = random.choice(data.seen_classes, max(1, len(data.seen_classes) // 5), replace=False)
        away = np.isin(data.y[train], names)
        X_more = data.X[train[away][: len(pool) // 4]]
        train = train[~away]
        semantics = {c: v for c, v in semantics.items() if c not in set(names.tolist())}
    X = np.concatenate([data.X[np.concatenate([train, pool])], X_more])
    labels = np.full(len(X), None, dtype=object)
    labels[: len(train)] = data.y[train]
    return Task(X, labels, semantics, data.X[pool], data.y[pool])
