"""The formula of a model's scores, for programs that compute them elsewhere.

    z = the row x after its steps,   mₖ = B aₖ + b + dₖ,   sₖ = α z·mₖ − β‖mₖ‖² − γ‖z‖² + oₖ

aₖ is the vector of a class. A class that comes later has no correction dₖ and no offset oₖ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from unseen.statistics.semantic_process import ClassFeatures
from unseen.typing import Array


@dataclass(frozen=True)
class Affine:
    """The step x → (x − center) M; a ``matrix`` of one dimension is a diagonal."""

    center: Array
    matrix: Array


@dataclass(frozen=True)
class SignedRoot:
    """The step x → sgn(x)·√|x| in every entry."""


@dataclass(frozen=True)
class UnitLength:
    """The step x → x/‖x‖; a zero row stays zero."""


Step = Affine | SignedRoot | UnitLength


@dataclass(frozen=True)
class Scorer:
    """The scores of a model, as the module says."""

    coef: Array
    """B, of shape (p, q)."""
    intercept: Array | None = None
    """b, of shape (p,)."""
    corrections: Array | None = None
    """dₖ, of shape (L, p)."""
    offsets: Array | None = None
    """oₖ, of shape (L,)."""
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """α, β and γ."""
    steps: tuple[Step, ...] = ()
    features: ClassFeatures | None = None
    """φ: where it is given, mₖ = B φ(aₖ) + b + dₖ."""
    unit_points: bool = False
    """Scale mₖ to unit length; with UnitLength as the last step, scores are cosines."""

    def after(self, *steps: Step) -> Self:
        """Return the scorer of rows that go through these steps first."""
        return replace(self, steps=steps + self.steps)
