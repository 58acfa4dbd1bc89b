"""What answers are worth: calibration, prediction sets, strangers, seen with unseen, and review.

    python benchmarks/answers.py                                   # every part on every set: an hour
    python benchmarks/answers.py --sets letters cub --parts calibration --methods TASTE inductive
    python benchmarks/answers.py --sets udhr_languages --draws 3   # other classes unseen, twice
    python benchmarks/answers.py --folds --draws 3                 # seen classes alone

Each part prints a table in Markdown, one line a set and method, the mean over the draws of unseen
classes (draw 0 is the split of the set); a cell that is done is reported on standard error:
calibration   expected calibration error in ten bins, Brier score, and coverage and mean size of
              prediction sets at 0.9
strangers     AUROC of strangers (a fifth of the pool) against the rows of candidates: real ones, rows
              of seen classes, classes that nobody named; accuracy on the other rows; false calls
generalised   U, S, H and AUSUC: unseen rows known as such, a mixed pool, inductive with an offset
review        points gained by labels of a few rows: chosen, least confident, at random
"animals" are the photographs beside the data, through EfficientNet-Lite0. "--rows" takes at most so
many rows of each class, to be quick; figures then differ from the full ones. With "--folds" only
training rows are read, and every draw holds out a quarter of the seen classes.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from answer_parts import PARTS, Figures
from draws import Source, draw, draws_of, load, names_at_hand
from settings import DATA, named_methods

from unseen.datasets import ZeroShotDataset
from unseen.rows.labelled import content_keys

METHODS = ("SelfPacedPrototypes", "TASTE", "ESZSL", "ASTE", "PrototypeRidge", "SAE")
TEST_ROWS = 5
"""Where a set has no test rows of seen classes: one training row in so many becomes one."""


class Cell(NamedTuple):
    """What was measured of one method on one draw of a set."""

    set_name: str
    draw: int
    part: str
    title: str
    figures: Figures


def few_rows(data: ZeroShotDataset, most: int | None) -> ZeroShotDataset:
    """Return at most ``most`` rows of each class in every part of the split, at random."""
    if most is None:
        return data
    random, given = np.random.default_rng(0), {}
    for part in ("train", "test_seen", "test_unseen"):
        rows = getattr(data, part)
        own = [random.permutation(rows[data.y[rows] == c])[:most] for c in np.unique(data.y[rows])]
        given[part] = np.sort(np.concatenate([rows[:0], *own]))
    return dataclasses.replace(data, **given)


def with_seen_test(data: ZeroShotDataset) -> ZeroShotDataset:
    """Return the data with test rows of seen classes: its own, or some of the training rows."""
    if len(data.test_seen):
        return data
    away = content_keys(np.asarray(data.X[data.train]), seed=1) % TEST_ROWS == 0
    return dataclasses.replace(data, train=data.train[~away], test_seen=data.train[away])


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Measure; yield each cell when it is done."""
    methods = list(dict.fromkeys(named_methods(options.methods)))
    for name in options.sets or names_at_hand(options.data):
        source: Source = load(name, options.data, options.folds)
        for number in draws_of(name, options.draws, options.folds):
            data = few_rows(draw(source.data, number, options.folds), options.rows)
            for part in options.parts:
                task = with_seen_test(data) if part in ("strangers", "generalised") else data
                for title, figures in PARTS[part](task, source.X_strangers, methods):
                    cell = Cell(name, number, part, title, figures)
                    values = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
                    print(
                        f"{part} {name} draw {number}: {title}: {values}", file=sys.stderr, flush=True
                    )
                    yield cell


def table(part: str, measured: Iterable[Cell]) -> str:
    """Return the mean of every figure over draws, as a table in Markdown."""
    lines: dict[tuple[str, str], list[Figures]] = {}
    for cell in measured:
        if cell.part == part:
            lines.setdefault((cell.set_name, cell.title), []).append(cell.figures)
    if not lines:
        return ""
    columns = list(dict.fromkeys(key for own in lines.values() for figures in own for key in figures))
    out = [f"| {part}: set | what | {' | '.join(columns)} |", "| --- " * (len(columns) + 2) + "|"]
    for (name, title), own in lines.items():
        values = [[figures[key] for figures in own if key in figures] for key in columns]
        shown = [written(key, of_draws) for key, of_draws in zip(columns, values, strict=True)]
        out.append(f"| {name} | {title} | {' | '.join(shown)} |")
    return "\n".join(out)


def written(key: str, values: list[float]) -> str:
    """Return the mean as a table has it: points and sizes with one digit, shares with three.

    >>> written("right %", [83.8, 83.9]), written("ECE", [0.0213]), written("AUROC", [])
    ('83.8', '.021', '')
    >>> written("called %", [0.0]), written("AUROC", [float("nan")])
    ('0.0', '')
    """
    if not values or np.isnan(values).any():
        return ""
    if key.endswith(("%", "points", "rows", "size")):
        return f"{np.mean(values):.1f}"
    return f"{np.mean(values):.3f}".replace("0.", ".", 1)


def main(arguments: list[str] | None = None) -> None:
    """Measure every part on every set, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", "--datasets", nargs="+")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    measured = list(cells(options))
    print("\n\n".join(filter(None, (table(part, measured) for part in options.parts))))


if __name__ == "__main__":
    main()
