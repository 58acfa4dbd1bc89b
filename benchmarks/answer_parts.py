"""The parts of the study of answers: each measures methods on one draw of a data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from settings import fitted, is_transductive, method

from unseen import CalibratedStacking, NoneOfThese
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

Figures = dict[str, float]
Measured = Iterator[tuple[str, Figures]]

FLAGSHIP = "SelfPacedPrototypes"
OFFSET = ("ESZSL", "ASTE")
"""Inductive methods whose offset for unseen classes is measured."""
SHARE = 0.25
"""Strangers for each row of a candidate: a fifth of the pool."""
REVIEWED_SHARE, FEWEST_REVIEWED, RANDOM_DRAWS = 0.02, 20, 5


def pooled(data: ZeroShotDataset, X_more: Any = None) -> tuple[Any, Any]:
    """Return X and labels: training rows, then the unseen rows and others without labels."""
    X = data.X[np.concatenate([data.train, data.test_unseen])]
    X = X if X_more is None else np.concatenate([X, X_more.astype(X.dtype)])
    labels = np.full(len(X), None, dtype=object)
    labels[: len(data.train)] = data.y[data.train]
    return X, labels


def build(name: str, semantics: Any) -> Any:
    """Build a method with nothing but semantics."""
    return method(name, dict(semantics), 0)


def calibration(data: ZeroShotDataset, _: Any, methods: Sequence[str]) -> Measured:
    """Yield confidence against accuracy of every method, and what sets at 0.9 cover."""
    X, labels = pooled(data)
    pool, truth = data.X[data.test_unseen], data.y[data.test_unseen]
    for name in methods:
        model = fitted(build(name, data.semantics), X, labels)
        P, classes = model.predict_proba(pool), model.classes_
        sets = model.predict_set(pool, 0.9)
        yield (
            name,
            {
                "right %": 100 * per_image_accuracy(truth, classes[P.argmax(axis=1)]),
                "said %": 100 * float(P.max(axis=1).mean()),
                "ECE": expected_calibration_error(truth, P, classes),
                "Brier": brier_score(truth, P, classes),
                "coverage at .9": set_coverage(truth, sets, classes),
                "set size": float(sets.sum(axis=1).mean()),
            },
        )


class Beside(NamedTuple):
    """A pool with strangers in it."""

    data: ZeroShotDataset
    semantics: dict[Any, Any]
    X_strangers: Any


def stranger_kinds(data: ZeroShotDataset, X_strangers: Any) -> dict[str, Beside]:
    """Return pools by the kind of strangers in them."""
    random, unseen = np.random.default_rng(0), data.test_unseen
    count = int(SHARE * len(unseen))
    seen_rows = random.permutation(data.test_seen)[:count]
    gone = random.permutation(data.unseen_classes)[: max(1, len(data.unseen_classes) // 5)]
    away = np.isin(data.y[unseen], gone)
    table = dict(data.semantics)
    named = {c: vector for c, vector in table.items() if c not in set(gone.tolist())}
    kinds = {"no strangers": Beside(data, table, data.X[:0])}
    if X_strangers is not None:
        few = random.permutation(len(X_strangers))[:count]
        kinds["real strangers"] = Beside(data, table, X_strangers[few])
    kinds["rows of seen classes"] = Beside(data, table, data.X[seen_rows])
    cut = dataclasses.replace(data, test_unseen=unseen[~away])
    kinds["unnamed classes"] = Beside(cut, named, data.X[unseen[away]])
    return kinds


def strangers(data: ZeroShotDataset, X_strangers: Any, methods: Sequence[str]) -> Measured:
    """Yield how well strangers are told from the rows of candidates, and what they cost."""
    for kind, (part, table, more) in stranger_kinds(data, X_strangers).items():
        X, labels = pooled(part, more)
        M, truth = len(part.test_unseen), part.y[part.test_unseen]
        strange = np.arange(M + len(more)) >= M
        for name in methods:
            alone = fitted(build(name, table), *pooled(part)).predict(part.X[part.test_unseen])
            plain = fitted(build(name, table), X, labels).predict(part.X[part.test_unseen])
            model = build(name, table)
            if name == FLAGSHIP:
                model.set_params(strangers="auto")
            else:
                model = NoneOfThese(model)
            fitted(model, X, labels)
            answers, odds = (v[len(part.train) :] for v in (model.transduction_, model.stranger_proba_))
            called = answers == "unknown"
            area, found = float("nan"), float("nan")
            if strange.any():
                area, found = stranger_auroc(strange, odds), 100 * float(called[M:].mean())
            yield (
                f"{name}, {kind}",
                {
                    "AUROC": area,
                    "right without them %": 100 * per_class_accuracy(truth, alone),
                    "right beside them, strangers=None %": 100 * per_class_accuracy(truth, plain),
                    'strangers="auto" %': 100 * per_class_accuracy(truth, answers[:M]),
                    "called, of the others %": 100 * float(called[:M].mean()),
                    "called, of strangers %": found,
                },
            )


def generalised(data: ZeroShotDataset, _: Any, methods: Sequence[str]) -> Measured:
    """Yield both protocols of the field, and inductive methods with an offset."""
    test = np.concatenate([data.test_seen, data.test_unseen])
    mixed = pooled(data, data.X[data.test_seen])
    X, y = data.X[data.train], data.y[data.train]
    for name in methods:
        if is_transductive(name):
            known = fitted(build(name, data.semantics), *pooled(data)).set_params(candidates="all")
            together = build(name, data.semantics).set_params(candidates="all")
            models = {"unseen rows known": known, "mixed pool": fitted(together, *mixed)}
        elif name in OFFSET:
            plain = build(name, data.semantics)
            models = {"with offset": CalibratedStacking(plain).fit(X, y)}
            models["as it is"] = build(name, data.semantics).set_params(candidates="all").fit(X, y)
        else:
            continue
        for title, model in models.items():
            scores, classes = model.decision_function(data.X[test]), model.classes_
            answers = classes[scores.argmax(axis=1)]
            found = seen_unseen_harmonic(data.y[test], answers, model.seen_classes_)
            yield (
                f"{name}, {title}",
                {
                    "U %": 100 * found.unseen,
                    "S %": 100 * found.seen,
                    "H %": 100 * found.harmonic,
                    "AUSUC": ausuc(data.y[test], scores, classes, model.seen_classes_),
                },
            )


def review(data: ZeroShotDataset, _: Any, methods: Sequence[str]) -> Measured:
    """Yield what labels of a few rows gain, chosen in three ways; the rows told count as right."""
    X, labels = pooled(data)
    pool, truth = data.X[data.test_unseen], data.y[data.test_unseen]
    n = min(max(FEWEST_REVIEWED, round(REVIEWED_SHARE * len(pool))), len(pool))
    for name in methods:
        if not getattr(build(name, data.semantics), "takes_known", False):
            continue
        model = fitted(build(name, data.semantics), X, labels)
        doubt = 1 - model.predict_proba(pool).max(axis=1)
        before = per_image_accuracy(truth, model.transduction_[len(data.train) :])

        def gain(rows: Any, name: str = name, before: float = before) -> float:
            again = build(name, data.semantics)
            again.fit(X, labels, known={int(row): truth[row] for row in rows})
            return 100 * (per_image_accuracy(truth, again.transduction_[len(data.train) :]) - before)

        draws = [np.random.default_rng(seed).permutation(len(pool))[:n] for seed in range(RANDOM_DRAWS)]
        yield (
            name,
            {
                "reviewed rows": n,
                "pool rows": len(pool),
                "right before %": 100 * before,
                "chosen, points": gain(model.review(pool, n)),
                "least confident, points": gain(np.argsort(-doubt, kind="stable")[:n]),
                "at random, points": float(np.mean([gain(rows) for rows in draws])),
            },
        )


PARTS: dict[str, Callable[[ZeroShotDataset, Any, Sequence[str]], Measured]] = {
    "calibration": calibration,
    "strangers": strangers,
    "generalised": generalised,
    "review": review,
}
