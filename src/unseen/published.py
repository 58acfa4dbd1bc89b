"""The form in which authors published a method: every choice, and where it is known from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from unseen.typing import CandidateClasses

PAPER = "paper"
"""The method's paper describes it so."""
CODE = "code"
"""The authors' public code does so; the paper leaves it open or says otherwise."""
UNVERIFIED = "not verified"
"""Neither the paper's text nor its code could be read: a common reading of the method."""
SOURCES = (PAPER, CODE, UNVERIFIED)


@dataclass(frozen=True)
class PublishedChoice:
    """One choice of a published form.

    Parameters
    ----------
    parameter : str
        The parameter of the estimator; "" for what holds whatever the parameters are.
    value : object
        What the authors' form gives it.
    source : {"paper", "code", "not verified"}
    note : str
        What the source says, in a sentence.

    Examples
    --------
    >>> print(sets("C", 0.1, PAPER, "Section V-A fixes C = 0.1."))
    C=0.1 (paper): Section V-A fixes C = 0.1.
    """

    parameter: str
    value: object
    source: str
    note: str

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(
                f"source must be one of {', '.join(SOURCES)}. Got {self.source!r} instead."
            )

    def __str__(self) -> str:
        head = f"{self.parameter}={self.value!r} " if self.parameter else ""
        return f"{head}({self.source}): {self.note}"


def sets(parameter: str, value: object, source: str, note: str) -> PublishedChoice:
    """Return the value that a published form gives to a parameter."""
    return PublishedChoice(parameter, value, source, note)


def holds(source: str, note: str) -> PublishedChoice:
    """Return what holds of a published form whatever the parameters are."""
    return PublishedChoice("", None, source, note)


def choices(*given: PublishedChoice) -> tuple[PublishedChoice, ...]:
    """Return the choices of a published form, for the class attribute ``published``."""
    return given


class PublishedForm:
    """What gives every estimator ``as_published``. A class with a ``published`` list documents it."""

    published: ClassVar[tuple[PublishedChoice, ...] | None] = None
    """The settings of the authors' form; None for a class that is no published method."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        settings = vars(cls).get("published")
        if settings and cls.__doc__:
            lines = "".join(f"\n    - {choice}" for choice in settings)
            cls.__doc__ += (
                f"\n\n    ``as_published`` sets, with the source of each choice:\n{lines}\n    "
            )

    @classmethod
    def as_published(
        cls,
        semantics: object = None,
        candidates: CandidateClasses | None = None,
        **changes: object,
    ) -> Self:
        """Return the method in its authors' form, unfitted.

        Features are used as they are given: nothing of ours (whitening, balanced classes, predicted
        starts) is added. ``published`` lists every choice with its source.

        Parameters
        ----------
        semantics, candidates
            As in the constructor; None leaves its default.
        **changes
            Parameters that differ from the authors' form.
        """
        if cls.published is None:
            raise ValueError(f"{cls.__name__} has no published form. Use {cls.__name__}(...).")
        settings = {s.parameter: s.value for s in cls.published if s.parameter}
        if candidates is not None:
            changes["candidates"] = candidates
        return cls(**({"semantics": semantics} | settings | changes))
