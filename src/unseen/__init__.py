"""unseen: recognise classes that nobody has labelled."""

from unseen import inductive, transductive
from unseen.base import ZeroShotClassifier
from unseen.citation import Citation
from unseen.exceptions import AdaptationWarning, DataError, ModelFileError
from unseen.fast import FastTraining
from unseen.inductive import *  # noqa: F403 - what the packages of methods export is public here too
from unseen.persistence import add_classes_to_onnx, export_onnx, load
from unseen.scale import open_rows
from unseen.semantics import ClassTable
from unseen.transductive import *  # noqa: F403

__all__ = [
    "AdaptationWarning",
    "Citation",
    "ClassTable",
    "DataError",
    "FastTraining",
    "ModelFileError",
    "ZeroShotClassifier",
    "add_classes_to_onnx",
    "export_onnx",
    "load",
    "open_rows",
]
__all__ += inductive.__all__
__all__ += transductive.__all__
__version__ = "0.1.0"
