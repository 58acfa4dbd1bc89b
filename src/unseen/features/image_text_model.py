"""One model of pictures and texts, as CLIP and SigLIP are: both halves give vectors of one space."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.exceptions import DataError
from unseen.features.backbones import Backbone, backbone
from unseen.features.onnx_file import SCALE_SETTING, OnnxBackbone, read_settings
from unseen.features.onnx_words import OnnxWords
from unseen.features.text_extraction import text_encoder
from unseen.features.words import HuggingFaceWords, TextEncoder

CLIP_SCALE = 100.0
"""τ of CLIP, which training holds at most at this value."""
IMAGE_OUTPUTS, TEXT_OUTPUTS = ("image_embeds", "pooler_output"), ("text_embeds", "pooler_output")
"""Outputs that exporters give the vectors of the shared space: CLIP's have the first name, SigLIP's the
second. CLIP's pooler_output lies before the projection, so its own name comes first."""
HALVES = ("get_image_features", "get_text_features", "logit_scale")
"""What a model of transformers has if it is one of pictures and texts."""


@dataclass(frozen=True)
class ImageTextModel:
    """Encoders of pictures and of texts whose vectors can be compared by their cosine."""

    images: Backbone
    texts: TextEncoder
    scale: float
    """τ: the probability of a text among others is softmax(τ·cos)."""
    notes: list[str] = field(default_factory=list)


def has_texts(name: str) -> bool:
    """Tell whether a backbone of this name may have a half for texts."""
    return name.startswith(("hf:", "onnx:"))


def image_text_model(name: str, words: str = "") -> ImageTextModel:
    """Return a model of pictures and texts by its name.

    Parameters
    ----------
    name : str
        ``hf:NAME_OR_FOLDER``, a CLIP or SigLIP for transformers; or ``onnx:PATH``, the half that takes
        pictures.
    words : str
        With ``onnx:``, the half that takes texts: ``onnx:PATH``. With ``hf:``, nothing.

    Raises
    ------
    DataError
        If the model has no half for texts, or the two halves are not of one model.
    """
    if name.startswith("onnx:"):
        return _from_onnx(name, words)
    if not name.startswith("hf:"):
        raise DataError(
            f"{name}: takes pictures only. To compare pictures with texts, name a CLIP or SigLIP as "
            "hf:NAME_OR_FOLDER, or both halves of one as onnx:PATH.",
            options=("backbone", "words"),
        )
    if words not in ("", name):
        raise DataError(
            f"{words}: its vectors cannot be compared with those of {name}, which has its own encoder "
            "of texts. Leave it out.",
            options=("words",),
        )
    images: Any = backbone(name)
    model = images.module
    if not all(hasattr(model, part) for part in HALVES):
        raise DataError(
            f"{name}: is a {type(model).__name__}, which has no encoder of texts in the space of its "
            "pictures. Use a CLIP or SigLIP, or give labelled pictures.",
            options=("backbone", "seen"),
        )
    scale = float(model.logit_scale.detach().exp())
    return ImageTextModel(images, HuggingFaceWords(name, model), _checked_scale(scale, name))


def picture_half(name: str) -> OnnxBackbone:
    """Return the half ``onnx:PATH`` of a model that takes pictures."""
    return OnnxBackbone(Path(name.removeprefix("onnx:")), IMAGE_OUTPUTS)


def text_half(name: str) -> TextEncoder:
    """Return the half of a model that takes texts: ``hf:NAME_OR_FOLDER`` or ``onnx:PATH``."""
    return _onnx_text_half(name) if name.startswith("onnx:") else text_encoder(name)


def _onnx_text_half(name: str) -> OnnxWords:
    return OnnxWords(Path(name.removeprefix("onnx:")), TEXT_OUTPUTS)


def _from_onnx(name: str, words: str) -> ImageTextModel:
    """Return the model of two ONNX files; τ is what the settings beside one of them say."""
    if not words.startswith("onnx:"):
        got = f"{words!r} is none" if words else "there is none"
        raise DataError(
            f"{name}: is the half of a model that takes pictures. Its half for texts is needed, as "
            f"onnx:PATH, and {got}.",
            options=("words",),
        )
    files = [Path(half.removeprefix("onnx:")) for half in (name, words)]
    images, texts = picture_half(name), _onnx_text_half(words)
    for path, output in zip(files, (images.output, texts.output), strict=True):
        if output.shape and len(output.shape) != 2:
            raise DataError(
                f"{path}: its output {output.name!r} has shape {output.shape}, but one vector an item "
                "is needed, of the space that pictures and texts share. Export that."
            )
    if images.width != texts.width:
        raise DataError(
            f"{files[0]} gives {images.width} numbers and {files[1]} gives {texts.width}: they are not "
            "the halves of one model. Export both from one model.",
            options=("backbone", "words"),
        )
    for path in files:
        scale = read_settings(path).get(SCALE_SETTING)
        if scale is not None:
            return ImageTextModel(images, texts, _checked_scale(scale, f"{path}.json"))
    note = (
        f"{files[0].name}: no scale is known for its cosines, so that of CLIP was taken, "
        f"{CLIP_SCALE:g}. If the model has another (the exponential of its logit_scale), write "
        f'{{"{SCALE_SETTING}": …}} into {files[0].name}.json.'
    )
    return ImageTextModel(images, texts, CLIP_SCALE, [note])


def _checked_scale(scale: object, source: str) -> float:
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
        raise DataError(
            f"{source}: the scale of its cosines is {scale!r}, but a number above 0 is needed: the "
            "exponential of the model's logit_scale."
        )
    return float(scale)
