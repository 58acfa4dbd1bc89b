"""unseen: recognise classes that nobody has labelled."""

from unseen.exceptions import AdaptationWarning, DataError, ModelFileError
from unseen.fast import FastTraining
from unseen.inductive import (
    ALE,
    ASTE,
    CMT,
    DAP,
    ESZSL,
    HAT,
    IAP,
    JLSE,
    KDICA,
    SAE,
    SJE,
    SSE,
    DeViSE,
    LatEm,
    MetricZSL,
    PrototypeRidge,
    SynC,
)
from unseen.persistence import add_classes_to_onnx, export_onnx, load
from unseen.semantics import ClassTable
from unseen.transductive import TASTE, SelfPaced, SelfPacedPrototypes, WithinClassWhitening

__all__ = [
    "ALE",
    "ASTE",
    "CMT",
    "DAP",
    "ESZSL",
    "HAT",
    "IAP",
    "JLSE",
    "KDICA",
    "SAE",
    "SJE",
    "SSE",
    "TASTE",
    "AdaptationWarning",
    "ClassTable",
    "DataError",
    "DeViSE",
    "FastTraining",
    "LatEm",
    "MetricZSL",
    "ModelFileError",
    "PrototypeRidge",
    "SelfPaced",
    "SelfPacedPrototypes",
    "SynC",
    "WithinClassWhitening",
    "add_classes_to_onnx",
    "export_onnx",
    "load",
]
__version__ = "0.1.0"
