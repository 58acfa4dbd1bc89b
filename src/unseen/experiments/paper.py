"""The paper's published numbers, as data, with the features that they were measured on."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from unseen.typing import JsonObject

COLUMNS = ("AwA", "CUB", "aPY")


@dataclass(frozen=True)
class Published:
    """An accuracy of Table II, III or IV, in percent."""

    table: str
    method: str
    column: str
    mean: float
    deviation: float | None
    features: str


@dataclass(frozen=True)
class PublishedTime:
    """A line of Table V: seconds of training on AwA, and the ratio as printed."""

    method: str
    without: float
    with_ft: float
    ratio: float
    features: str


@cache
def _source() -> JsonObject:
    file = resources.files(__package__) / "paper.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def accuracies(table: str) -> tuple[Published, ...]:
    """Return the numbers of Table "II", "III" or "IV", in the order of the paper.

    Examples
    --------
    >>> published = [p for p in accuracies("III") if p.method == "TASTE" and p.column == "AwA"]
    >>> published[0].mean, published[0].features
    (89.74, 'VGG-19 (fc7)')
    """
    source = _source()
    return tuple(
        Published(
            table,
            line["method"],
            column,
            float(line[column][0]),
            float(line[column][1]) if len(line[column]) > 1 else None,
            source["features"][line["features"]],
        )
        for line in source[table]
        for column in COLUMNS
        if column in line
    )


@cache
def times() -> tuple[PublishedTime, ...]:
    """Return the lines of Table V."""
    source = _source()
    return tuple(
        PublishedTime(
            line["method"],
            float(line["without"]),
            float(line["with"]),
            float(line["ratio"]),
            source["features"][line["features"]],
        )
        for line in source["V"]
    )


def split() -> str:
    """Return the split that the paper used: the standard one."""
    return str(_source()["split"])


def prediction_ms() -> tuple[float, str]:
    """Return the paper's prediction time an instance in milliseconds, and where it says so."""
    return float(_source()["prediction_ms"]), str(_source()["prediction_source"])
