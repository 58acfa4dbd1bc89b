"""How well class vectors tell the classes apart, before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from unseen.rows.kernels import unit_rows
from unseen.semantics import ClassTable
from unseen.typing import Array, Label

SAME, CLOSE = 1e-6, 0.35
"""Distances, as shares of the median, below which two classes are the same, or close."""
POORLY_REACHED = 0.2
"""The share of a candidate's vector in the span of the seen ones below which it is hardly learned."""


@dataclass(frozen=True)
class Pair:
    """Two classes, and their distance as a share of the median distance."""

    first: str
    second: str
    distance: float


@dataclass(frozen=True)
class Separation:
    """What :func:`separation` found.

    Distances are Euclidean between vectors of unit length, as shares of the median over all pairs.
    """

    classes: int
    columns: int
    effective_rank: float
    """In how many directions the vectors differ: exp of the entropy of their shares of variance."""
    nearest: list[Pair]
    """The closest pairs among the candidates, closest first."""
    same: list[Pair]
    """Pairs that cannot be told apart."""
    unlearned: list[Pair]
    """Pairs that differ only in directions in which every seen class is zero."""
    close: list[Pair]
    """Pairs that will often be confused."""
    reach: dict[str, float]
    """Candidate → the share of its difference from the mean that seen classes differ in as well."""

    @property
    def verdict(self) -> str:
        """One sentence, most important fault first."""
        if self.same:
            pair = self.same[0]
            return (
                f"{pair.first} and {pair.second} have the same description and cannot be told apart"
                f"{_more(self.same)}. Describe how they differ."
            )
        if self.unlearned:
            pair = self.unlearned[0]
            return (
                f"{pair.first} and {pair.second} differ only in what no labelled class "
                f"has{_more(self.unlearned)}, so nothing that is learned tells them apart. Describe "
                "another difference, or label a class that has it."
            )
        poor = [name for name, share in self.reach.items() if share < POORLY_REACHED]
        if poor:
            listed = ", ".join(poor[:3]) + f" and {len(poor) - 3} more" * (len(poor) > 3)
            return (
                f"The labelled classes have little in common with {listed}. Expect more mistakes "
                "there, or add labelled classes that are more alike."
            )
        if self.close:
            pair = self.close[0]
            return (
                f"{pair.first} and {pair.second} have nearly the same description{_more(self.close)}: "
                "expect mistakes there."
            )
        return "The descriptions tell all candidates apart."


def _more(pairs: list[Pair]) -> str:
    """Say how many other pairs there are."""
    others = len(pairs) - 1
    return f", and {others} other pair{'s' * (others != 1)}" if others else ""


def separation(
    table: ClassTable, candidates: Sequence[Label] | None = None, seen: Sequence[Label] | None = None
) -> Separation:
    """Say how well the class vectors separate the classes.

    Parameters
    ----------
    table : ClassTable
    candidates : sequence of classes, optional
        Among which the answers will be; all by default.
    seen : sequence of classes, optional
        Those with labelled pictures; every class that is no candidate by default.

    Examples
    --------
    >>> table = ClassTable(["cat", "dog", "fox", "elk"], [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 0]])
    >>> separation(table, ["fox", "elk"]).same
    [Pair(first='fox', second='elk', distance=0.0)]
    """
    names = table.classes.tolist()
    asked = names if candidates is None else list(candidates)
    known = [c for c in names if c not in set(asked)] if seen is None else list(seen)
    vectors = table.vectors.astype(np.float64)
    unit = unit_rows(vectors)
    rows = table.positions(asked)
    pairs = _pairs(unit, rows, [str(c) for c in asked])
    return Separation(
        len(names),
        vectors.shape[1],
        _effective_rank(unit),
        pairs[:5],
        [p for p in pairs if p.distance <= SAME],
        _unlearned(vectors, rows, table.positions(known), pairs, [str(c) for c in asked]),
        [p for p in pairs if SAME < p.distance <= CLOSE],
        _reach(unit, rows, table.positions(known), [str(c) for c in asked]),
    )


def _pairs(unit: Array, rows: Array, names: list[str]) -> list[Pair]:
    if len(rows) < 2:
        return []
    median = float(np.median(pdist(unit))) or 1.0
    distances = squareform(pdist(unit[rows])) / median
    first, second = np.triu_indices(len(rows), 1)
    order = np.argsort(distances[first, second], kind="stable")
    return [
        Pair(names[i], names[j], float(distances[i, j]))
        for i, j in zip(first[order], second[order], strict=True)
    ]


def _unlearned(
    vectors: Array, rows: Array, known: Array, pairs: list[Pair], names: list[str]
) -> list[Pair]:
    """Return the pairs whose difference is outside the span of the seen classes."""
    if not len(known):
        return []
    inside = dict(zip(names, vectors[rows] @ _span(vectors[known]).T, strict=True))
    size = float(np.linalg.norm(vectors[rows], axis=1).max())
    apart = [p for p in pairs if p.distance > SAME]
    return [p for p in apart if np.linalg.norm(inside[p.first] - inside[p.second]) <= SAME * size]


def _span(vectors: Array) -> Array:
    """Return orthonormal rows that span these."""
    _, values, directions = np.linalg.svd(vectors, full_matrices=False)
    return np.asarray(directions[values > 1e-9 * max(float(values[0]), 1e-300)])


def _effective_rank(unit: Array) -> float:
    shares = np.linalg.svd(unit - unit.mean(axis=0), compute_uv=False) ** 2
    if shares.sum() <= 0:
        return 0.0
    shares = shares[shares > 1e-12 * shares.sum()] / shares.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def _reach(unit: Array, rows: Array, known: Array, names: list[str]) -> dict[str, float]:
    """Return how much of each candidate lies in the directions in which seen classes differ."""
    unknown = [i for i, row in enumerate(rows) if row not in set(known.tolist())]
    if len(known) < 2 or not unknown:
        return {}
    mean = unit[known].mean(axis=0)
    basis = _span(unit[known] - mean)
    reach = {}
    for i in unknown:
        offset = unit[rows[i]] - mean
        total = float(offset @ offset)
        inside = basis @ offset
        reach[names[i]] = float(inside @ inside) / total if total > 0 else 1.0
    return reach
