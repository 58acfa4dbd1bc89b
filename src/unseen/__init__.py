"""unseen: recognise classes that nobody has labelled."""

from unseen.exceptions import AdaptationWarning, DataError, ModelFileError
from unseen.fast import FastTraining
from unseen.inductive import ASTE, ESZSL, SJE, PrototypeRidge
from unseen.persistence import add_classes_to_onnx, export_onnx, load
from unseen.semantics import ClassTable
from unseen.transductive import TASTE, SelfPaced, SelfPacedPrototypes, WithinClassWhitening

__all__ = [
    "ASTE",
    "ESZSL",
    "SJE",
    "TASTE",
    "AdaptationWarning",
    "ClassTable",
    "DataError",
    "FastTraining",
    "ModelFileError",
    "PrototypeRidge",
    "SelfPaced",
    "SelfPacedPrototypes",
    "WithinClassWhitening",
    "add_classes_to_onnx",
    "export_onnx",
    "load",
]
__version__ = "0.1.0"
