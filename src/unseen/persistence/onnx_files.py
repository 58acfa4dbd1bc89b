"""ONNX."""

from typing import Any


def export_onnx(model: Any, path: Any) -> None:
    """Later."""


def add_classes_to_onnx(path: Any, classes: Any) -> None:
    """Later."""
