"""Time of MiniLM in NumPy, as a ratio to the same network in torch, in one process.

    python benchmarks/encoder.py [--texts FILE.jsonl.gz] [--count 512] [--threads 2]

Torch gets the texts as sentence-transformers sends them: sorted by length, in padded batches of 32.
Without a file, texts of random words are made on the spot. Both encoders are timed in turns, so that a
busy machine slows both, and the ratio is the median over the turns. Target: at most 1.5, and vectors
that agree to 1e-5.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen.features.minilm import MOST_TOKENS, MiniLM, package_folder

TORCH_BATCH = 32
WORDS = (
    "please cancel my order and send the money back to card account new flight hotel to Berlin what is"
)


class TorchMiniLM:
    """The same network by transformers."""

    def __init__(self, folder: Path) -> None:
        import torch
        import transformers

        self.torch = torch
        self.tokeniser = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval()

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return one vector of unit length a text."""
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        vectors = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        for start in range(0, len(order), TORCH_BATCH):
            batch = order[start : start + TORCH_BATCH]
            given = self.tokeniser(
                [texts[i] for i in batch],
                padding=True,
                truncation=True,
                max_length=MOST_TOKENS,
                return_tensors="pt",
            )
            with self.torch.inference_mode():
                hidden = self.model(**given).last_hidden_state
            mask = given["attention_mask"].unsqueeze(-1)
            means = (hidden * mask).sum(1) / mask.sum(1)
            vectors[batch] = self.torch.nn.functional.normalize(means).numpy()
        return vectors


def made(count: int, least: int, most: int) -> list[str]:
    """Return texts of random words."""
    rng, words = np.random.default_rng(0), WORDS.split()
    return [" ".join(rng.choice(words, rng.integers(least, most))) for _ in range(count)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--column", default="text")
    parser.add_argument("--count", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    ours, theirs = MiniLM(), TorchMiniLM(package_folder())
    theirs.torch.set_num_threads(given.threads)
    sets = {
        "short": made(given.count, 4, 16),
        "long": made(given.count // 8, 60, 200),
    }
    if given.texts is not None:
        from unseen.labelling.text_files import read_texts

        sets = {given.texts.name: read_texts(given.texts, given.column).texts[: given.count]}
    with threadpool_limits(given.threads, "blas"):
        for name, texts in sets.items():
            apart = float(np.abs(ours(texts) - theirs(texts)).max())
            times: dict[Any, list[float]] = {ours: [], theirs: []}
            for _ in range(given.turns):
                for encoder, taken in times.items():
                    start = time.perf_counter()
                    encoder(texts)
                    taken.append(time.perf_counter() - start)
            one, two = (statistics.median(taken) for taken in times.values())
            ratios = [a / b for a, b in zip(*times.values(), strict=True)]
            print(
                f"{name}: {len(texts)} texts, NumPy {len(texts) / one:.0f}/s, torch "
                f"{len(texts) / two:.0f}/s, ratio {statistics.median(ratios):.2f} (target 1.50), "
                f"largest difference {apart:.1e}"
            )


if __name__ == "__main__":
    main()
