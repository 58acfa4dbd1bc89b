"""Backbones of other libraries: transformers, timm, open_clip. Each is imported only here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.exceptions import DataError
from unseen.features.downloads import check_downloads, load_pretrained
from unseen.features.pictures import IMAGENET_MEAN, IMAGENET_STD, View
from unseen.features.torch_backbone import TorchBackbone
from unseen.files import need
from unseen.typing import JsonObject

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

_PILLOW = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def hugging_face(rest: str, weights: Path | None) -> TorchBackbone:
    """Return ``hf:NAME_OR_FOLDER``: a vision model of transformers, CLIP's image tower included.

    Weights are read from safetensors only; code from the model's repository is never run, and nothing
    is downloaded unless :func:`unseen.features.allow_downloads` was called.
    """
    name = f"hf:{rest}"
    if not rest:
        raise DataError("hf: needs a name or a folder: hf:facebook/dinov2-small, hf:./my-model.")
    need("torch", name, "hf")
    library = need("transformers", name, "hf")
    what = "a model for transformers"
    model = load_pretrained(library.AutoModel.from_pretrained, rest, what, use_safetensors=True)
    given, _ = load_pretrained(library.BaseImageProcessor.get_image_processor_dict, rest, what)
    if model.config.model_type == "siglip2":
        raise DataError(
            f"{name}: takes patches of pictures of any shape (NaFlex), which are not made here. Use a "
            "SigLIP 2 of fixed resolution, whose config.json says siglip."
        )

    def forward(tensor: Tensor) -> Tensor:
        if hasattr(model, "get_image_features"):
            features = model.get_image_features(pixel_values=tensor)
        else:
            features = model(pixel_values=tensor)
        if hasattr(features, "last_hidden_state"):
            pooled = getattr(features, "pooler_output", None)
            features = features.last_hidden_state[:, 0] if pooled is None else pooled
        flat: Tensor = features.flatten(1)
        return flat

    return TorchBackbone(name, model, forward, _view_of(given))


def _view_of(given: JsonObject) -> View:
    """Read what a ``preprocessor_config.json`` says; every model of the hub has its own."""
    size, crop = given.get("size") or {}, given.get("crop_size") or {}
    shortest = _side(size, 224)
    side = _side(crop, shortest) if given.get("do_center_crop", bool(crop)) else shortest
    factor = 1.0 / float(given.get("rescale_factor") or 1 / 255)
    mean, std = given.get("image_mean"), given.get("image_std")
    stretch = isinstance(size, dict) and "height" in size and "shortest_edge" not in size
    plain = not given.get("do_normalize", True)
    mean = (0.0,) * 3 if plain else tuple(mean or (v / 255 for v in IMAGENET_MEAN))
    std = (1.0,) * 3 if plain else tuple(std or (v / 255 for v in IMAGENET_STD))
    return View(
        side,
        min(side / shortest, 1.0),
        _PILLOW.get(int(given.get("resample", 3)), "bicubic"),
        tuple(v * factor for v in mean),
        tuple(v * factor for v in std),
        stretch,
    )


def _side(size: Any, default: int) -> int:
    if isinstance(size, int):
        return size
    return int(size.get("shortest_edge") or size.get("height") or default)


def timm(rest: str, weights: Path | None) -> TorchBackbone:
    """Return ``timm:NAME``: a pretrained model of timm, without its classifier."""
    name = f"timm:{rest}"
    library = _need_with_torchvision("timm", "timm", name)
    check_downloads(name, "timm")
    model = library.create_model(rest, pretrained=True, num_classes=0)
    given = library.data.resolve_model_data_config(model)
    view = View(
        int(given["input_size"][-1]),
        float(given["crop_pct"]),
        str(given["interpolation"]),
        tuple(255.0 * v for v in given["mean"]),
        tuple(255.0 * v for v in given["std"]),
    )
    return TorchBackbone(name, model, model, view)


def open_clip(rest: str, weights: Path | None) -> TorchBackbone:
    """Return ``open_clip:NAME/TAG``: the image tower of a model of open_clip."""
    name = f"open_clip:{rest}"
    library = _need_with_torchvision("open_clip", "open_clip_torch", name)
    check_downloads(name, "open_clip")
    architecture, _, tag = rest.partition("/")
    model = library.create_model(architecture, pretrained=tag or None)
    visual = model.visual
    side = visual.image_size[0] if isinstance(visual.image_size, tuple) else visual.image_size
    view = View(
        int(side),
        1.0,
        "bicubic",
        tuple(255.0 * v for v in visual.image_mean),
        tuple(255.0 * v for v in visual.image_std),
    )
    return TorchBackbone(name, visual, model.encode_image, view)


def _need_with_torchvision(module: str, package: str, name: str) -> ModuleType:
    """Import a library that stands on torchvision, which has no CPU build on every index."""
    try:
        return need(module, name)
    except DataError:
        raise DataError(
            f"{name}: needs {package} and torchvision, which no extra installs because torchvision has "
            f"no CPU build on every index: pip install {package} torchvision"
        ) from None
