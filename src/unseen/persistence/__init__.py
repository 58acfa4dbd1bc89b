"""Model files: one file that holds data and never code, and the scorer as an ONNX graph."""

from unseen.persistence.model_files import changing, load, save
from unseen.persistence.onnx_files import add_classes_to_onnx, export_onnx

__all__ = ["add_classes_to_onnx", "changing", "export_onnx", "load", "save"]
