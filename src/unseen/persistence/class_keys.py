"""Which classes a model file may name, and by which key.

An estimator's key is the name of its class, such as ``ESZSL``. A record or transformer that is part of
a fitted model has a class attribute ``FILE_KEY``; a class without one is not written. No key says
where a class is defined, so that a class can move to another module. The table is made from modules
that are already imported, and from the methods that installed packages registered, which have keys
such as ``their-package:TheirMethod``. Nothing is ever imported because a file says so: the catalogue
imports all entry points of its group, whatever a file names.
"""

from __future__ import annotations

import sys
from dataclasses import is_dataclass

from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from unseen.base import ZeroShotClassifier
from unseen.fast import FastTraining
from unseen.methods import catalogue
from unseen.persistence.former_keys import FORMER_KEYS

BORROWED = (Pipeline, StandardScaler, Normalizer, PCA)
"""Classes of scikit-learn whose whole state is parameters, numbers and arrays."""


def known_classes() -> dict[str, type[object]]:
    """Return key -> class: estimators, our records, and a few classes of scikit-learn.

    >>> known_classes()["ESZSL"]
    <class 'unseen.inductive.eszsl.ESZSL'>
    >>> known_classes()["class-table"]
    <class 'unseen.semantics.ClassTable'>
    """
    known: dict[str, type[object]] = {
        f"{method.package}:{method.plain_name}": method.estimator
        for method in catalogue().values()
        if method.package != "unseen"
    }
    known[FastTraining.__name__] = FastTraining  # the one estimator that the catalogue does not import
    known |= {f"sklearn.{cls.__name__}": cls for cls in BORROWED}
    for module_name, module in sorted(sys.modules.items()):
        if module_name.partition(".")[0] == "unseen":
            classes = [value for value in vars(module).values() if isinstance(value, type)]
            defined = [cls for cls in classes if cls.__module__ == module_name]
            known |= {key: cls for cls in defined if (key := file_key(cls))}
    return known


def file_key(cls: type) -> str:
    """Return the key of a class of this library, or an empty text if a file cannot hold it."""
    if issubclass(cls, ZeroShotClassifier):
        return cls.__name__
    return str(vars(cls).get("FILE_KEY", ""))  # not inherited: a subclass is another class


def current_key(key: str) -> str:
    """Return the key of today for one that an older file has."""
    return FORMER_KEYS.get(key, key)


def is_record(cls: type) -> bool:
    """Tell whether a class is a dataclass or a NamedTuple: fields, and a constructor for them."""
    return is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def left_out(cls: type) -> tuple[str, ...]:
    """Name the attributes that are not written or read: a pipeline's cache folder holds pickles."""
    return ("memory",) if issubclass(cls, Pipeline) else ()
