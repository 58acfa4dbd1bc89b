"""Rounds beside seen classes that are no candidates, where rows of a pool may belong to no candidate.

Such seen classes are bystanders: they take the rows that they explain better, and stay where they are.
Candidates run two rounds alone first: their prototypes are predicted, those of bystanders are known, so
that from the start bystanders would take whole candidates. Where class shares are imposed, candidates
meet theirs among the rows that bystanders leave them; else their shares are learned, nearly equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unseen.statistics.adaptation import MIXED_SMOOTHING, Assignment, Plan, State, adapt
from unseen.statistics.transduction import Setting
from unseen.typing import Array, Codes

ROUNDS_ALONE = 2
"""Rounds before bystanders join. On three folds of the seen classes of eleven data sets, 4 and 8 are
alike in pools without strangers and less accurate beside strangers; with 0, whole candidates are lost
on some sets."""

BYSTANDER_SHARE = 0.02
"""What all bystanders have together before any row is counted, as a share of the pool (tried on the
same folds: 0.1)."""

UNNAMED_SMOOTHING = 0.3
"""Rows, as a share of the mean class, that a class without a name has before any is counted."""


def bystanders_of(classes: int, own: Codes) -> Codes:
    """Return the seen classes that are no candidates."""
    return np.setdiff1d(np.arange(classes), own)


def smoothing_beside(candidates: int, bystanders: int, unnamed: int = 0) -> Array:
    """Return α for candidates, the bystanders behind them, and classes without a name at the end."""
    total, own = candidates + bystanders + unnamed, candidates + unnamed
    parts = np.repeat([0, 1, 2], [candidates, bystanders, unnamed])
    shares = MIXED_SMOOTHING / own, BYSTANDER_SHARE / max(bystanders, 1), UNNAMED_SMOOTHING / own
    return np.asarray(total * np.array(shares)[parts])


def plan_beside(setting: Setting, plan: Plan) -> Plan:
    """Return the same rounds for candidates and bystanders."""
    L = len(setting.candidates.start)
    return plan._replace(smoothing=smoothing_beside(L, len(setting.bystanders)))


def beside_bystanders(setting: Setting, plan: Plan) -> Iterator[State]:
    """Run the rounds; yield the start and the state after each round, of all classes from the third."""
    alone = plan._replace(smoothing=MIXED_SMOOTHING, rounds=min(plan.rounds, ROUNDS_ALONE))
    for state in adapt(setting.pool, setting.candidates.prior, setting.start(alone), alone):
        yield state
    joined = adapt(
        setting.pool,
        setting.prior,
        widened(state.assignment, len(setting.bystanders)),
        plan_beside(setting, plan),
    )
    next(joined)  # the labels of the last round
    yield from joined


def widened(state: Assignment, classes: int) -> Assignment:
    """Return the same soft labels beside more classes, which have no row yet."""
    return state._replace(
        biases=np.append(state.biases, np.zeros(classes)),
        labels=np.pad(np.asarray(state.labels), ((0, 0), (0, classes))),
    )
