"""``onnx:PATH``: a text encoder that was exported to ONNX, run by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from unseen.exceptions import DataError
from unseen.features.onnx_file import checksum, choose_output, read_settings
from unseen.files import need, reading
from unseen.typing import Array

MOST_TOKENS = 256
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class OnnxWords:
    """An ONNX file that takes token numbers, with its ``tokenizer.json`` in the same folder.

    The inputs are any of ``input_ids``, ``attention_mask`` and ``token_type_ids``; the first output is
    a vector a text, or a vector a token, which are averaged over the text. Vectors have unit length.
    ``PATH.json`` may say ``max_tokens``, the most tokens that the network takes (256 by default), and
    ``pad_to_max``, true if texts are padded to that length, as SigLIP needs.

    Parameters
    ----------
    path : path
    outputs : sequence of str
        The first of these outputs that the file has is taken in place of its first one.
    """

    prompt = "{}"

    def __init__(self, path: Path, outputs: Sequence[str] = ()) -> None:
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
        length = self._limit_tokens(path)
        self.output, suffix = choose_output(self._session, outputs)
        self.identity = f"onnx | {digest} | {checksum(beside)}{length}{suffix}"
        self.width = int(self(["width"]).shape[1])

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return a vector of unit length for each text."""
        encoded = self._tokeniser.encode_batch(list(texts))
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        values = dict(zip(INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
        given = {name: values[name] for name in self._inputs}
        (output,) = self._session.run([self.output.name], given)
        vectors = np.asarray(output, dtype=np.float32)
        if vectors.ndim == 3:
            weights = mask[..., None].astype(np.float32)
            vectors = (vectors * weights).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def _limit_tokens(self, path: Path) -> str:
        """Set truncation and padding; return what they add to the identity, "" for the default.

        An input of fixed length decides both. The token that pads is that of ``tokenizer.json``.
        """
        settings = read_settings(path)
        declared = next(i.shape[-1] for i in self._session.get_inputs() if i.name == INPUTS[0])
        fixed = isinstance(declared, int)
        most = declared if fixed else settings.get("max_tokens", MOST_TOKENS)
        if not isinstance(most, int) or most < 1:
            raise DataError(
                f"{path}.json: max_tokens is {most!r}, but a whole number from 1 is needed."
            )
        padding = dict(self._tokeniser.padding or {})
        token = {key: padding[key] for key in ("pad_id", "pad_token", "pad_type_id") if key in padding}
        padded = fixed or bool(settings.get("pad_to_max", False))
        self._tokeniser.enable_truncation(most)
        self._tokeniser.enable_padding(**token, length=most if padded else None)
        if most == MOST_TOKENS and not padded:
            return ""
        return f" | {most} tokens" + " padded" * padded
