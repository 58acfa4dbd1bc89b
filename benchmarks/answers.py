"""What answers are worth: calibration, prediction sets, strangers, seen with unseen, and review.

    python benchmarks/answers.py
    python benchmarks/answers.py --datasets letters cub --parts calibration review
    python benchmarks/answers.py --rows 60

Each part prints a table, on the split of each data set (draw 0), with what is asked for beside it:
calibration   expected calibration error, ten bins, of the flagship, TASTE and inductive methods
              and, beside it, coverage and mean size of prediction sets at 0.9
strangers     AUROC of strangers (a fifth of the pool) against the rows of candidates: real ones, rows
              of seen classes, classes that nobody named; accuracy on the other rows; false calls
generalised   U, S, H and AUSUC: unseen rows known as such, a mixed pool, inductive with an offset
review        accuracy gained by 2 % of the pool reviewed: chosen, least confident, at random
"--rows" takes at most so many rows of each class, to be quick; figures then differ from the full ones.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from draws import load, names_at_hand
from pools import make_task
from settings import DATA, fitted

from unseen import CalibratedStacking, SelfPacedPrototypes, methods
from unseen.datasets import ZeroShotDataset
from unseen.metrics import (
    ausuc,
    brier_score,
    expected_calibration_error,
    per_class_accuracy,
    per_image_accuracy,
    seen_unseen_harmonic,
    set_coverage,
    stranger_auroc,
)

CALIBRATED = ("SelfPacedPrototypes", "TASTE", "ESZSL", "ASTE", "PrototypeRidge", "SAE")
SHARE = 0.25
"""Strangers for each row of a candidate: a fifth of the pool."""
REVIEWED_SHARE, RANDOM_DRAWS = 0.02, 3


def few_rows(data: ZeroShotDataset, rows: Any, most: int | None) -> Any:
    """Return at most ``most`` rows of each class, at random."""
    if most is None or not len(rows):
        return rows
    random = np.random.default_rng(0)
    by_class = [random.permutation(rows[data.y[rows] == c])[:most] for c in np.unique(data.y[rows])]
    return np.sort(np.concatenate(by_class))


def pooled(data: ZeroShotDataset, X_more: Any = None) -> tuple[Any, Any]:
    """Return X and labels: training rows, then the unseen rows and others without labels."""
    X = data.X[np.concatenate([data.train, data.test_unseen])]
    X = X if X_more is None else np.concatenate([X, X_more.astype(X.dtype)])
    labels = np.full(len(X), None, dtype=object)
    labels[: len(data.train)] = data.y[data.train]
    return X, labels


def calibration(name: str, data: ZeroShotDataset, _: Any) -> None:
    """Print ECE and Brier score of every method, and what the sets at 0.9 cover."""
    task = make_task(data, "full", 0)
    for method in CALIBRATED:
        model = fitted(methods.find(method).build(task.semantics, random_state=0), task.X, task.labels)
        P = model.predict_proba(task.X_pool)
        truth, classes = task.y_pool, model.classes_
        right = per_image_accuracy(truth, classes[P.argmax(axis=1)])
        error, brier = (f(truth, P, classes) for f in (expected_calibration_error, brier_score))
        sets = model.predict_set(task.X_pool, 0.9)
        cover = set_coverage(truth, sets, classes)
        print(
            f"calibration {name:15} {method:20} right {100 * right:5.1f} % said "
            f"{100 * P.max(axis=1).mean():5.1f} % ECE {error:.3f} Brier {brier:.3f} | sets at 0.9 "
            f"cover {cover:.2f} with {sets.sum(axis=1).mean():.1f} of {len(classes)} classes",
            flush=True,
        )


def strangers(name: str, data: ZeroShotDataset, X_strangers: Any) -> None:
    """Print how well strangers are told from the rows of candidates."""
    random, unseen = np.random.default_rng(0), data.test_unseen
    count = int(SHARE * len(unseen))
    seen_rows = random.permutation(data.test_seen)[:count]
    gone = random.permutation(data.unseen_classes)[: max(1, len(data.unseen_classes) // 5)]
    away = np.isin(data.y[unseen], gone)
    named = {c: v for c, v in data.semantics.items() if c not in set(gone.tolist())}
    cut = dataclasses.replace(data, test_unseen=unseen[~away])
    table = dict(data.semantics)
    kinds: dict[str, tuple[ZeroShotDataset, Any, Any]] = {"none": (data, table, data.X[:0])}
    if X_strangers is not None:
        kinds["real"] = data, table, X_strangers[random.permutation(len(X_strangers))[:count]]
    if len(seen_rows):
        kinds["rows of seen classes"] = data, table, data.X[seen_rows]
    kinds["unnamed classes"] = cut, named, data.X[unseen[away]]
    for kind, (part, classes, more) in kinds.items():
        X, labels = pooled(part, more)
        M, truth = len(part.test_unseen), part.y[part.test_unseen]
        alone = fitted(SelfPacedPrototypes(classes), *pooled(part))
        before = per_class_accuracy(truth, alone.transduction_[len(part.train) :])
        model = fitted(SelfPacedPrototypes(classes, strangers="auto"), X, labels)
        answers, odds = (v[len(part.train) :] for v in (model.transduction_, model.stranger_proba_))
        strange = np.arange(len(odds)) >= M
        area = f"{stranger_auroc(strange, odds):.3f}" if strange.any() else "–"
        called = answers == "unknown"
        after = per_class_accuracy(truth, answers[:M])
        print(
            f"strangers   {name:15} {kind:20} AUROC {area} | accuracy on the others {100 * after:.1f} "
            f"(without strangers {100 * before:.1f}) | called {100 * called[:M].mean():.1f} % of them, "
            f"{100 * called[M:].mean() if strange.any() else 0:.1f} % of strangers",
            flush=True,
        )


def generalised(name: str, data: ZeroShotDataset, _: Any) -> None:
    """Print both protocols of the field, and inductive methods with an offset."""
    if not len(data.test_seen):
        return
    test = np.concatenate([data.test_seen, data.test_unseen])
    table = dict(data.semantics)
    known = fitted(SelfPacedPrototypes(table), *pooled(data)).set_params(candidates="all")
    mixed_pool = pooled(data, data.X[data.test_seen])
    models = {
        "flagship, unseen rows known as such": known,
        "flagship, mixed pool": fitted(SelfPacedPrototypes(table, candidates="all"), *mixed_pool),
    }
    X, y = data.X[data.train], data.y[data.train]
    for method in ("ESZSL", "ASTE"):
        models[method] = methods.find(method).build(table).set_params(candidates="all").fit(X, y)
        models[f"{method} with offset"] = CalibratedStacking(methods.find(method).build(table)).fit(
            X, y
        )
    for title, model in models.items():
        scores, classes = model.decision_function(data.X[test]), model.classes_
        found = seen_unseen_harmonic(data.y[test], classes[scores.argmax(axis=1)], model.seen_classes_)
        area = ausuc(data.y[test], scores, classes, model.seen_classes_)
        print(
            f"generalised {name:15} {title:36} U {100 * found.unseen:.1f} S {100 * found.seen:.1f} "
            f"H {100 * found.harmonic:.1f} AUSUC {area:.3f}",
            flush=True,
        )


def review(name: str, data: ZeroShotDataset, _: Any) -> None:
    """Print what labels of a few rows gain, chosen in three ways."""
    X, labels = pooled(data)
    pool, truth = data.X[data.test_unseen], data.y[data.test_unseen]
    n = max(5, round(REVIEWED_SHARE * len(pool)))
    model = fitted(SelfPacedPrototypes(dict(data.semantics)), X, labels)
    confidence = model.predict_proba(pool).max(axis=1)

    def gain(rows: Any) -> float:
        again = SelfPacedPrototypes(dict(data.semantics))
        again.fit(X, labels, known={int(row): truth[row] for row in rows})
        return 100 * (per_image_accuracy(truth, again.transduction_[len(data.train) :]) - before)

    before = per_image_accuracy(truth, model.transduction_[len(data.train) :])
    draws = [np.random.default_rng(seed).permutation(len(pool))[:n] for seed in range(RANDOM_DRAWS)]
    at_random = np.mean([gain(rows) for rows in draws])
    least = gain(np.argsort(confidence, kind="stable")[:n])
    print(
        f"review      {name:15} {n} of {len(pool)} rows, {100 * before:.1f} % before: chosen "
        f"{gain(model.review(pool, n)):+.1f}, least confident {least:+.1f}, at random {at_random:+.1f}",
        flush=True,
    )


PARTS: dict[str, Callable[[str, ZeroShotDataset, Any], None]] = {
    "calibration": calibration,
    "strangers": strangers,
    "generalised": generalised,
    "review": review,
}


def main(arguments: list[str] | None = None) -> None:
    """Print every part for every data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--rows", type=int)
    options = parser.parse_args(arguments)
    for name in options.datasets or names_at_hand(options.data):
        source = load(name, options.data)
        rows = ("train", "test_seen", "test_unseen")
        given = {part: few_rows(source.data, getattr(source.data, part), options.rows) for part in rows}
        data = dataclasses.replace(source.data, **given)
        for part in options.parts:
            PARTS[part](name, data, source.X_strangers)


if __name__ == "__main__":
    main()
