"""Pools of a toy whose rounds have ended, for what joins them."""

from __future__ import annotations

from typing import Any

import numpy as np

from toys import Toy
from unseen.rows.labelled import Rows
from unseen.statistics.adaptation import Plan, Transduction, adapt, start_of
from unseen.statistics.bystanders import Bystanders, alone
from unseen.statistics.seen_model import candidates_of, seen_model
from unseen.statistics.visual_space import Pool, seen_statistics


def after_rounds_alone(
    toy: Toy, train: Any, pool_rows: Any, named: int, plan: Plan
) -> tuple[Transduction, Bystanders, int]:
    """The first unseen classes are candidates; the number is that of the rounds."""
    classes, unseen = np.unique(toy.y[train]), np.unique(toy.y[toy.unseen])
    rows = Rows(toy.X[train], np.searchsorted(classes, toy.y[train]))
    vectors, names = (
        np.array([toy.semantics[c] for c in some.tolist()], dtype=float)
        for some in (classes, unseen[:named])
    )
    model = seen_model(seen_statistics(rows, len(classes), "none"), vectors, None, rows.X.dtype)
    own, pool = np.full(named, -1), Pool(toy.X[pool_rows], model.space)
    candidates, first = candidates_of(model, names, own), alone(plan)
    states = list(adapt(pool, candidates.prior, start_of(model, candidates, pool, first), first))
    at = Transduction(model, candidates, pool, states[-1])
    return at, Bystanders.of(len(classes), own), len(states) - 1
