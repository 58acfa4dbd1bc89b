"""The answers: one line a picture or text, those to look at first in front."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from unseen.features import Broken
from unseen.files import atomic_file
from unseen.metrics import ERROR, brier_score, per_class_accuracy, reliability, unsure
from unseen.metrics.probabilities import Reliability
from unseen.spreadsheet_cells import neutral_cell
from unseen.typing import Array, Mask

Kind = Literal["photographs", "texts"]
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "photographs": ("image", "label", "confidence", "runner_up"),
    "texts": ("row", "text", "label", "confidence", "unsure", "runner_up", "start"),
}
SET_SEPARATOR = "|"
"""Between the classes of a prediction set, in a cell of the CSV."""


@dataclass(frozen=True)
class Answer:
    """One line of ``labels.csv``."""

    item: str
    """The picture, relative to the folder; or the row of the text in its file, from 0."""
    label: str
    confidence: float
    """The probability of the label, among the candidates and, where it may be said, none of them."""
    runner_up: str
    """The next best class, or "" if there is one candidate only."""
    truth: str = ""
    """Its class, where that is known: in a trial."""
    text: str = ""
    """The text itself; "" for a picture."""
    start: str = ""
    """The first answer, of a method that corrects one."""
    error: float = ERROR
    """The probability of being wrong above which a person should look at it."""
    stranger: float | None = None
    """The probability of belonging to no candidate; None if nobody asked."""
    set: tuple[str, ...] = ()
    """The classes that are left, likeliest first, if prediction sets were asked for."""

    @property
    def wrong(self) -> bool:
        """Whether the right class is known, and another one."""
        return bool(self.truth) and self.truth != self.label

    @property
    def unsure(self) -> bool:
        """Whether a person should look at it."""
        return bool(unsure([self.confidence], self.error)[0])


@dataclass(frozen=True)
class Labels:
    """All answers, least confident first."""

    answers: list[Answer]
    candidates: list[str]
    root: Path
    accuracy: float | None = None
    """Per-class top-1 accuracy of a trial."""
    by_class: dict[str, float] = field(default_factory=dict)
    kind: Kind = "photographs"
    start_accuracy: float | None = None
    """Per-class top-1 accuracy of the first answer in a trial, of a method that corrects one."""
    unread: dict[str, str] = field(default_factory=dict)
    """Files that were not read → why; they have no answer."""

    error: float = ERROR
    """The probability of being wrong above which an answer is unsure."""
    unknown: str = ""
    """The label of items that belong to no candidate; "" if nobody asked."""
    reliability: Reliability | None = None
    """Confidence against the share of right answers, in a trial."""
    brier: float | None = None
    """The Brier score of a trial."""
    coverage: float | None = None
    """How often a prediction set should hold the right class, if sets were asked for."""

    def expecting(self, error: float | None) -> Labels:
        """Return the same answers, unsure where they are wrong with a larger probability than this.

        None leaves it at one in ten.
        """
        if error is None:
            return self
        return replace(self, error=error, answers=[replace(a, error=error) for a in self.answers])

    @property
    def unsure(self) -> list[Answer]:
        """The answers to look at."""
        return [a for a in self.answers if a.unsure]

    @property
    def answered(self) -> list[str]:
        """The labels that an item can have: the candidates, and that of strangers if it was asked."""
        return [*self.candidates, *[self.unknown] * bool(self.unknown)]

    @property
    def counts(self) -> dict[str, int]:
        """How many pictures or texts each candidate got, and how many belong to none."""
        counts = dict.fromkeys(self.answered, 0)
        for answer in self.answers:
            counts[answer.label] = counts.get(answer.label, 0) + 1
        return counts

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the answers: those that all have, and those that were asked for."""
        first = self.kind == "photographs" and any(a.start for a in self.answers)
        asked = {"start": first, "stranger": self.unknown, "set": self.coverage}
        return (*COLUMNS[self.kind], *(name for name, wanted in asked.items() if wanted))

    def write(self, path: Path) -> None:
        """Write a CSV with these ``columns``.

        Files that were not read come last, without a label, and a column ``problem`` says why; there is
        no such column if all were read.

        A name that a spreadsheet would run as a formula has an apostrophe in front; the readers of this
        library take it off again.
        """
        with (
            atomic_file(path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            columns = self.columns
            writer.writerow([*columns, *["problem"] * bool(self.unread)])
            for answer in self.answers:
                cells = [_cell(answer, name) for name in columns] + [""] * bool(self.unread)
                writer.writerow([neutral_cell(cell) for cell in cells])
            for item, reason in self.unread.items():
                cells = [item, *[""] * (len(columns) - 1), reason]
                writer.writerow([neutral_cell(str(cell)) for cell in cells])


def _cell(answer: Answer, column: str) -> str:
    """Return what stands in a column of the CSV."""
    if column in ("image", "row"):
        return answer.item
    value = getattr(answer, column)
    if column == "unsure":
        return "yes" if value else "no"
    if column == "set":
        return SET_SEPARATOR.join(value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def answers_of(
    probabilities: Array,
    classes: list[str],
    items: Sequence[str],
    root: Path,
    truth: Sequence[str] = (),
    texts: Sequence[str] | None = None,
    start: Sequence[str] = (),
    unread: Sequence[Broken] = (),
    strangers: Array | None = None,
    sets: Mask | None = None,
    coverage: float | None = None,
) -> Labels:
    """Return the answers for pictures or texts, least confident first.

    Parameters
    ----------
    probabilities : array of shape (n, L)
        One row a picture or text, one column a class.
    classes : list of str
        Of the columns.
    items : sequence of str
        The names of the pictures, or the rows of the texts.
    root : path
        The folder that the names of the pictures are relative to, or the file of the texts.
    truth : sequence of str
        The classes, in a trial; "" for a row whose class is not known.
    texts : sequence of str, optional
        The texts, if these are answers for texts.
    start : sequence of str
        The first answers, of a method that corrects them.
    unread : sequence of Broken
        Files that were not read.
    strangers : array of shape (n,), optional
        The probability of belonging to no candidate; the last class is then the label of such items.
    sets : array of shape (n, L), optional
        The prediction set of each row; ``coverage`` is how often they should hold the right class.
    """
    kind: Kind = "photographs" if texts is None else "texts"
    order = np.argsort(-probabilities, axis=1, kind="stable")
    several = len(classes) > 1
    answers = [
        Answer(
            items[i],
            classes[order[i, 0]],
            float(probabilities[i, order[i, 0]]),
            classes[order[i, 1]] if several else "",
            truth[i] if truth else "",
            texts[i] if texts else "",
            start[i] if len(start) else "",
            stranger=None if strangers is None else float(strangers[i]),
            set=() if sets is None else tuple(classes[k] for k in order[i] if sets[i, k]),
        )
        for i in range(len(items))
    ]
    answers.sort(key=lambda a: (a.confidence, a.item if texts is None else ""))
    problems = {_name_in(root, item.path): item.reason for item in unread}
    candidates, unknown = (classes, "") if strangers is None else (classes[:-1], classes[-1])
    labels = Labels(
        answers, candidates, root, kind=kind, unread=problems, unknown=unknown, coverage=coverage
    )
    return _judged(labels, probabilities, classes, truth) if any(truth) else labels


def _judged(labels: Labels, probabilities: Array, classes: list[str], truth: Sequence[str]) -> Labels:
    """Return the labels of a trial with what they are worth."""
    judged = [a for a in labels.answers if a.truth]
    right: dict[str, list[bool]] = {}
    for a in judged:
        right.setdefault(a.truth, []).append(not a.wrong)
    before = None
    if judged[0].start:
        before = float(per_class_accuracy([a.truth for a in judged], [a.start for a in judged]))
    named = np.array([bool(label) for label in truth])
    return replace(
        labels,
        accuracy=float(per_class_accuracy([a.truth for a in judged], [a.label for a in judged])),
        by_class={name: float(np.mean(right[name])) for name in sorted(right)},
        start_accuracy=before,
        reliability=reliability(np.array(truth)[named], probabilities[named], classes),
        brier=brier_score(np.array(truth)[named], probabilities[named], classes),
    )


def _name_in(root: Path, path: Path) -> str:
    """Return the name of a file as the labels have it: relative to ``root`` if it lies there."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
