"""Texts in a request: turned into vectors, where the model's encoder is there."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from unseen.labelling.text_models import model_encoder
from unseen.typing import Array

LONGEST_TEXT = 10_000
"""Characters of a text; an encoder reads the first few hundred words."""


class TextReader:
    """The encoder that a model's features came from, in a thread of its own.

    Parameters are those of :func:`unseen.labelling.text_models.model_encoder`: an encoder that is not
    built in is loaded only if ``name`` names it, never because a model file does.
    """

    def __init__(self, path: Path, origin: dict[str, object], columns: int, name: str = "") -> None:
        self.encoder = model_encoder(path, origin, columns, name)
        self._thread = ThreadPoolExecutor(1, "texts")

    async def __call__(self, texts: list[str]) -> Array:
        """Return the vectors of texts."""
        loop = asyncio.get_running_loop()
        return np.asarray(await loop.run_in_executor(self._thread, self.encoder, texts))

    def stop(self) -> None:
        """End the thread when it is idle."""
        self._thread.shutdown()
