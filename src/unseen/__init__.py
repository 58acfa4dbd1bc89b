"""unseen: recognise classes that nobody has labelled."""

from unseen.exceptions import AdaptationWarning, DataError, ModelFileError
from unseen.fast import FastTraining
from unseen.inductive import ASTE, ESZSL, SJE, PrototypeRidge
from unseen.persistence import add_classes_to_onnx, export_onnx, load
from unseen.semantics import ClassTable
from unseen.transductive import (
    RKT,
    SMS,
    TASTE,
    TMVHLP,
    UDA,
    BiDiLEL,
    MaxMarginSSL,
    PrototypePropagation,
    SelfPaced,
    SelfPacedPrototypes,
    SemiSupervisedClustering,
    WDVSc,
    WithinClassWhitening,
)

__all__ = [
    "ASTE",
    "ESZSL",
    "RKT",
    "SJE",
    "SMS",
    "TASTE",
    "TMVHLP",
    "UDA",
    "AdaptationWarning",
    "BiDiLEL",
    "ClassTable",
    "DataError",
    "FastTraining",
    "MaxMarginSSL",
    "ModelFileError",
    "PrototypePropagation",
    "PrototypeRidge",
    "SelfPaced",
    "SelfPacedPrototypes",
    "SemiSupervisedClustering",
    "WDVSc",
    "WithinClassWhitening",
    "add_classes_to_onnx",
    "export_onnx",
    "load",
]
__version__ = "0.1.0"
