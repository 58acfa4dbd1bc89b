"""What a user says about the classes: attributes, descriptions or bare names → class vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unseen.datasets.missing import fill_missing, missing_marks
from unseen.datasets.record import class_table
from unseen.datasets.splits import read_lines
from unseen.datasets.table_files import Table, read_table
from unseen.exceptions import DataError
from unseen.features import describe, mix, readable, words
from unseen.features.image_text_model import text_half
from unseen.semantics import ClassTable
from unseen.typing import Array

TEXT_COLUMNS = ("class", "description")
DEFAULT_WORDS = "minilm"
DEFAULT_WEIGHT = 0.5
UNUSED_DESCRIPTIONS = "The column 'description' was not used, since no encoder of words was named."


@dataclass(frozen=True)
class Recipe:
    """How class vectors were made, so that a class can be added later in the same way."""

    words: str = ""
    """The encoder of names and descriptions, or "" for none."""
    weight: float = DEFAULT_WEIGHT
    """The share of the words where they are mixed with attributes."""
    attributes: tuple[str, ...] = ()
    """The attribute columns, or () for none."""
    prompt: str = ""
    """What is asked about a class that is known by its name; "" for that of the encoder."""
    shared: bool = False
    """Whether the encoder is one half of a model whose other half takes the pictures."""

    def make(self, given: Given) -> ClassTable:
        """Return the vectors of the classes that were given."""
        numbers = None
        if self.attributes:
            numbers = class_table(given.source, given.names, given.ordered(self.attributes))
            numbers.attributes = self.attributes
        if not self.words:
            if numbers is None:
                raise DataError(
                    f"{given.source}: describes no class: it has neither numbers nor words."
                )
            return numbers
        encoder = text_half(self.words) if self.shared else words(self.words)
        texts = given.filled().descriptions if self.shared else given.descriptions
        text = describe(given.names, encoder, texts, self.prompt)
        return text if numbers is None else mix(numbers, text, self.weight)


@dataclass(frozen=True)
class Given:
    """Classes as a user gave them."""

    source: str
    names: list[str]
    columns: list[str] = field(default_factory=list)
    numbers: Array | None = None
    descriptions: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Class → its text, or several texts."""

    def filled(self) -> Given:
        """Return the classes with their names in place of {} in their texts."""
        texts = {}
        for name, own in self.descriptions.items():
            several = [own] if isinstance(own, str) else own
            texts[name] = [text.replace("{}", readable(name)) for text in several]
        return replace(self, descriptions=texts)

    def ordered(self, attributes: Sequence[str]) -> Array:
        """Return the numbers, in the order of ``attributes``."""
        columns = {name: i for i, name in enumerate(self.columns)}
        missing = [name for name in attributes if name not in columns]
        strange = sorted(set(columns) - set(attributes))
        if missing or self.numbers is None:
            raise DataError(
                f"{self.source}: has no column {', '.join(map(repr, missing[:5]))}. The classes are "
                f"described by {len(attributes)} attributes; give all of them."
            )
        if strange:
            raise DataError(
                f"{self.source}: the column {strange[0]!r} is none of the {len(attributes)} attributes "
                "of the other classes. Check its name, or leave it out."
            )
        return np.asarray(self.numbers[:, [columns[name] for name in attributes]])


def read_classes(path: Path) -> Given:
    """Read a table of classes, or a text file of class names.

    Parameters
    ----------
    path : path
        CSV or Parquet: a column ``class``, optionally ``description``, and one column an attribute.
        ``.txt``: one name a line.
    """
    if path.suffix.lower() == ".txt":
        return from_names(read_lines(path), str(path))
    table: Table = read_table(path, TEXT_COLUMNS)
    if "class" not in table.text:
        raise DataError(f"{path}: line 1 has no column 'class'. The header is class,<attribute>,…")
    names = [name.strip() for name in table.text["class"]]
    _check_names(names, str(path))
    descriptions = dict(zip(names, table.text.get("description", ()), strict=False))
    numbers = table.numbers if table.columns else None
    return Given(str(path), names, table.columns, numbers, descriptions)


def from_names(names: Sequence[str], source: str, descriptions: dict[str, str] | None = None) -> Given:
    """Return classes that are known by their names alone, or by a text each."""
    _check_names(list(names), source)
    return Given(source, list(names), descriptions=descriptions or {})


def _check_names(names: list[str], source: str) -> None:
    if not names:
        raise DataError(f"{source}: names no class.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise DataError(f"{source}: names the class {twice[0]!r} twice. Keep one row for each class.")


def make_table(
    given: Given, encoder: str = "", weight: float = DEFAULT_WEIGHT
) -> tuple[ClassTable, Recipe, list[str]]:
    """Return class vectors, how they were made, and notes for the user.

    Words are used if ``encoder`` names them, or if there are no attributes; with both, the two are
    mixed. Values that look like a mark for "not known" are set to the mean of the other classes.
    """
    notes = []
    numbers = given.numbers
    if numbers is not None:
        gaps = missing_marks(numbers)
        if gaps.any():
            numbers = fill_missing(numbers, gaps, "mean", given.source)
            rows = sorted({given.names[i] for i in np.nonzero(gaps)[0]})
            notes.append(
                f"{gaps.sum()} values of {', '.join(rows[:3])} are {given.numbers[gaps][0]:g}, which "  # type: ignore[index]
                "looks like a mark for missing values; they were set to the mean of the other classes."
            )
            given = Given(given.source, given.names, given.columns, numbers, given.descriptions)
        if given.descriptions and not encoder:
            notes.append(UNUSED_DESCRIPTIONS)
    recipe = Recipe(encoder or (DEFAULT_WORDS if numbers is None else ""), weight, tuple(given.columns))
    return recipe.make(given), recipe, notes
