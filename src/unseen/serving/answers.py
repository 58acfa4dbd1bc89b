"""What ``/predict`` answers: labels, probabilities, strangers and prediction sets."""

from __future__ import annotations

import numpy as np
from fastapi import Request, Response

from unseen.serving.batching import Answered
from unseen.serving.request_bodies import json_response, refuse
from unseen.typing import UNLABELLED, JsonObject, Label

COVERAGE = "coverage"
"""The query parameter that asks for prediction sets."""


def asked_coverage(request: Request) -> float | None:
    """Return how often a prediction set should hold the right class; None if no sets are asked for."""
    if not request.scope["query_string"]:
        return None
    text = request.query_params.get(COVERAGE)
    if text is None:
        return None
    try:
        coverage = float(text)
    except ValueError:
        coverage = 0.0
    if not 0 < coverage < 1:
        refuse(f"'coverage' must be a number between 0 and 1, as 0.9. Got {text[:80]!r}.")
    return coverage


def prediction(answer: Answered, coverage: float | None = None) -> Response:
    """Return the answer as JSON."""
    P = answer.probabilities
    wrong = np.flatnonzero(~np.isfinite(P).all(axis=1))
    if len(wrong):
        refuse(f"Row {wrong[0]} has numbers so large that its scores overflow. Check its units.")
    labels = [answer.classes[k] for k in P.argmax(axis=1).tolist()]
    content: JsonObject = {
        "labels": labels,
        "probabilities": np.ascontiguousarray(P),
        "classes": answer.classes,
    }
    if answer.strangers is not None:
        strangers, unknown = answer.strangers, _unknown(answer)
        for row in np.flatnonzero(strangers[:, 1]).tolist():
            labels[row] = unknown
        content["strangers"] = np.ascontiguousarray(strangers[:, 0])
    if coverage is not None:
        content["sets"] = _sets(answer, coverage)
    return json_response(content)


def _unknown(answer: Answered) -> Label:
    """Return the label of rows that belong to no candidate."""
    if answer.model.unknown is not None:
        return answer.model.unknown  # type: ignore[no-any-return]
    return "unknown" if isinstance(answer.classes[0], str) else UNLABELLED


def _sets(answer: Answered, coverage: float) -> list[list[Label]]:
    """Return the prediction set of each row, the likeliest class first."""
    if not hasattr(answer.model, "predict_set"):
        refuse("This model makes no prediction sets. Leave 'coverage' out.")
    P, classes = answer.probabilities, answer.classes
    inside = answer.model._likeliest(P, coverage)
    order = np.argsort(-P, axis=1, kind="stable")
    sets = [
        [classes[k] for k in places if held[k]]
        for places, held in zip(order.tolist(), inside.tolist(), strict=True)
    ]
    if answer.strangers is not None:
        for row, (odds, called) in enumerate(answer.strangers.tolist()):
            if called or odds > 1 - coverage:
                sets[row].insert(0 if called else len(sets[row]), _unknown(answer))
    return sets
