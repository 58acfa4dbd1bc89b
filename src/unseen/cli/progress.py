"""How far an extraction is: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:  # the features' libraries are loaded by the commands that need them
    from unseen.features import Progress
    from unseen.typing import Array

SECONDS_BETWEEN_LINES = 5.0
WINDOW_SECONDS = 30.0
"""The speed is that of so many seconds."""
MOMENT_SECONDS = 0.05
"""Items that are done within so many seconds came in one batch."""
INTERRUPTED_EXIT_CODE = 130


class TimeLeft:
    """The time that the rest will take, from the speed of the last half minute.

    Items that are known from before take no time. They usually come first, so that the clock starts
    with the first item that is computed. A batch is done all at once: its items count as one moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._moments: deque[tuple[float, int]] = deque()

    def after(self, progress: Progress) -> float | None:
        """Return the seconds that are left, or None if that cannot be said yet."""
        if progress.done == progress.reused + progress.broken:
            return None
        now, moments = self._clock(), self._moments
        if moments and now - moments[-1][0] < MOMENT_SECONDS:
            moments[-1] = moments[-1][0], progress.done
        else:
            moments.append((now, progress.done))
        while len(moments) > 3 and now - moments[0][0] > WINDOW_SECONDS:
            moments.popleft()
        if len(moments) < 3:
            return None
        (first, done_at_first), (last, done_at_last) = moments[0], moments[-2]  # the last one may go on
        return (progress.total - progress.done) * (last - first) / max(done_at_last - done_at_first, 1)


def time_text(seconds: float | None) -> str:
    """Return a time as a person would say it; "" for None.

    >>> time_text(42.0), time_text(200.0), time_text(9000.0), time_text(None)
    ('about 40 s left', 'about 3 min left', 'about 2.5 h left', '')
    """
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    minutes = seconds / 60
    return f"about {minutes:.0f} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


class Progression:
    """What an extraction and a fit call as they go on; shows it on the error stream."""

    def __init__(self, bar: Bar, kind: str, then: str, clock: Callable[[], float]) -> None:
        self._bar, self._kind, self._then, self._clock = bar, kind, then, clock
        self._task = bar.add_task(kind, total=None, note="")
        self._left = TimeLeft(clock)
        self._last_line = clock()
        self.done = self.total = 0

    def __call__(self, progress: Progress) -> None:
        """Show how many items are done."""
        self.done, self.total = progress.done, progress.total
        left = time_text(self._left.after(progress))
        parts = [f"{progress.reused} known from before"] * bool(progress.reused)
        parts += [f"{progress.broken} skipped"] * bool(progress.broken) + [left] * bool(left)
        note = ", ".join(parts)
        self._bar.update(self._task, total=progress.total, completed=progress.done, note=note)
        if progress.done == progress.total and self._then:
            self._bar.update(self._task, description=self._then, note="")
        self._line(f"{self._kind}: {progress.done} of {progress.total}" + f", {note}" * bool(note))

    def round(self, number: int, probabilities: Array) -> None:
        """Show the round of a method that learns in rounds."""
        self._bar.update(self._task, note=f"round {number}")
        self._line(f"{self._then or self._kind}: round {number}")

    def _line(self, text: str) -> None:
        """Write a line, where there is no bar and the last line was some seconds ago."""
        if self._bar.disable and self._clock() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = self._clock()
            typer.echo(text, err=True)


@contextmanager
def extracting(
    then: str = "", kind: str = "photographs", clock: Callable[[], float] = time.monotonic
) -> Iterator[Progression]:
    """Show the progress of an extraction; an interruption says what is kept, and how to go on.

    Parameters
    ----------
    then : str
        What is said when all photographs or texts are done.
    kind : str
        What is counted.
    clock : callable
        Returns seconds.
    """
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    quiet = logging.getLogger("unseen.features")
    before, quiet.level = quiet.level, logging.ERROR  # skipped pictures are told at the end
    with bar:
        progression = Progression(bar, kind, then, clock)
        try:
            yield progression
        except KeyboardInterrupt:
            bar.stop()
            typer.echo(_stopped(progression, kind), err=True)
            raise typer.Exit(INTERRUPTED_EXIT_CODE) from None
        finally:
            quiet.setLevel(before)


def _stopped(progression: Progression, kind: str) -> str:
    """Say what an interruption left."""
    if not progression.done:
        return "Stopped before anything was computed. Nothing was written."
    return (
        f"Stopped. What was computed of {progression.done} of {progression.total} {kind} is kept; the "
        "same command goes on from there. Nothing else was written."
    )
