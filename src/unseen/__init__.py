"""unseen: recognise classes that nobody has labelled."""

from unseen.exceptions import AdaptationWarning, DataError
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
    "PrototypeRidge",
    "SelfPaced",
    "SelfPacedPrototypes",
    "SynC",
    "WithinClassWhitening",
]
__version__ = "0.1.0"
