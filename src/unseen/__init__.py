"""unseen: recognise classes that nobody has labelled."""

from unseen.fast import FastTraining
from unseen.inductive import ASTE, ESZSL, SJE, PrototypeRidge
from unseen.semantics import ClassTable
from unseen.transductive import TASTE, SelfPaced

__all__ = [
    "ASTE",
    "ESZSL",
    "SJE",
    "TASTE",
    "ClassTable",
    "FastTraining",
    "PrototypeRidge",
    "SelfPaced",
]
__version__ = "0.1.0"
