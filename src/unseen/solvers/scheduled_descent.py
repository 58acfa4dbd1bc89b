"""The descent of the paper on ASTE: rounds of mini-batches with step sizes 1, 0.1, 0.01.

Eq. (14) is V ← V − η ∂ℓ/∂V. Section V-A: batches of 50, η from {1, 0.1, 0.01} one after the other with
50 steps each as a round, V at first drawn from the normal distribution. Algorithm 1 repeats this until
the loss is under a tolerance ε, which is not stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np

from unseen.exceptions import DivergenceError
from unseen.solvers.gradient_descent import Loss, descend
from unseen.solvers.losses import adaptive_structural_cost
from unseen.typing import Array, Codes

RATES = (1.0, 0.1, 0.01)
STEPS_OF_A_RATE = 50
BATCH_ROWS = 50

PAPER = "paper"
"""Step sizes and start as printed, in the units of the features."""
CURVATURE = "curvature"
"""Step sizes divided by the curvature of the loss, and a start of the scale of one such step."""


@dataclass(frozen=True)
class Schedule:
    """How long the descent runs, and in which units its steps are.

    Parameters
    ----------
    rounds : int
        Rounds at most.
    step_scale : "curvature", "paper" or float
        What the rates 1, 0.1, 0.01 are multiplied by: 1/curvature, 1, or a number.
    start_scale : "curvature", "paper" or float
        Standard deviation of the normal start: that of one step, 1, or a number.
    epsilon : float, optional
        Stop after a round whose objective is below; None runs all rounds.
    """

    rounds: int
    step_scale: float | str = CURVATURE
    start_scale: float | str = CURVATURE
    epsilon: float | None = None

    def start(self, shape: tuple[int, int], curvature: float, random: np.random.Generator) -> Array:
        """Draw V from the normal distribution."""
        scale = self._in_units(self.start_scale, 1 / np.sqrt(curvature * shape[0]))
        return random.normal(size=shape) * scale

    def steps(self, curvature: float) -> tuple[float, ...]:
        """Return the step sizes of one round."""
        scale = self._in_units(self.step_scale, 1 / curvature)
        return tuple(chain.from_iterable(repeat(rate * scale, STEPS_OF_A_RATE) for rate in RATES))

    @staticmethod
    def _in_units(value: float | str, of_curvature: float) -> float:
        return {PAPER: 1.0, CURVATURE: of_curvature}[value] if isinstance(value, str) else float(value)


def scheduled_descent(
    X: Array,
    codes: Codes,
    A: Array,
    loss: Loss,
    V: Array,
    schedule: Schedule,
    curvature: float,
    *,
    random: np.random.Generator,
    weights: Array | None = None,
    decay: Array | float = 0.0,
    ridge: float = 0.0,
    objective: Callable[[Array], float] | None = None,
) -> tuple[Array, int]:
    """Descend by Algorithm 1; return V and how many rounds it took.

    ``decay`` and ``ridge`` are as in :func:`unseen.solvers.gradient_descent.descend`; ``objective``
    is asked after each round if the schedule has an ε.

    Raises
    ------
    DivergenceError
        If V is no longer finite.
    """
    one_round = schedule.steps(curvature)
    for done in range(1, schedule.rounds + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            V = descend(
                X,
                codes,
                A,
                loss,
                V,
                one_round,
                batch=BATCH_ROWS,
                random=random,
                weights=weights,
                decay=decay,
                ridge=ridge,
                averaged=False,
            )
        if not np.isfinite(V).all():
            raise DivergenceError(
                f"The descent diverged in round {done} of {schedule.rounds}: its first step size is "
                f"{one_round[0]:.3g}, and the curvature of the loss allows about {1 / curvature:.3g}. "
                "Give step_scale='curvature', which divides the steps by it, or a smaller number."
            )
        if objective is not None and schedule.epsilon is not None and objective(V) < schedule.epsilon:
            return V, done
    return V, schedule.rounds


def two_domain_cost(seen: int) -> Loss:
    """Return the loss of TASTE: Eq. (13) on labelled rows, Eq. (21) on rows with a pseudo-label.

    Scores have one column for each of the ``seen`` classes and then one for each candidate; codes below
    ``seen`` are labels, the others pseudo-labels.

    Examples
    --------
    >>> scores = np.array([[0.7, 0.3, 9.0, 9.0], [9.0, 9.0, 0.8, 0.1]])
    >>> cost, gradient = two_domain_cost(2)(scores, np.array([0, 2]))
    >>> cost.round(2), gradient.round(2)
    (array([0.18, 0.05]), array([[-0.6,  0.6,  0. ,  0. ],
           [ 0. ,  0. , -0.4,  0.2]]))
    """

    def loss(scores: Array, codes: Codes) -> tuple[Array, Array]:
        cost, gradient = np.zeros(len(scores)), np.zeros_like(scores)
        labelled = codes < seen
        structural = adaptive_structural_cost(scores[labelled, :seen], codes[labelled])
        cost[labelled], gradient[labelled, :seen] = structural
        error = scores[~labelled, seen:].copy()
        error[np.arange(len(error)), codes[~labelled] - seen] -= 1
        cost[~labelled], gradient[~labelled, seen:] = np.einsum("ij,ij->i", error, error), 2 * error
        return cost, gradient

    return loss
