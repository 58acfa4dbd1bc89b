"""Rounds beside seen classes that are no candidates, where rows of a pool may belong to no candidate.

Such seen classes are bystanders: they take the rows that they explain better, and stay where they are.
Candidates run two rounds alone first: their prototypes are predicted, those of bystanders are known, so
that from the start bystanders would take whole candidates. Where class shares are imposed, candidates
meet theirs among the rows that bystanders leave them; else their shares are learned, nearly equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unseen.statistics.adaptation import (
    MIXED_SMOOTHING,
    Assignment,
    Plan,
    State,
    Transduction,
    adapt,
)
from unseen.statistics.seen_model import Candidates, Prior, SeenModel
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


def smoothing_beside(candidates: int, bystanders: int, unnamed: int = 0) -> Array:
    """Return α for candidates, the bystanders behind them, and classes without a name at the end."""
    total, own = candidates + bystanders + unnamed, candidates + unnamed
    parts = np.repeat([0, 1, 2], [candidates, bystanders, unnamed])
    shares = MIXED_SMOOTHING / own, BYSTANDER_SHARE / max(bystanders, 1), UNNAMED_SMOOTHING / own
    return np.asarray(total * np.array(shares)[parts])


class Bystanders:
    """Seen classes beside the candidates: rows of the pool may be theirs."""

    def __init__(self, classes: Codes) -> None:
        self.classes = classes

    @classmethod
    def of(cls, classes: int, own: Codes) -> Bystanders:
        """Take the seen classes that are no candidates; ``own`` has the places of those that are."""
        return cls(np.setdiff1d(np.arange(classes), own))

    def prior(self, model: SeenModel, candidates: Candidates) -> Prior:
        """Return the prior of the candidates and, behind them, of bystanders, whose means are final."""
        prior, points = candidates.prior, model.space.of_means(model.means[self.classes])
        own = np.append(prior.own, np.full(len(points), np.inf))
        return replace(prior, prototypes=np.vstack([prior.prototypes, points]), own=own)

    def plan(self, plan: Plan, candidates: int) -> Plan:
        """Return the same rounds for candidates and bystanders."""
        return plan._replace(smoothing=smoothing_beside(candidates, len(self.classes)))

    def join(self, at: Transduction, plan: Plan) -> Iterator[State]:
        """Run rounds of all classes, from where the rounds of the candidates alone ended."""
        together = widened(at.state.assignment, len(self.classes))
        beside = self.plan(plan, len(at.candidates.start))
        rounds = adapt(at.pool, self.prior(at.model, at.candidates), together, beside)
        next(rounds)  # the labels of the last round
        return rounds


def alone(plan: Plan) -> Plan:
    """Return the rounds before bystanders join."""
    return plan._replace(smoothing=MIXED_SMOOTHING, rounds=min(plan.rounds, ROUNDS_ALONE))


def widened(state: Assignment, classes: int) -> Assignment:
    """Return the same soft labels beside more classes, which have no row yet."""
    return state._replace(
        biases=np.append(state.biases, np.zeros(classes)),
        labels=np.pad(np.asarray(state.labels), ((0, 0), (0, classes))),
    )
