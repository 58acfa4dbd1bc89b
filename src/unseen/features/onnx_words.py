"""``onnx:PATH``: a text encoder that was exported to ONNX, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen.exceptions import DataError
from unseen.features.onnx_file import checksum
from unseen.files import need, reading
from unseen.typing import Array

MOST_TOKENS = 256
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxWords:
    """An ONNX file that takes token numbers, with its ``tokenizer.json`` in the same folder.

    The inputs are any of ``input_ids``, ``attention_mask`` and ``token_type_ids``; the first output is
    a vector a text, or a vector a token, which are averaged over the text. Vectors have unit length.
    """

    prompt = "{}"

    def __init__(self, path: Path) -> None:
        self.name = f"onnx:{path}"
        runtime = need("onnxruntime", self.name, "onnx")
        tokenizers = need("tokenizers", self.name, "text")
        with reading(path):
            digest = checksum(path)
            self._session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self._inputs = [i.name for i in self._session.get_inputs()]
        strange = sorted(set(self._inputs) - set(INPUTS))
        if strange or INPUTS[0] not in self._inputs:
            raise DataError(
                f"{path}: takes {', '.join(self._inputs)}, but a text encoder takes {INPUTS[0]} and, "
                f"if needed, {INPUTS[1]} and {INPUTS[2]}. Export the network that way."
            )
        beside = path.with_name("tokenizer.json")
        with reading(beside):
            self._tokeniser = tokenizers.Tokenizer.from_file(str(beside))
        self._tokeniser.enable_truncation(MOST_TOKENS)
        self._tokeniser.enable_padding()
        self.identity = f"onnx | {digest} | {checksum(beside)}"
        self.width = int(self(["width"]).shape[1])

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return a vector of unit length for each text."""
        encoded = self._tokeniser.encode_batch(list(texts))
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        values = dict(zip(INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
        output = self._session.run(None, {name: values[name] for name in self._inputs})[0]
        vectors = np.asarray(output, dtype=np.float32)
        if vectors.ndim == 3:
            weights = mask[..., None].astype(np.float32)
            vectors = (vectors * weights).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
