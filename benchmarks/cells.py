"""One cell of the generalisation suite: one method on one pool of one draw of one data set."""

from __future__ import annotations

import json
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from draws import cosine, draw, load, shares_space
from pools import STRANGERS, Task, make_task
from settings import GROUPS, accuracy_on_pool, fitted, method, start_and_end
from threadpoolctl import threadpool_limits

from unseen.experiments.code_digest import AROUND, PACKAGE, deciding_files, digest_of_files
from unseen.metrics import per_class_accuracy

COSINE = "cosine"
#: The simple answers by the names of their columns.
SIMPLE = {"cosine": COSINE, "ridge": "PrototypeRidge", "ASTE": "ASTE"}
AS_IS = "as is"
#: The files of this suite that decide a result, beside the library's.
OWN_CODE = ("cells", "draws", "pools", "settings")


class Cell(NamedTuple):
    """What decides a result, the data and the code aside."""

    dataset: str
    draw: int
    pool: str
    seed: int
    method: str
    parameters: tuple[tuple[str, Any], ...] = ()
    variant: str = AS_IS
    folds: bool = False


class Result(NamedTuple):
    """Accuracies in percent, None where a method does not apply; or why there are none."""

    start: float | None = None
    end: float | None = None
    seconds: float = 0.0
    error: str = ""


@cache
def code_digest() -> str:
    """Return a digest of the library's code and of this suite's."""
    library = deciding_files(PACKAGE, (*AROUND, "experiments"))
    suite = [Path(__file__).with_name(f"{name}.py") for name in OWN_CODE]
    return digest_of_files(library, PACKAGE) + digest_of_files(suite, Path(__file__).parent)


def key(cell: Cell, data_digest: str) -> str:
    """Return the text by which a result is stored."""
    return json.dumps([*cell, data_digest, code_digest()], default=str)


def run(cell: Cell, folder: Path) -> tuple[Cell, Result]:
    """Return a cell and its result; an exception becomes a result that says what went wrong."""
    begin = time.perf_counter()
    try:
        with threadpool_limits(1):
            start, end = accuracies(cell, folder)
    except Exception as error:
        return cell, Result(error=f"{type(error).__name__}: {error}")
    return cell, Result(start, end, round(time.perf_counter() - begin, 3))


def accuracies(cell: Cell, folder: Path) -> tuple[float | None, float | None]:
    """Return the accuracy before and after adaptation."""
    source = load(cell.dataset, folder, cell.folds)
    data = draw(source.data, cell.draw, cell.folds)
    task = varied(make_task(data, cell.pool, cell.seed, source.X_strangers), cell.variant)
    if cell.method == COSINE:
        answer = cosine_accuracy(task)
        return answer, answer
    if cell.method in GROUPS["inductive"] and cell.pool != STRANGERS and cell.variant == AS_IS:
        seed = 0 if cell.method in SIMPLE.values() else cell.seed  # these draw nothing at random
        model = inductive(cell._replace(pool="full", seed=seed), folder)
        answer = accuracy_on_pool(model, task)
        return answer, answer
    return start_and_end(task, cell.method, cell.seed, dict(cell.parameters))


@lru_cache(maxsize=8)
def inductive(cell: Cell, folder: Path) -> Any:
    """Fit an inductive method once for those pools of a draw that leave its labelled rows alone."""
    data = draw(load(cell.dataset, folder, cell.folds).data, cell.draw, cell.folds)
    task = make_task(data, cell.pool, cell.seed)
    model = method(cell.method, task.semantics, cell.seed).set_params(**dict(cell.parameters))
    return fitted(model, task.X, task.labels)


def cosine_accuracy(task: Task) -> float | None:
    """Return the accuracy of the class vector nearest by cosine; None if the spaces differ."""
    labelled = np.array([label is not None for label in task.labels])
    X, y = task.X[labelled], np.array(task.labels[labelled].tolist())
    if not shares_space(X, y, task.semantics):
        return None
    seen = set(y.tolist())
    candidates = [c for c in task.semantics if c not in seen]
    scores = cosine(task.X_pool, np.array([task.semantics[c] for c in candidates]))
    return 100 * per_class_accuracy(task.y_pool, np.array(candidates)[scores.argmax(axis=1)])


def varied(task: Task, variant: str) -> Task:
    """Return the same task with its rows in another order or its classes under other names."""
    if variant == AS_IS:
        return task
    kind, number = variant.split()
    random = np.random.default_rng(int(number))
    if kind == "shuffle":
        order = random.permutation(len(task.X))
        return task._replace(X=task.X[order], labels=task.labels[order])
    tokens = random.permutation(len(task.semantics))
    renamed = {c: f"class{t:05d}" for c, t in zip(task.semantics, tokens, strict=True)}
    vectors = {renamed[c]: task.semantics[c] for c in sorted(renamed, key=renamed.__getitem__)}
    labels = np.array([None if c is None else renamed[c] for c in task.labels], dtype=object)
    y_pool = np.array([renamed[c] for c in task.y_pool.tolist()])
    return task._replace(labels=labels, semantics=vectors, y_pool=y_pool)
