"""One cell: fit on the training input, then measure.

``training_input`` is the only function that passes labels to ``fit``: those of training rows, and
``None`` for every other row. In an "unlabelled" setting ``fit`` gets rows alone. Estimators choose
their parameters inside ``fit``, so tuning cannot use a test label.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unseen import FastTraining, LinearRegressionZSL, metrics
from unseen.datasets import ZeroShotDataset, audit
from unseen.exceptions import DataError
from unseen.experiments import registry
from unseen.experiments.answer_quality import answer_quality
from unseen.experiments.domain_distance import proxy_a_distance
from unseen.experiments.generalised_settings import (
    GENERALISED,
    MIXED,
    OFFSET,
    UNSEEN_KNOWN,
    answering_among,
    pool_rows,
    with_offset,
)
from unseen.experiments.hardest_rows import hardest_rows
from unseen.experiments.peak_memory import peak_mb, reset_peak
from unseen.experiments.plan import Cell
from unseen.experiments.risk_bound import capacity_term, joint_error
from unseen.experiments.start_accuracy import start_accuracy
from unseen.experiments.unlabelled_pools import POOL_SETTINGS, answer_pool, pool_batches
from unseen.rows.labelled import Rows
from unseen.typing import Array, Classifier, JsonObject


class NotApplicable(DataError):
    """The cell needs something that its data set or its method does not have."""


@dataclass(frozen=True)
class Outcome:
    """The result of a cell."""

    status: str
    features: str = ""
    seconds: float = float("nan")
    predict_seconds: float = float("nan")
    peak_mb: float = float("nan")
    metrics: JsonObject = field(default_factory=dict)
    history: list[JsonObject] = field(default_factory=list)
    error: str = ""


def execute(cell: Cell, data: ZeroShotDataset) -> Outcome:
    """Run one cell."""
    if cell.method == registry.AUDIT:
        report = audit(data)
        facts = {"provenance": data.provenance, "rows": report.rows, "classes": report.classes}
        return Outcome(
            "done",
            data.features,
            metrics={"findings": [asdict(f) for f in report.findings], **facts},
        )
    if cell.method == registry.DISTANCE:
        return Outcome("done", data.features, metrics=_bound_terms(cell, data))
    if cell.setting in POOL_SETTINGS:
        return _answer_unlabelled(cell, data)
    return _fit_and_measure(cell, data)


def _bound_terms(cell: Cell, data: ZeroShotDataset) -> dict[str, float]:
    """Return the terms of Eq. (25) that belong to the data set."""
    value, error = proxy_a_distance(data, cell.seed)
    return {
        "a_distance": value,
        "domain_error": error,
        "capacity": capacity_term(data.X.shape[1], len(data.test_unseen)),
        "joint_error": joint_error(data, cell.seed),
    }


def training_input(cell: Cell, data: ZeroShotDataset) -> tuple[Any, Array]:
    """Return ``X, y`` for ``fit``: training rows in the trial's order, then the unlabelled pool."""
    random = np.random.default_rng(cell.seed)
    train = random.permutation(data.train)
    if cell.share < 1:
        train = _share(data.y[train], train, cell.share)
    if not registry.method(cell.method).transductive:
        return data.X[train], data.y[train].astype(object)
    pool = pool_rows(cell.setting, data)
    labels = np.full(len(train) + len(pool), None, dtype=object)
    labels[: len(train)] = data.y[train]
    return data.X[np.concatenate([train, pool])], labels


def _share(labels: Array, rows: Array, share: float) -> Array:
    """Keep the first ``share`` of the rows of each class, and at least one."""
    by_class = [rows[labels == c] for c in np.unique(labels)]
    return np.concatenate([rows[: max(1, round(share * len(rows)))] for rows in by_class])


def _configured(cell: Cell, data: ZeroShotDataset) -> Any:
    candidates = "all" if cell.setting in (MIXED, OFFSET) else "unseen"
    form = cell.preset, cell.parameters
    model = registry.configured(cell.method, data.semantics, cell.seed, cell.C, candidates, form)
    model._rehearses = _calibrated(cell)
    if cell.prior == "default":
        return with_offset(model, cell.setting)
    pool = pool_rows(cell.setting, data)
    names = data.semantics.classes
    if cell.setting != MIXED:
        names = names[~np.isin(names, data.seen_classes)]
    shares = {c: max(float((data.y[pool] == c).mean()), 1e-6) for c in names.tolist()}
    total = sum(shares.values())
    try:
        return registry.with_prior(model, cell.prior, {c: v / total for c, v in shares.items()})
    except DataError as error:
        raise NotApplicable(str(error)) from None


def _calibrated(cell: Cell) -> bool:
    """Tell whether probabilities are calibrated: not those of an authors' form."""
    return cell.preset == "default"


def _fit_and_measure(cell: Cell, data: ZeroShotDataset) -> Outcome:
    if cell.setting in GENERALISED and not len(data.test_seen):
        raise NotApplicable(f"{cell.dataset} holds out no rows of seen classes, so GZSL has no test.")
    _refuse_other_spaces(cell, data)
    model = _configured(cell, data)
    X, y = training_input(cell, data)
    reset_peak()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    peak = peak_mb()
    rows = data.test_unseen
    if cell.setting in GENERALISED:
        rows = np.concatenate([data.test_seen, rows])
    history = [] if cell.setting == UNSEEN_KNOWN else _history(data, model, y, rows)
    model = answering_among(model, cell.setting)
    start = time.perf_counter()
    scores = model.predict_proba(data.X[rows])
    predict_seconds = (time.perf_counter() - start) / len(rows)
    measured = _metrics(cell, data, model, rows, scores)
    about_pool = [w for w in raised if "Adaptation" in w.category.__name__]
    if cell.setting == "zsl" and registry.method(cell.method).transductive:
        measured |= start_accuracy(model, data.X[rows], data.y[rows], (X, y))
    measured["warnings"] = sorted({str(w.message) for w in about_pool})
    if cell.share == 1 and cell.setting == "zsl" and cell.prior == "default":
        measured |= _seen_error(cell, data, model)
    if cell.trial == 0 and cell.share == 1 and cell.C is None and cell.setting == "zsl":
        measured["hardest"] = hardest_rows(cell.dataset, data, rows, scores, model.classes_)
    return Outcome("done", data.features, seconds, predict_seconds, peak, measured, history)


def _answer_unlabelled(cell: Cell, data: ZeroShotDataset) -> Outcome:
    """Answer a pool without one label, and compare with cosine."""
    if registry.method(cell.method).estimator.needs_labelled_rows:
        raise NotApplicable(f"{cell.method} needs labelled rows, and {cell.setting!r} has none.")
    _refuse_other_spaces(cell, data)
    random, classes = np.random.default_rng(cell.seed), np.sort(data.semantics.classes)
    try:
        batches = pool_batches(cell.setting, data.y, classes, random)
    except DataError as error:
        raise NotApplicable(str(error)) from None
    form = cell.preset, cell.parameters
    model = registry.configured(cell.method, data.semantics, cell.seed, cell.C, "all", form)
    reset_peak()
    begin = time.perf_counter()
    answers = answer_pool(model, data.X, data.y, batches)
    seconds, peak = time.perf_counter() - begin, peak_mb()
    end, start = answers.accuracies
    figures = {"accuracy": end, "start": start, "calibration_error": answers.calibration_error}
    by_class = metrics.accuracy_by_class(answers.truth, answers.found)
    measured = {**figures, "by_class": {str(c): v for c, v in by_class.items()}}
    return Outcome("done", data.features, seconds, peak_mb=peak, metrics=measured)


def _refuse_other_spaces(cell: Cell, data: ZeroShotDataset) -> None:
    """A method that needs no labelled rows compares rows with class vectors: widths must agree."""
    if registry.method(cell.method).estimator.needs_labelled_rows:
        return
    p, q = data.X.shape[1], data.semantics.vectors.shape[1]
    if p != q:
        raise NotApplicable(
            f"{cell.method} needs features and semantics of one space, and {cell.dataset} has {p} "
            f"features and {q} attributes."
        )


def _metrics(
    cell: Cell, data: ZeroShotDataset, model: Classifier, rows: Array, scores: Array
) -> JsonObject:
    true, classes = data.y[rows], np.asarray(model.classes_)
    predicted = classes[scores.argmax(axis=1)]
    by_class = metrics.accuracy_by_class(true, predicted)
    measured: JsonObject = {
        "per_image": metrics.per_image_accuracy(true, predicted),
        "by_class": {str(c): v for c, v in by_class.items()},
    }
    if _calibrated(cell):
        measured |= answer_quality(model, true, scores)
    if cell.setting in GENERALISED:
        parts = metrics.seen_unseen_harmonic(true, predicted, data.seen_classes)
        measured |= {"seen": parts.seen, "unseen": parts.unseen, "accuracy": parts.harmonic}
        measured["ausuc"] = metrics.ausuc(true, scores, classes, data.seen_classes)
        return measured
    measured["accuracy"] = metrics.per_class_accuracy(true, predicted)
    if len(classes) > 5:
        measured["top5"] = metrics.top_k_accuracy(true, scores, classes, 5)
    if len(classes) <= 60 and cell.trial == 0 and cell.share == 1 and cell.C is None:
        table = metrics.confusion(true, predicted, classes)
        measured["confusion"] = {
            "classes": [str(c) for c in table.classes.tolist()],
            "counts": table.counts.tolist(),
        }
    return measured


def _seen_error(cell: Cell, data: ZeroShotDataset, model: Any) -> dict[str, float]:
    """Return ε and ε̄ of Eq. (26) and (27), for LR and for models that regress on one-hot labels."""
    inner = getattr(model, "estimator_", model)
    if isinstance(inner, LinearRegressionZSL):
        table = data.semantics.vectors[data.semantics.positions(model.seen_classes_)]
        codes = np.searchsorted(model.seen_classes_, data.y[data.train])
        of_rows, of_patterns = inner.training_errors(Rows(data.X[data.train], codes), table)
        return {"seen_error_rows": of_rows, "seen_error_patterns": of_patterns}
    if registry.method(cell.method).plain_name not in registry.ONE_HOT_METHODS:
        return {}
    judge = model
    if not isinstance(model, FastTraining):  # the same ruler for the model trained on rows
        judge = FastTraining(model)
        judge.seen_classes_, judge.estimator_ = model.seen_classes_, model
    of_rows, of_patterns = judge.training_errors(data.X[data.train], data.y[data.train])
    return {"seen_error_rows": of_rows, "seen_error_patterns": of_patterns}


def _history(data: ZeroShotDataset, model: Any, y: Array, rows: Array) -> list[JsonObject]:
    """Return the rounds, with the share of rows first trusted in each whose final label is right."""
    rounds = getattr(model, "history_", None)
    if not rounds:
        return []
    pool = np.flatnonzero(np.array([label is None for label in y]))
    first = model.labelled_round_[pool]
    right = model.transduction_[pool] == data.y[rows]
    lines = []
    for item in rounds:
        line: JsonObject = {k: v for k, v in asdict(item).items() if isinstance(v, (int, float))}
        new = first == item.round
        line["newly_trusted"] = int(new.sum())
        line["purity"] = float(right[new].mean()) if new.any() else None
        lines.append(line)
    return lines
