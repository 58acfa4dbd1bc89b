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
from unseen.features.words import DEFAULT_WEIGHT
from unseen.labelling.table_cells import Cells, read_cells
from unseen.semantics import ClassTable
from unseen.typing import Array, JsonObject

CLASS_COLUMN, DESCRIPTION_COLUMN = "class", "description"
DEFAULT_WORDS = "minilm"
UNUSED_DESCRIPTIONS = "The attributes decide; the descriptions of the classes were not used."


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

    def origin(self) -> JsonObject:
        """Return what a model file says of the class vectors."""
        return {
            "words": self.words,
            "weight": self.weight,
            "attributes": list(self.attributes),
            "prompt": self.prompt,
        }

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
    word_columns: tuple[str, ...] = ()
    """Columns of words that are part of the descriptions."""

    def filled(self) -> Given:
        """Return the classes with their names in place of {} in their texts."""
        texts = {}
        for name, description in self.descriptions.items():
            several = [description] if isinstance(description, str) else description
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


def read_classes(path: Path, class_column: str = CLASS_COLUMN, take_words: bool = False) -> Given:
    """Read a table of classes, or a text file of class names.

    Parameters
    ----------
    path : path
        A table: a column of class names, optionally ``description``, and one column an attribute. CSV,
        TSV or Excel as in :func:`~unseen.labelling.table_cells.read_cells`, or Parquet. ``.txt``: one
        name a line.
    class_column : str
        The column of the names.
    take_words : bool
        Whether columns of words are taken as parts of the descriptions; otherwise they are refused.
    """
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return from_names(read_lines(path), str(path))
    if suffix == ".parquet":
        return _of_parquet(path, class_column)
    cells = read_cells(path)
    place = cells.columns.index(named_column(path, cells.columns, class_column))
    names = [_class_name(path, line, cells.columns[place], row[place]) for line, row in cells.rows]
    _check_names(names, str(path))
    texts = [i for i, column in enumerate(cells.columns) if column.lower() == DESCRIPTION_COLUMN]
    others = [i for i in range(len(cells.columns)) if i not in (place, *texts)]
    word_columns = [i for i in others if take_words and _holds_words(cells, i)]
    numeric = [i for i in others if i not in word_columns]
    numbers = np.array(
        [[_number(path, cells, line, row, i, take_words) for i in numeric] for line, row in cells.rows]
    )
    descriptions = {
        name: _description(name, row, texts, word_columns, cells.columns)
        for name, (_, row) in zip(names, cells.rows, strict=True)
    }
    return Given(
        str(path),
        names,
        [cells.columns[i] for i in numeric],
        numbers if numeric else None,
        descriptions if texts or word_columns else {},
        tuple(cells.columns[i] for i in word_columns),
    )


def _of_parquet(path: Path, class_column: str) -> Given:
    table: Table = read_table(path, (class_column, DESCRIPTION_COLUMN))
    named_column(path, [*table.text, *table.columns], class_column)
    names = [name.strip() for name in table.text[class_column]]
    _check_names(names, str(path))
    descriptions = dict(zip(names, table.text.get(DESCRIPTION_COLUMN, ()), strict=False))
    return Given(
        str(path), names, table.columns, table.numbers if table.columns else None, descriptions
    )


def named_column(path: Path, columns: Sequence[str], name: str) -> str:
    """Return the column of this name, in capitals or not; refuse a table that has none."""
    for column in columns:
        if column == name or column.lower() == name.lower():
            return column
    listed = ", ".join(map(repr, columns[:12])) + ", …" * (len(columns) > 12)
    raise DataError(
        f"{path}: no column {name!r}; columns are {listed}. Say which one names the classes.",
        options=("class_column",),
    )


def _class_name(path: Path, line: int, column: str, cell: str) -> str:
    name = cell.strip()
    if not name or any(sign in name for sign in "\n\r\x00"):
        raise DataError(f"{path}: line {line}, column {column!r}: {cell!r} is not a name.")
    return name


def _holds_words(cells: Cells, place: int) -> bool:
    """Tell whether a column holds texts and not one number."""
    values = [row[place] for _, row in cells.rows if row[place].strip()]
    return bool(values) and all(cells.number(value) is None for value in values)


def _number(path: Path, cells: Cells, line: int, row: list[str], place: int, take_words: bool) -> float:
    value = cells.number(row[place])
    if value is not None:
        return value
    column = cells.columns[place]
    if not row[place].strip():
        raise DataError(
            f"{path}: line {line}, column {column!r}: is empty. Fill it in, or leave the row or column "
            "out."
        )
    start = f"{path}: line {line}, column {column!r}: holds {row[place]!r}, not a number. "
    if take_words:
        raise DataError(start + "Other cells of the column are numbers: correct this one.")
    raise DataError(
        start + "Correct it, leave the column out, or name an encoder of words, which takes columns of "
        "words as descriptions.",
        options=("words",),
    )


def _description(
    name: str, row: list[str], texts: list[int], word_columns: list[int], columns: list[str]
) -> str:
    """Return the text of a class: its description, and what its columns of words say."""
    parts = [row[i].strip() for i in texts if row[i].strip()]
    said = [f"{readable(columns[i])}: {row[i].strip()}" for i in word_columns if row[i].strip()]
    return ", ".join([*(parts or [readable(name)] * bool(said)), *said])


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

    With attributes and words, the two are mixed. Values that look like a mark for "not known" are set
    to the mean of the other classes.

    Parameters
    ----------
    given : Given
    encoder : str
        Of words; see :func:`unseen.features.words`. "" for attributes alone where there are
        some, else the default encoder: on draws of seen classes words beside attributes
        were no better than attributes alone (``benchmarks/descriptions.py``).
    weight : float
        The share of the words beside attributes.
    """
    notes = []
    if given.word_columns:
        notes.append(f"Taken as descriptions: the columns of words {', '.join(given.word_columns)}.")
    numbers = given.numbers
    if numbers is not None:
        gaps = missing_marks(numbers)
        if gaps.any():
            filled = fill_missing(numbers, gaps, "mean", given.source)
            rows = sorted({given.names[i] for i in np.nonzero(gaps)[0]})
            notes.append(
                f"{gaps.sum()} values of {', '.join(rows[:3])} are {numbers[gaps][0]:g}, which "
                "looks like a mark for missing values; they were set to the mean of the other classes."
            )
            given = replace(given, numbers=filled)
        if any(given.descriptions.values()) and not encoder:
            notes.append(UNUSED_DESCRIPTIONS)
    elif not encoder:
        encoder = DEFAULT_WORDS
    recipe = Recipe(encoder, weight, tuple(given.columns))
    return recipe.make(given), recipe, notes
