"""Models that know where their features came from: kept in a file, used on photographs, enlarged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from unseen.datasets.image_folder import any_folder
from unseen.exceptions import DataError, ModelFileError
from unseen.features import Backbone, Broken, Extraction, FeatureStore, Progress, backbone, extract
from unseen.features.image_text_model import picture_half
from unseen.labelling.classes import Given, Recipe
from unseen.labelling.fitting import Fitted
from unseen.labelling.folders import read_names
from unseen.labelling.labels import Labels, answers_of
from unseen.labelling.pool_probabilities import prediction_sets, row_answers, unknown_label
from unseen.persistence import load, save
from unseen.semantics import ClassTable
from unseen.typing import Array, Classifier, JsonObject

BUILT_IN_ENCODERS = ("minilm",)
"""Encoders that are loaded because a model file names them. All others, a folder, a file or a name on a
hub, is loaded only if the user names it."""
ORIGIN = "origin_"
"""The attribute of a model that says how its features and class vectors were made."""


def save_model(path: Path, fitted: Fitted) -> None:
    """Write a fitted model to a file that also says which backbone and words it belongs to."""
    origin = fitted.task.data.origin
    if origin:
        setattr(fitted.model, ORIGIN, dict(origin))
    save(fitted.model, path)


def load_model(path: Path) -> tuple[Classifier, JsonObject]:
    """Read a model file, and what it says of its features; {} if it was saved from Python."""
    model = load(path)
    return model, model_origin(model, path)


def model_origin(model: object, path: Path) -> JsonObject:
    """Return what a model says of its features and class vectors; {} if it was saved from Python."""
    origin = getattr(model, ORIGIN, {})
    texts = ("backbone", "texts", "identity", "words", "prompt")
    if (
        not isinstance(origin, dict)
        or not all(isinstance(origin.get(name, ""), str) for name in texts)
        or not isinstance(origin.get("weight", 0.0), int | float)
        or not all(isinstance(name, str) for name in origin.get("attributes", ()))
        or (origin and not {"identity", "words", "weight", "attributes"} <= set(origin))
    ):
        raise ModelFileError(
            f"{path}: what it says of its features cannot be understood. Fit the model again."
        )
    return origin


def check_backbone(path: Path, origin: dict[str, object], backbone: Backbone, columns: int) -> None:
    """Refuse features that the model was not fitted on."""
    if backbone.width != columns:
        raise DataError(
            f"{path}: was fitted on {columns} features, and {backbone.name} gives {backbone.width}. "
            "Name the backbone that it was fitted with.",
            options=("backbone",),
        )
    if origin and origin["identity"] != backbone.identity:
        raise DataError(
            f"{path}: was fitted on features of {origin['backbone']} with other weights or another "
            "view of the picture. Use the same weights, or fit again."
        )


def predict(
    path: Path,
    model: Classifier,
    origin: JsonObject,
    folder: Path,
    backbone: Backbone,
    store: FeatureStore | None,
    candidates: str = "",
    on_progress: Callable[[Progress], None] | None = None,
    unknown: str = "",
    coverage: float | None = None,
) -> tuple[Labels, Extraction]:
    """Label the photographs of a folder with a model from a file.

    ``broken`` of the extraction lists every file of the folder that was not read.
    ``candidates`` is "" for those of the model, "all", "seen", "unseen", a list or a text file;
    ``unknown`` and ``coverage`` are explained at :func:`model_labels`.
    """
    contents = any_folder(folder)
    check_backbone(path, origin, backbone, int(model.n_features_in_))
    set_candidates(model, candidates)
    set_unknown(model, unknown, path)
    extraction = extract(contents.pictures, backbone, store, on_progress=on_progress)
    items = [path.relative_to(folder).as_posix() for path in extraction.paths]
    extraction = replace(
        extraction, broken=[*extraction.broken, *(Broken(*item) for item in contents.unread)]
    )
    return model_labels(
        model, extraction.X, items, folder, coverage, unread=extraction.broken
    ), extraction


def model_labels(
    model: Classifier,
    X: Array,
    items: list[str],
    root: Path,
    coverage: float | None = None,
    *,
    texts: list[str] | None = None,
    unread: Sequence[Broken] = (),
) -> Labels:
    """Return the labels that a model from a file gives to rows.

    Parameters
    ----------
    model : estimator
        One that was fitted with ``strangers`` also says which items belong to no candidate.
    X : array of shape (n, p)
    items, root, texts, unread
        See :func:`~unseen.labelling.labels.answers_of`.
    coverage : float, optional
        Of prediction sets; None for none.
    """
    answers = row_answers(model, X)
    sets = None
    if coverage is not None:
        sets = prediction_sets(model, answers.probabilities, answers.strangers, coverage)
    return answers_of(
        answers.probabilities,
        answers.classes,
        items,
        root,
        texts=texts,
        unread=unread,
        strangers=answers.strangers,
        sets=sets,
        coverage=coverage,
    )


def set_unknown(model: Classifier, label: str, path: Path) -> None:
    """Choose the label of items that belong to no candidate; "" leaves that of the model."""
    if not label:
        return
    if unknown_label(model) is None:
        raise DataError(
            f"{path}: was not fitted to tell items that belong to no candidate. Fit it again with a "
            "label for them and a folder or file of items without labels.",
            options=("unknown",),
        )
    if label in {str(name) for name in model.classes_.tolist()}:
        raise DataError(f"{path}: {label!r} is a candidate. Choose another label for unknown items.")
    model.set_params(unknown=label)


def set_candidates(model: Classifier, asked: str) -> None:
    """Let a model answer among other classes: "all", "seen", "unseen", a list or a text file."""
    if asked in ("all", "seen", "unseen"):
        model.set_params(candidates=asked)
    elif asked:
        model.set_params(candidates=read_names(asked))


def backbone_to_load(path: Path, origin: dict[str, object], named: str = "") -> str:
    """Return the backbone that a user names, or the one of the model, if it is safe to load that.

    A model file must not choose which file, folder or address is opened: a name with a part after a
    colon, as hf:NAME, is taken from the user only.
    """
    name = named or str(origin.get("backbone", ""))
    if not name:
        raise DataError(
            f"{path}: does not say which backbone its features come from. To take photographs, name "
            "it, as efficientnet-lite0.",
            options=("backbone",),
        )
    if not named and ":" in name:
        raise DataError(
            f"{path}: was fitted on features of {name!r}, which is not loaded because a file names it. "
            "If you trust it, name it yourself.",
            options=("backbone",),
        )
    return name


def model_backbone(
    path: Path, origin: JsonObject, named: str = "", weights: Path | None = None
) -> Backbone:
    """Load the backbone that a user names, or the one of the model, if it is safe to load that.

    An ONNX file that is one half of a model of pictures and texts has several outputs: that of the
    shared space is taken.
    """
    name = backbone_to_load(path, origin, named)
    if name.startswith("onnx:") and origin.get("shared") is True:
        return picture_half(name)
    return backbone(name, weights)


def recipe_of(model: Classifier, origin: JsonObject, path: Path, words: str = "") -> Recipe:
    """Return how the model's class vectors were made.

    ``words`` is the encoder that the user names; needed where the model's is not built in.
    """
    if origin:
        encoder = origin["words"]
        if encoder and encoder not in BUILT_IN_ENCODERS and not words:
            raise DataError(
                f"{path}: its class vectors were made by {encoder!r}, which is not loaded because a "
                "file names it. If you trust it, name it yourself.",
                options=("words",),
            )
        return Recipe(
            words if encoder and words else encoder,
            float(origin["weight"]),
            tuple(origin["attributes"]),
            str(origin.get("prompt", "")),
            origin.get("shared") is True,
        )
    attributes = _table(model, path).attributes
    if attributes is None:
        raise DataError(
            f"{path}: does not say what its class vectors mean, so a class cannot be added by name. "
            "Add it in Python: model.set_params(semantics=larger)."
        )
    return Recipe(attributes=tuple(attributes))


def add_classes(model: Classifier, recipe: Recipe, given: Given, path: Path) -> list[str]:
    """Make a model know more classes, without training; return their names.

    The new classes join the candidates.
    """
    table = _table(model, path)
    known = set(table)
    twice = [name for name in given.names if name in known]
    if twice:
        raise DataError(f"{given.source}: {path} knows the class {twice[0]!r} already.")
    larger = table.with_classes(recipe.make(given))
    candidates = model.get_params()["candidates"]
    if candidates is not None and not isinstance(candidates, str):
        model.set_params(candidates=[*np.asarray(candidates).tolist(), *given.names])
    model.set_params(semantics=larger)
    return given.names


def _table(model: object, path: Path) -> ClassTable:
    if not hasattr(model, "_parameters"):
        raise DataError(f"{path}: holds a Pipeline. Add the class in Python.")
    semantics = model._parameters()[0]
    if semantics is None:
        raise DataError(f"{path}: has no class vectors, so no class can be added.")
    return ClassTable.of(semantics)
