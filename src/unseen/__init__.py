"""unseen: recognise classes that nobody has labelled."""

from unseen.exceptions import AdaptationWarning, DataError
from unseen.fast import FastTraining
from unseen.inductive import ASTE, ESZSL, SJE, PrototypeRidge
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
    "PrototypeRidge",
    "SelfPaced",
    "SelfPacedPrototypes",
    "WithinClassWhitening",
]
__version__ = "0.1.0"
