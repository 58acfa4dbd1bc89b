"""The scorer as an ONNX graph: features in, class scores out.

The graph holds the semantic table and computes the weights of each class from it, so that a class is
added by extending the table. A runtime folds these constants when it opens the file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from unseen.base import ZeroShotClassifier
from unseen.exceptions import ModelFileError
from unseen.persistence.model_files import model_file
from unseen.persistence.onnx_graph import graph_of
from unseen.semantics import ClassTable
from unseen.statistics.scorer import Affine, Scorer, Step, UnitLength
from unseen.transductive import WithinClassWhitening

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-5
"""How far the scores of the graph may be from the model's, as a share of the largest."""

LARGEST = 2**31
"""Bytes: what the protobuf format allows."""

PER_CLASS = ("semantics", "corrections", "offsets")
"""The initializers with one row a class; a class that is added has zeros in the last two."""


def export_onnx(
    model: ZeroShotClassifier, path: str | os.PathLike[str], dtype: str = "float32"
) -> None:
    """Write the scorer of a fitted model as an ONNX graph.

    The graph has one input, ``features`` (rows × columns), and one output, ``scores`` (rows × classes):
    the scores of ``decision_function``, also where there are two classes. Rows may be of
    any number. The
    metadata names the classes in the order of the columns (``classes``, JSON), the ``temperature`` of
    ``predict_proba`` and the class of the ``model``. Before the file is written, the graph is run and
    compared with the model.

    Parameters
    ----------
    model : estimator of this library, or Pipeline
        A pipeline may hold WithinClassWhitening, StandardScaler and Normalizer before the estimator.
    path : str or path
    dtype : {"float32", "float64"}
        Of the input, the output and the weights.

    Raises
    ------
    ModelFileError
        If the scores have no such form. Needs the extra ``onnx``.
    """
    from unseen.files import need

    need("onnx", path, "onnx")
    if dtype not in ("float32", "float64"):
        raise ValueError(
            "The 'dtype' parameter of export_onnx must be 'float32' or 'float64'. "
            f"Got {dtype!r} instead."
        )
    estimator, scorer = _taken_apart(model)
    classes, vectors = estimator._resolve()
    facts = {
        "classes": json.dumps(classes.tolist()),
        "temperature": repr(float(estimator.temperature_)),
        "name_doubt": repr(float(estimator.name_doubt_)),
        "model": type(estimator).__name__,
        "semantics": "none" if estimator._parameters()[0] is None else "given",
    }
    graph = graph_of(scorer, vectors, int(model.n_features_in_), np.dtype(dtype), facts)
    _verify(graph, model, estimator, np.dtype(dtype))
    _write(graph, path)


def add_classes_to_onnx(
    path: str | os.PathLike[str], classes: object, out: str | os.PathLike[str] | None = None
) -> None:
    """Add classes to a graph that ``export_onnx`` wrote, without training and without the model.

    Parameters
    ----------
    path : str or path
    classes : mapping or DataFrame, class -> vector
        New classes; their scores become the last columns, in this order.
    out : str or path, optional
        Where to write the larger graph; by default it replaces ``path``.
    """
    from unseen.files import need

    onnx = need("onnx", path, "onnx")
    more = ClassTable.of(classes)
    with model_file(path):
        graph = _read(path)
        facts = {entry.key: entry for entry in graph.metadata_props}
        held = {tensor.name: tensor for tensor in graph.graph.initializer}
        tables = {n: onnx.numpy_helper.to_array(held[n]) for n in PER_CLASS if n in held}
        if "classes" not in facts or "semantics" not in tables:
            raise ModelFileError(f"{path}: is no graph of export_onnx. Export the model again.")
        names = json.loads(facts["classes"].value)
        width = tables["semantics"].shape[1]
    if facts["semantics"].value == "none":
        raise ModelFileError(
            f"{path}: its model was fitted without semantics, so no vector describes a class. Fit it "
            "with semantics, and export it again."
        )
    if more.vectors.shape[1] != width:
        raise ValueError(
            f"The new classes have vectors of {more.vectors.shape[1]} columns, but those of {path} "
            f"have {width}. Give vectors of the same kind."
        )
    known = sorted(set(more.classes.tolist()) & set(names), key=str)
    if known:
        raise ValueError(f"{path} already has the class {known[0]!r}. Give new classes only.")
    if type(names[0]) is not type(more.classes.tolist()[0]):
        raise ValueError(
            f"The classes of {path} are of the type {type(names[0]).__name__}, the new ones are of the "
            f"type {type(more.classes.tolist()[0]).__name__}. Name all classes alike."
        )
    for name, rows in tables.items():
        new = more.vectors if name == "semantics" else np.zeros((len(more), *rows.shape[1:]))
        longer = np.concatenate([rows, new.astype(rows.dtype)])
        held[name].CopyFrom(onnx.numpy_helper.from_array(longer, name))
    facts["classes"].value = json.dumps(names + more.classes.tolist())
    _write(graph, path if out is None else out)


def _taken_apart(model: ZeroShotClassifier) -> tuple[ZeroShotClassifier, Scorer]:
    """Return the estimator in a pipeline, or the model itself, and its scorer with all steps."""
    check_is_fitted(model)
    steps: list[Step] = []
    estimator = model
    if isinstance(model, Pipeline):
        *before, estimator = [step for _, step in model.steps]
        steps = [_step(step) for step in before if step not in (None, "passthrough")]
    if not isinstance(estimator, ZeroShotClassifier):
        raise ModelFileError(
            f"Only an estimator of unseen is exported. Got {type(estimator).__name__}."
        )
    _, vectors = estimator._resolve()
    estimator._check_width(vectors)
    try:
        return estimator, estimator._formula(vectors).after(*steps)
    except NotImplementedError:
        raise ModelFileError(
            f"The scores of {type(estimator).__name__} are no formula that can be written as an ONNX "
            "graph here. Use model.save(path), or export another estimator."
        ) from None


def _step(step: object) -> Step:
    if isinstance(step, WithinClassWhitening):
        return Affine(step.mean_, step.components_.T)
    if isinstance(step, StandardScaler):
        zeros, ones = np.zeros(step.n_features_in_), np.ones(step.n_features_in_)
        scale = ones if step.scale_ is None else 1 / step.scale_
        return Affine(step.mean_ if step.with_mean else zeros, scale)
    if isinstance(step, Normalizer) and step.norm == "l2":
        return UnitLength()
    raise ModelFileError(
        f"The step {type(step).__name__} cannot be exported. A pipeline may hold WithinClassWhitening, "
        "StandardScaler and Normalizer before the estimator."
    )


def _verify(
    graph: object, model: ZeroShotClassifier, estimator: ZeroShotClassifier, dtype: npt.DTypeLike
) -> None:
    """Run the graph on random rows, and compare it with the model."""
    from onnx.reference import ReferenceEvaluator

    X = np.random.default_rng(0).normal(size=(16, int(model.n_features_in_))).astype(dtype)
    outputs: Any = ReferenceEvaluator(graph).run(None, {"features": X})
    rows = X.astype(float)
    if isinstance(model, Pipeline):
        rows = model[:-1].transform(rows)
    wanted = estimator._scores(rows, estimator._resolve()[1])
    error = float(np.abs(outputs[0] - wanted).max()) / max(float(np.abs(wanted).max()), 1e-300)
    if not error <= TOLERANCE:
        raise ModelFileError(
            f"The graph of {type(estimator).__name__} differs from the model by {error:.0e} of the "
            f"largest score, more than {TOLERANCE:.0e}. Export it with dtype='float64', or use "
            "model.save(path)."
        )


def _read(path: str | os.PathLike[str]) -> ModelProto:
    import onnx

    size = Path(path).stat().st_size
    if size > LARGEST:
        raise ModelFileError(
            f"{path}: has {size:,} bytes, and a graph at most {LARGEST:,}. Export it again."
        )
    graph = onnx.load(path, load_external_data=False)
    onnx.checker.check_model(graph)
    return graph


def _write(graph: ModelProto, path: str | os.PathLike[str]) -> None:
    from unseen.files import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_bytes(graph.SerializeToString(deterministic=True))
