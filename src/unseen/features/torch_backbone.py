"""What every backbone that runs on torch shares."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unseen.features.pictures import View
from unseen.files import need, reading
from unseen.typing import Array

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor
    from torch.nn import Module


class TorchBackbone:
    """A torch module, a view of the picture, and a function from pixels to features.

    Parameters
    ----------
    name : str
    module : torch.nn.Module
        Its weights are checksummed for ``identity``. It is put into evaluation mode.
    forward : callable
        From a tensor (n, 3, side, side) to a tensor (n, width).
    view : View
    """

    def __init__(
        self, name: str, module: Module, forward: Callable[[Tensor], Tensor], view: View
    ) -> None:
        torch = need("torch", name, "images")
        self.name = name
        self.view = view
        self.side = view.side
        network: Any = module.eval()
        self.module = network.to(memory_format=torch.channels_last)
        self._forward = forward
        self._torch = torch
        self._mean, self._std = (torch.tensor(v).view(1, 3, 1, 1) for v in (view.mean, view.std))
        self.identity = f"{name} | {view.text} | {weights_checksum(module)}"
        self.width = int(self(np.zeros((1, view.side, view.side, 3), np.uint8)).shape[1])

    def prepare(self, picture: Image) -> Array:
        """Return the square of pixels that the network looks at."""
        return self.view(picture)

    def tensor(self, batch: Array) -> Tensor:
        """Return prepared pictures as the network takes them: scaled, channels first in name only."""
        pixels = self._torch.from_numpy(np.ascontiguousarray(batch)).permute(0, 3, 1, 2)
        scaled: Tensor = (pixels.float() - self._mean) / self._std
        return scaled

    def bare(self, tensor: Tensor) -> Tensor:
        """Run the network alone on a tensor."""
        with self._torch.inference_mode():
            return self._forward(tensor)

    def __call__(self, batch: Array) -> npt.NDArray[np.float32]:
        """Return the features of a batch of prepared pictures."""
        with self._torch.inference_mode():
            features = self._forward(self.tensor(batch)).float().cpu().numpy()
        return np.ascontiguousarray(features.reshape(len(batch), -1))


def weights_checksum(module: Module) -> str:
    """Return a checksum of every weight of a module, by name.

    Taken before memory is laid out anew, so it does not depend on the layout.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(_bytes()).numpy().data)
    return digest.hexdigest()


def _bytes() -> Any:
    return need("torch", "weights", "images").uint8


def read_state(path: Path, name: str) -> dict[str, Tensor]:
    """Read a state dict: ``.safetensors``, or torch's own format with weights only, never code."""
    torch = need("torch", name, "images")
    with reading(path, "weights"):
        if path.suffix == ".safetensors":
            loaded: object = need("safetensors.torch", name, "images").load_file(path)
        else:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(loaded, dict) or not all(isinstance(k, str) for k in loaded):
            raise ValueError("it holds no state dict, name -> tensor")
    return loaded
