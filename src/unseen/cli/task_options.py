"""Options that decide what a labelling task is: who learns, what is known, and what may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.exceptions import DataError

if TYPE_CHECKING:
    from unseen.labelling import PoolData, Task

Unknown = Annotated[
    str,
    typer.Option(
        metavar="LABEL",
        help="Items may belong to none of the classes: the label for them, as 'none of these'. How "
        "likely each is one of them goes into a column 'stranger'.",
        show_default=False,
    ),
]
Strangers = Annotated[
    str,
    typer.Option(
        metavar="SHARE",
        help="How many items belong to none of the classes, if you know: 0.1 for one in ten. Else "
        "'auto', with --unknown: learned from labelled items of at least ten classes, and careful.",
        show_default=False,
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        "--set",
        metavar="COVERAGE",
        help="Also write a column 'set': the fewest classes that should hold the right one so often, "
        "as 0.9.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class TaskOptions:
    """The options that make a task of a pool."""

    method: str
    seed: int = 0
    known: Path | None = None
    unknown: str = ""
    strangers: str = ""

    def check(self, labelled_classes: Sequence[str]) -> None:
        """Refuse what the method could not do, before anything is computed."""
        from unseen import labelling

        labelling.check_strangers(self.method, self._share(), len(set(labelled_classes)))

    def task(self, data: PoolData) -> Task:
        """Return the task."""
        from unseen import labelling

        share = self._share()
        unknown = self.unknown or labelling.UNKNOWN
        known = labelling.read_known(self.known, data, unknown)
        return labelling.Task(data, self.method, self.seed, known, share, unknown)

    def _share(self) -> float | str | None:
        if not self.strangers:
            return "auto" if self.unknown else None
        if self.strangers == "auto":
            return "auto"
        try:
            share = float(self.strangers)
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            raise DataError(
                f"--strangers takes 'auto' or a share between 0 and 1, as 0.1. Got {self.strangers!r}."
            )
        return share
