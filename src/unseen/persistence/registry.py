"""Which classes a model file may name.

A file names a class by a key of this table, such as ``inductive.eszsl.ESZSL``. The table is made from
modules that are already imported; nothing is ever imported because a file says so.
"""

from __future__ import annotations

import sys
from dataclasses import is_dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from unseen.semantics import ClassTable

BORROWED = (Pipeline, StandardScaler, Normalizer, PCA)
"""Classes of scikit-learn whose whole state is parameters, numbers and arrays."""

HOMES = ("base", "fast", "inductive", "rows", "semantics", "solvers", "statistics", "transductive")
"""The modules and packages of this library whose classes may be part of a fitted model."""


def known_classes() -> dict[str, Any]:
    """Return key -> class: our estimators, our records, and a few classes of scikit-learn.

    >>> known_classes()["inductive.eszsl.ESZSL"]
    <class 'unseen.inductive.eszsl.ESZSL'>
    """
    known: dict[str, Any] = {f"sklearn.{cls.__name__}": cls for cls in BORROWED}
    for module in [m for name, m in sorted(sys.modules.items()) if _is_home(name)]:
        for cls in vars(module).values():
            if isinstance(cls, type) and cls.__module__ == module.__name__ and is_permitted(cls):
                known[f"{module.__name__.removeprefix('unseen.')}.{cls.__qualname__}"] = cls
    return known


def is_permitted(cls: type) -> bool:
    """Tell whether a class is of a kind that the encoding knows."""
    return issubclass(cls, BaseEstimator) or is_record(cls) or cls is ClassTable


def is_record(cls: type) -> bool:
    """Tell whether a class is a dataclass or a NamedTuple: fields, and a constructor for them."""
    return is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def left_out(cls: type) -> tuple[str, ...]:
    """Name the attributes that are not written or read: a pipeline's cache folder holds pickles."""
    return ("memory",) if issubclass(cls, Pipeline) else ()


def _is_home(name: str) -> bool:
    library, _, rest = name.partition(".")
    return library == "unseen" and rest.partition(".")[0] in HOMES
