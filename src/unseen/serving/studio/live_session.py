"""A session while it is open: its data, its results, and the work that goes on, whoever looks."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unseen.labelling import PoolData, rows_to_review
from unseen.metrics import unsure
from unseen.serving.studio import data_sources
from unseen.serving.studio.outcomes import NONE_OF_THESE, Outcome, Snapshot, learn
from unseen.serving.studio.sessions import Session
from unseen.typing import Array

if TYPE_CHECKING:
    from unseen.serving.studio.app import Library


LEAST_TO_REVIEW = 24
"""Pictures to look at first, however sure all of them are."""


class Stopped(Exception):
    """A person asked for an end."""


@dataclass
class Work:
    """What goes on now."""

    text: str = ""
    share: float | None = None
    """How much of it is done; None if that is not known."""
    going: bool = False


@dataclass(eq=False)
class LiveSession:
    """A session that is open, shared by all pages that show it.

    Pages ask for ``version`` a few times a second, and draw again when it has grown.

    Parameters
    ----------
    session : Session
    library : Library
        What all sessions share.
    """

    session: Session
    library: Library
    work: Work = field(default_factory=Work)
    problem: str = ""
    version: int = 0
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    rounds: dict[str, list[Snapshot]] = field(default_factory=dict)
    """The rounds so far of each method."""
    earlier: Array | None = None
    """The labels of the first method before it learned last."""
    key: str = ""
    """Of the pictures."""
    data: PoolData | None = None
    """What is labelled, once it was read."""
    _rows: dict[str, int] = field(default_factory=dict)
    _queue: list[int] = field(default_factory=list)
    _stop: bool = False

    @property
    def marked(self) -> dict[int, str]:
        """Row of the pool → what a person said of it: its class, or that it belongs to none."""
        return {self._rows[i]: label for i, label in self.session.labels.items() if i in self._rows}

    @property
    def results(self) -> list[Outcome]:
        """The results, with the labels that were given since."""
        given = self.marked
        return [outcome.with_labels(given) for outcome in self.outcomes.values()]

    @property
    def changed_rows(self) -> list[int]:
        """Rows whose label is another since the last time, but for those that a person labelled."""
        if self.earlier is None or not self.outcomes:
            return []
        now = next(iter(self.outcomes.values())).fitted.predicted
        rows = np.flatnonzero(np.asarray(self.earlier) != now).tolist()
        return [row for row in rows if row not in self.marked]

    @property
    def rows_to_review(self) -> list[int]:
        """Rows to look at first, without those that a person has labelled since."""
        marked = self.marked
        return [row for row in self._queue if row not in marked]

    def history(self, method: str) -> list[Snapshot]:
        """Return the rounds of a method: of its result, or so far."""
        outcome = self.outcomes.get(method)
        return self.rounds.get(method, []) if outcome is None else outcome.history

    def snapshot(self, method: str, shown_round: int | None) -> Snapshot:
        """Return the pool after a round of a method, or None for its result with the labels since."""
        if shown_round is not None:
            return self.history(method)[shown_round]
        return self.outcomes[method].with_labels(self.marked).result

    def columns(self, method: str, snapshot: Snapshot) -> list[str]:
        """Return the classes of a snapshot's columns; the last may stand for none of these."""
        outcome = self.outcomes.get(method)
        assert self.data is not None
        names = self.data.candidates if outcome is None else outcome.fitted.task.data.candidates
        return [*names, NONE_OF_THESE][: snapshot.probabilities.shape[1]]

    def give(self, row: int, label: str | None) -> None:
        """Keep the label that a person gave a picture; None takes it back."""
        assert self.data is not None
        self.session.give(self.data.items[row], label)
        self._keep()

    def take_back(self) -> None:
        """Take the last label back."""
        if self.session.take_back() is not None:
            self._keep()

    def rename(self, name: str) -> None:
        """Give the session another name."""
        if name.strip():
            self.session.name = name.strip()
            self._keep()

    def stop(self) -> None:
        """Ask the work to end; it does between two pictures or rounds."""
        self._stop = True
        self.work.text = "Stopping …"
        self.version += 1

    async def run(self, again: bool = True) -> None:
        """Read the data if that was not done, and learn.

        Parameters
        ----------
        again : bool
            Whether with all labels that were given; otherwise with those of the last time, which makes
            the result of a session that was opened again.
        """
        if self.work.going:
            return
        self._stop, self.problem, self.work = False, "", Work("Waiting …", None, True)
        self.version += 1
        try:
            async with self.library.fitting:
                await self._read()
                await self._learn(self.session.labels if again else self.session.learned_with)
        except Stopped:
            self.problem = "Stopped. What was read is kept, and so is the last result if there was one."
        except (ValueError, OSError) as error:  # DataError is a ValueError
            self.problem = str(error)
        except Exception as error:  # a fault of ours: the page says so, and the session goes on
            logging.getLogger(__name__).exception("the work of a session failed")
            self.problem = f"This failed, and should not have: {type(error).__name__}: {error}"
        finally:
            self.work = Work()
            self.version += 1

    async def _read(self) -> None:
        if self.data is not None:
            return
        loop = asyncio.get_running_loop()

        def tell(done: int, total: int) -> None:
            if self._stop:
                raise Stopped
            loop.call_soon_threadsafe(
                self._show, f"Reading: {done:,} of {total:,}", done / max(total, 1)
            )

        self._show("Reading …", None)
        source, library = self.session.source, self.library
        self._use(await asyncio.to_thread(lambda: data_sources.read_source(source, library, tell)))

    def _use(self, data: PoolData) -> None:
        self.data, self.key = data, self.library.add(data)
        self._rows = {item: row for row, item in enumerate(data.items)}

    async def _learn(self, labels: dict[str, str]) -> None:
        assert self.data is not None
        last, before = self.outcomes, self.labelled_items()
        given = {self._rows[i]: label for i, label in labels.items() if i in self._rows}
        outcomes: dict[str, Outcome] = {}
        self.rounds, self.outcomes = {}, {}
        try:
            for name in self.session.methods:
                self._show(f"{name}: learning …", None)
                outcomes[name] = await self._watch(name, given)
        except BaseException:
            self.outcomes = last
            raise
        self.earlier = np.array([before[i] for i in self.data.items]) if before else None
        self._queue = await asyncio.to_thread(_rows_to_review, next(iter(outcomes.values())))
        self.outcomes = outcomes
        self.session.learned, self.session.learned_with = True, dict(labels)
        self._keep()
        await asyncio.to_thread(self._keep_labels, outcomes)

    def labelled_items(self) -> dict[str, str]:
        """Return item → label of the first method, of the last time that it learned."""
        outcome = next(iter(self.outcomes.values()), None)
        if outcome is None or self.data is None:
            return {}
        return dict(zip(self.data.items, outcome.fitted.predicted.tolist(), strict=True))

    async def _watch(self, name: str, given: dict[int, str]) -> Outcome:
        """Learn in a thread; take each round as it comes, slowly enough to be seen."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Snapshot | None]()
        history = self.rounds.setdefault(name, [])

        def hand_over(snapshot: Snapshot) -> None:
            if self._stop:
                raise Stopped
            loop.call_soon_threadsafe(queue.put_nowait, snapshot)

        def work() -> Outcome:
            assert self.data is not None
            try:
                return learn(self.data, name, given, hand_over, self.session.source.strangers)
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        task = asyncio.ensure_future(asyncio.to_thread(work))
        while (snapshot := await queue.get()) is not None:
            history.append(snapshot)
            self._show(f"{name}: round {snapshot.number}", None)
            await asyncio.sleep(self.library.pace)
        return await task

    def _show(self, text: str, share: float | None) -> None:
        self.work = Work(text, share, True)
        self.version += 1

    def _keep(self) -> None:
        self.library.sessions.save(self.session)
        self.version += 1

    def _keep_labels(self, outcomes: dict[str, Outcome]) -> None:
        place = self.library.sessions.place(self.session.identity)
        for name, outcome in outcomes.items():
            outcome.fitted.labels().write(place / f"labels-{name}.csv")


def _rows_to_review(outcome: Outcome) -> list[int]:
    """Return the unsure rows, least sure first; then those of which a label helps most."""
    given, confidence = outcome.fitted.task.corrections, outcome.result.confidence
    order = np.argsort(confidence, kind="stable")
    doubtful = [int(row) for row in order[: int(unsure(confidence).sum())] if int(row) not in given]
    helpful = rows_to_review(outcome.fitted, LEAST_TO_REVIEW)
    return list(dict.fromkeys([*doubtful, *helpful]))[: max(len(doubtful), LEAST_TO_REVIEW)]
