"""The answers: one line a picture, those to look at first in front."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets.safety import atomic_file
from unseen.metrics import per_class_accuracy
from unseen.typing import Array

COLUMNS = ("image", "label", "confidence", "runner_up", "round")
UNSURE = 0.5
"""Confidence below which an answer is to be looked at."""


@dataclass(frozen=True)
class Answer:
    """One line of ``labels.csv``."""

    image: str
    """Relative to the folder."""
    label: str
    confidence: float
    """The probability of the label, among the candidates."""
    runner_up: str
    """The next best class, or "" if there is one candidate only."""
    round: int | None
    """The round that first trusted the label; None if none did, or the method has no rounds."""
    truth: str = ""
    """Its class, where that is known: in a trial."""

    @property
    def unsure(self) -> bool:
        """Whether a person should look at it."""
        return self.confidence < UNSURE


@dataclass(frozen=True)
class Labels:
    """All answers, least confident first."""

    answers: list[Answer]
    candidates: list[str]
    root: Path
    accuracy: float | None = None
    """Per-class top-1 accuracy of a trial."""
    by_class: dict[str, float] = field(default_factory=dict)

    @property
    def unsure(self) -> list[Answer]:
        """The answers to look at."""
        return [a for a in self.answers if a.unsure]

    @property
    def counts(self) -> dict[str, int]:
        """How many pictures each candidate got."""
        found = dict.fromkeys(self.candidates, 0)
        for answer in self.answers:
            found[answer.label] = found.get(answer.label, 0) + 1
        return found

    def write(self, path: Path) -> None:
        """Write ``image,label,confidence,runner_up,round``."""
        with (
            atomic_file(path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for a in self.answers:
                shown = "" if a.round is None else a.round
                writer.writerow([a.image, a.label, f"{a.confidence:.4f}", a.runner_up, shown])


def answers_of(
    model: Any,
    X: Array,
    paths: Sequence[Path],
    root: Path,
    rounds: Array | None = None,
    truth: Sequence[str] = (),
) -> Labels:
    """Ask a fitted model for the pictures of ``X`` and put the least sure answers first.

    Parameters
    ----------
    rounds : array, optional
        The round that first trusted each row; -1 for never.
    truth : sequence of str
        The classes, in a trial.
    """
    probabilities = np.asarray(model.predict_proba(X))
    classes = [str(c) for c in model.classes_.tolist()]
    order = np.argsort(-probabilities, axis=1, kind="stable")
    several = len(classes) > 1
    answers = [
        Answer(
            paths[i].relative_to(root).as_posix(),
            classes[order[i, 0]],
            float(probabilities[i, order[i, 0]]),
            classes[order[i, 1]] if several else "",
            None if rounds is None or rounds[i] < 1 else int(rounds[i]),
            truth[i] if truth else "",
        )
        for i in range(len(paths))
    ]
    answers.sort(key=lambda a: (a.confidence, a.image))
    if not truth:
        return Labels(answers, classes, root)
    right: dict[str, list[bool]] = {}
    for a in answers:
        right.setdefault(a.truth, []).append(a.label == a.truth)
    by_class = {name: float(np.mean(right[name])) for name in sorted(right)}
    accuracy = per_class_accuracy([a.truth for a in answers], [a.label for a in answers])
    return Labels(answers, classes, root, float(accuracy), by_class)
