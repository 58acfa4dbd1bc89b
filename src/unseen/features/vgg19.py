"""VGG-19's layer fc7: the features of the paper. Our own definition, the public weights' names.

The state dict is the public one: ``features.0.weight`` … ``features.34.bias``, ``classifier.0.…``,
``classifier.3.…``; ``classifier.6`` is not needed. The widths of the layers are read from it.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from unseen.exceptions import DataError
from unseen.features.pictures import View
from unseen.features.torch_backbone import TorchBackbone, read_state
from unseen.files import need

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

NAME = "vgg19-fc7"
BLOCKS = (2, 2, 4, 4, 4)
"""Convolutions before each of the five poolings."""


def make(rest: str, weights: Path | None) -> TorchBackbone:
    """Return the backbone with weights from ``weights`` or ``vgg19-fc7:PATH``."""
    torch = need("torch", NAME, "images")
    if weights is None and not rest:
        raise DataError(
            f"{NAME}: needs weights, and none come with a package. Give the path of VGG-19's public "
            "state dict (vgg19-*.pth or .safetensors), as vgg19-fc7:PATH or as the weights.",
            options=("weights",),
        )
    path = weights or Path(rest)
    state = read_state(path, NAME)
    network, side = _network(torch, state, path)
    return TorchBackbone(NAME, network, network, View(side, 224 / 256, "bilinear"))


def _network(torch: ModuleType, state: dict[str, Tensor], path: Path) -> tuple[Module, int]:
    """Build the layers that the state dict has weights for, and load them."""
    nn = torch.nn
    features: list[Module] = []
    channels = 3
    for block in BLOCKS:
        for _ in range(block):
            kernel = _weight(state, f"features.{len(features)}", path, 4)
            features += [nn.Conv2d(channels, kernel.shape[0], 3, padding=1), nn.ReLU(inplace=True)]
            channels = kernel.shape[0]
        features.append(nn.MaxPool2d(2))
    fc6, fc7 = (_weight(state, f"classifier.{i}", path, 2) for i in (0, 3))
    side = 32 * math.isqrt(fc6.shape[1] // channels)
    classifier = nn.Sequential(
        nn.Linear(fc6.shape[1], fc6.shape[0]),
        nn.ReLU(inplace=True),
        nn.Identity(),  # dropout in training; the names of the weights count it
        nn.Linear(fc6.shape[0], fc7.shape[0]),
        nn.ReLU(inplace=True),
    )
    parts = {"features": nn.Sequential(*features), "flat": nn.Flatten(), "classifier": classifier}
    network = nn.Sequential()
    for name, part in parts.items():
        network.add_module(name, part)
    expected = network.state_dict()
    try:
        network.load_state_dict({name: state[name] for name in expected})
    except (KeyError, RuntimeError) as error:
        detail = str(error).strip().split("\n")[-1].strip()
        raise DataError(f"{path}: is no state dict of VGG-19 ({detail}).") from None
    return network, side


def _weight(state: dict[str, Tensor], layer: str, path: Path, dimensions: int) -> Tensor:
    weight = state.get(f"{layer}.weight")
    if weight is None or weight.ndim != dimensions:
        got = "nothing" if weight is None else f"shape {tuple(weight.shape)}"
        raise DataError(
            f"{path}: is no state dict of VGG-19: {layer}.weight should have {dimensions} dimensions; "
            f"found {got}. Take the public vgg19 weights, without batch normalisation."
        )
    return weight
