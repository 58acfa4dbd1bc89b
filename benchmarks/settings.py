"""What the accuracy studies share: the data sets, the methods by name, their answers on a pool."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from photographs import load_animals
from pools import Task

import unseen
from unseen import methods
from unseen.datasets import ZeroShotDataset, load_letters_to_digits, load_xlsa17
from unseen.metrics import per_class_accuracy

Given = dict[str, Any]

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[2] / "shared" / "data"))
DATASETS: dict[str, Callable[[Path], ZeroShotDataset]] = {
    "letters": lambda _: load_letters_to_digits(),
    "animals": lambda folder: load_animals(folder / "animal-photos"),
    "cub": lambda folder: load_xlsa17(folder / "xlsa17" / "CUB"),
    "awa1-ss": lambda folder: load_xlsa17(folder / "xlsa17" / "AWA1", split="SS"),
    "awa1-ps": lambda folder: load_xlsa17(folder / "xlsa17" / "AWA1"),
}
GROUPS = {
    "inductive": methods.select(transductive=False, fast=False),
    "transductive": methods.select(transductive=True, fast=False),
}
SELF_PACED = "SelfPaced-"
"""Before the name of an inductive method: the self-paced strategy around it."""


def method(name: str, semantics: Any, seed: int) -> Any:
    """Build "ASTE", "Fast-TASTE", "SelfPaced-ESZSL" … with nothing but semantics."""
    if name.startswith(SELF_PACED):
        return unseen.SelfPaced(method(name.removeprefix(SELF_PACED), semantics, seed))
    return methods.find(name).build(semantics, random_state=seed)


def is_transductive(name: str) -> bool:
    """Tell whether a method learns from the pool."""
    return name.startswith(SELF_PACED) or methods.find(name).transductive


def named_methods(asked: Iterable[str]) -> list[str]:
    """Replace the name of a group by the methods in it."""
    return [name for word in asked for name in GROUPS.get(word, (word,))]


def value_of(text: str) -> Any:
    """Read a number, None, True or False; anything else is a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parameters(pairs: Iterable[str]) -> Given:
    """Read "name=value", as --set takes it."""
    return {name: value_of(text) for name, _, text in (pair.partition("=") for pair in pairs)}


def hold_out(data: ZeroShotDataset, held: Any) -> ZeroShotDataset:
    """Return the labelled rows alone, with these seen classes in the place of the unseen."""
    labels = data.y[data.train]
    seen = set(np.unique(labels).tolist())
    away = np.isin(labels, held)
    return ZeroShotDataset(
        X=data.X[data.train],
        y=labels,
        semantics=data.semantics.restricted_to([c for c in data.semantics if c in seen]),
        train=np.flatnonzero(~away),
        test_seen=np.empty(0, dtype=np.intp),
        test_unseen=np.flatnonzero(away),
        name=data.name,
        features=data.features,
    )


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Fit, whatever the model thinks of the pool."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unseen.AdaptationWarning)
        return model.fit(X, y)


def accuracy_on_pool(model: Any, task: Task) -> float:
    """Return the per-class top-1 of a fitted model on the pool, in percent."""
    return 100 * per_class_accuracy(task.y_pool, model.predict(task.X_pool))


def start_and_end(task: Task, name: str, seed: int, given: Given) -> tuple[float, float]:
    """Return the accuracy before and after adaptation; equal for a method that has no such start."""
    model = method(name, task.semantics, seed).set_params(**given)
    end = accuracy_on_pool(fitted(model, task.X, task.labels), task)
    if hasattr(model, "inductive_"):
        model.compatibility_ = model.inductive_
        return accuracy_on_pool(model, task), end
    if "rounds" in model.get_params():
        inductive = method(name, task.semantics, seed).set_params(**given | {"rounds": 0})
        return accuracy_on_pool(fitted(inductive, task.X, task.labels), task), end
    return end, end
