"""``onnx:PATH``: any network that was exported to ONNX, run by onnxruntime."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unseen.exceptions import DataError
from unseen.features.pictures import View
from unseen.files import need, reading
from unseen.typing import Array, JsonObject

if TYPE_CHECKING:
    from PIL.Image import Image

SCALE_SETTING = "scale"
"""The name in ``PATH.json`` of τ, by which cosines of a model of pictures and texts are multiplied."""


class OnnxBackbone:
    """An ONNX file whose first input is a batch of pictures and whose first output has the features.

    The input is (n, 3, side, side) or (n, side, side, 3); a map of features is averaged over its
    places. Pixels are scaled as for ImageNet unless ``PATH.json`` says otherwise, with any of
    ``side``, ``crop``, ``resample``, ``mean``, ``std`` and ``stretch`` (see :class:`View`).

    Parameters
    ----------
    path : path
    outputs : sequence of str
        The first of these outputs that the file has is taken in place of its first one.
    """

    def __init__(self, path: Path, outputs: Sequence[str] = ()) -> None:
        self.name = f"onnx:{path}"
        runtime = need("onnxruntime", self.name, "onnx")
        with reading(path):
            digest = checksum(path)
            self._session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0]
        shape = list(self._input.shape)
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise DataError(
                f"{path}: its input {self._input.name!r} has shape {shape}, but a backbone takes "
                "pictures: (n, 3, side, side) or (n, side, side, 3). Export the network that way."
            )
        self._channels_first = shape[1] == 3
        declared = shape[2] if self._channels_first else shape[1]
        self.view = _view(path, declared if isinstance(declared, int) else 224)
        self.side = self.view.side
        self._fixed = shape[0] if isinstance(shape[0], int) else None
        self.output, suffix = choose_output(self._session, outputs)
        self.identity = f"onnx | {self.view.text} | {digest}{suffix}"
        self.width = int(self(np.zeros((1, self.side, self.side, 3), np.uint8)).shape[1])

    def prepare(self, picture: Image) -> Array:
        """Return the square of pixels that the network looks at."""
        return self.view(picture)

    def __call__(self, batch: Array) -> npt.NDArray[np.float32]:
        """Return the features of a batch of prepared pictures."""
        pixels = (batch - np.array(self.view.mean, np.float32)) / np.array(self.view.std, np.float32)
        if self._channels_first:
            pixels = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        if self._fixed is None:
            return self._run(pixels)
        step, parts = self._fixed, []
        for start in range(0, len(pixels), step):
            part = pixels[start : start + step]
            full = np.zeros((step, *part.shape[1:]), np.float32)
            full[: len(part)] = part
            parts.append(self._run(full)[: len(part)])
        return np.concatenate(parts)

    def _run(self, pixels: Array) -> npt.NDArray[np.float32]:
        half = self._input.type == "tensor(float16)"
        given = pixels.astype(np.float16) if half else pixels.astype(np.float32)
        (output,) = self._session.run([self.output.name], {self._input.name: given})
        features = np.asarray(output, dtype=np.float32)
        if features.ndim == 4:
            features = features.mean(axis=(2, 3) if self._channels_first else (1, 2))
        elif features.ndim == 3:  # tokens
            features = features.mean(axis=1)
        return features.reshape(len(pixels), -1)


def make(rest: str, weights: Path | None) -> OnnxBackbone:
    """Return the backbone of ``onnx:PATH``."""
    if not rest and weights is None:
        raise DataError("onnx: needs the path of a file: onnx:PATH.")
    return OnnxBackbone(weights or Path(rest))


def checksum(path: Path) -> str:
    """Return a checksum of the file, and of the weights that large models keep beside it."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (path, path.with_name(path.name + ".data"), path.with_name(path.name + "_data")):
        if part == path or part.is_file():
            with part.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
    return digest.hexdigest()


def choose_output(session: Any, names: Sequence[str]) -> tuple[Any, str]:
    """Return the output to read, and what it adds to the identity: "" for the first output."""
    outputs = session.get_outputs()
    by_name = {output.name: output for output in outputs}
    chosen = next((by_name[name] for name in names if name in by_name), outputs[0])
    return chosen, "" if chosen is outputs[0] else f" | {chosen.name}"


def read_settings(path: Path) -> JsonObject:
    """Return what ``PATH.json`` says of an ONNX file; {} if there is none."""
    beside = path.with_name(path.name + ".json")
    if not beside.is_file():
        return {}
    with reading(beside, "settings"):
        given = json.loads(beside.read_text(encoding="utf-8"))
        if not isinstance(given, dict):
            raise ValueError("it must be an object, name: value")
    return given


def _view(path: Path, side: int) -> View:
    given = read_settings(path)
    given.pop(SCALE_SETTING, None)
    with reading(path.with_name(path.name + ".json"), "preprocessing"):
        for name in ("mean", "std"):
            if name in given:
                given[name] = tuple(float(v) for v in given[name])
                if len(given[name]) != 3:
                    raise ValueError(f"{name} must be three numbers, of pixels in [0, 255]")
        return View(**{"side": side, **given})
