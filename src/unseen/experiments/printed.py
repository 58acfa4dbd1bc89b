"""How the paper on ASTE ran the methods that it ran itself, word for word: the preset "printed"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from unseen.exceptions import DataError


@dataclass(frozen=True)
class Printed:
    """What the paper's Section V says of one method."""

    note: str
    published: bool = False
    """Whether this is on top of the form of the method's authors, or of our defaults."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    fast_parameters: Mapping[str, object] = field(default_factory=dict)
    """What the fast form adds."""


_LITERALLY = {"step_scale": "paper", "start_scale": "paper"}
_FROM_ESZSL = {"init": "eszsl"}  # Section V-D: the fast forms start at the solution of ESZSL

PRINTED = {
    "LinearRegressionZSL": Printed(
        "Section V-D names LR; Eq. (26) maps rows to class vectors. Its weight is not stated: folds."
    ),
    "ESZSL": Printed("Section V-B: the parameters are picked via cross validation."),
    "SJE": Printed(
        "Section V-B: the settings are similar to those of ASTE.",
        parameters={"schedule": "rounds", **_LITERALLY},
        fast_parameters=_FROM_ESZSL,
    ),
    "ASTE": Printed(
        "Section V-A: step sizes 1, 0.1, 0.01 in the units of the features, a start of unit variance.",
        published=True,
        parameters=_LITERALLY,
        fast_parameters=_FROM_ESZSL,
    ),
    "TASTE": Printed(
        "The same, with θ = (0.5, 0.7, 0.9, 1)·δ and weight 1.",
        published=True,
        parameters=_LITERALLY,
        fast_parameters=_FROM_ESZSL,
    ),
}
"""The other methods of the paper's tables have the numbers of their own authors."""


def printed(method: str) -> Printed:
    """Return the settings with which the paper ran a method of its own tables.

    Examples
    --------
    >>> printed("ASTE").parameters["step_scale"]
    'paper'
    """
    if method not in PRINTED:
        raise DataError(
            f"The paper prints no settings for {method}: it quotes the number of the method's authors. "
            f"It prints them for {', '.join(PRINTED)}."
        )
    return PRINTED[method]
