"""What ASTE, TASTE and SJE share when they descend as the paper does: schedule, start, coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unseen.inductive.bilinear import BilinearClassifier, semantic_coordinates
from unseen.inductive.eszsl import ESZSL
from unseen.rows.labelled import Rows
from unseen.solvers.scheduled_descent import CURVATURE, PAPER, Schedule
from unseen.typing import Array, RandomState


def descent_generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator of the start and of the batches."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


def descent_schedule(model: Any, rounds: str = "max_iter") -> Schedule:
    """Return the schedule that the parameters of an estimator ask for, checked."""
    for name in ("step_scale", "start_scale"):
        value = getattr(model, name)
        if isinstance(value, str) and value not in (CURVATURE, PAPER):
            model._refuse(name, "'curvature', 'paper' or a number > 0")
        if not isinstance(value, str) and not value > 0:
            model._refuse(name, "'curvature', 'paper' or a number > 0")
    scales = model.step_scale, model.start_scale
    return Schedule(getattr(model, rounds), *scales, getattr(model, "epsilon", None))


def descent_coordinates(A: Array, schedule: Schedule) -> tuple[Array, Array]:
    """Return A in an orthonormal basis: of its span, or of the whole space for a start as printed."""
    if schedule.start_scale != PAPER:
        return semantic_coordinates(A)
    E, _, _ = np.linalg.svd(A, full_matrices=True)
    return E.T @ A, E


def descent_start(
    model: BilinearClassifier,
    rows: Rows,
    A: Array,
    E: Array,
    schedule: Schedule,
    curvature: float,
    random: np.random.Generator,
    held: Rows | None,
) -> Array:
    """Return V to start from, in the coordinates of E: normal, or ESZSL's solution on these rows."""
    init = model.get_params(deep=False)["init"]
    if init == "normal":
        return schedule.start((rows.X.shape[1], E.shape[1]), curvature, random)
    if init == "zero":
        return np.zeros((rows.X.shape[1], E.shape[1]))
    if init != "eszsl":
        model._refuse("init", "'normal', 'zero' or 'eszsl'")
    closed = ESZSL(model.semantics)
    closed._fit(rows, A.T, held)
    return np.asarray(closed.compatibility_.astype(float) @ E)
