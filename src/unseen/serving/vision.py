"""Photographs in a request: decoded and turned into features, where the model's backbone is there."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from unseen.exceptions import DataError
from unseen.typing import Array


class Vision:
    """The backbone that a model's features came from, in a thread of its own.

    Parameters
    ----------
    path : path
        The model file, for messages.
    origin : dict
        What the model says of its features.
    columns : int
        How many features it was fitted on.
    name : str
        The backbone that the user names, or "" for the one that the model names, if it is built in.
    weights : path, optional
    """

    def __init__(
        self,
        path: Path,
        origin: dict[str, object],
        columns: int,
        name: str = "",
        weights: Path | None = None,
    ) -> None:
        from unseen.labelling.photo_models import check_backbone, model_backbone

        self.backbone = model_backbone(path, origin, name, weights)
        check_backbone(path, origin, self.backbone, columns)
        self._thread = ThreadPoolExecutor(1, "vision")

    async def __call__(self, pictures: list[bytes]) -> Array:
        """Return the features of photographs; a DataError says which cannot be read."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._features, pictures)

    def stop(self) -> None:
        """End the thread when it is idle."""
        self._thread.shutdown()

    def _features(self, pictures: list[bytes]) -> Array:
        from unseen.features.pictures import open_picture

        prepared = []
        for place, data in enumerate(pictures):
            try:
                prepared.append(self.backbone.prepare(open_picture(data, self.backbone.side)))
            except Exception as error:  # decoders raise a dozen types on broken bytes
                reason = str(error).strip().split("\n")[0] or type(error).__name__
                if "cannot identify image file" in reason:
                    reason = "it is no picture that can be read"
                raise DataError(f"Image {place}: {reason}.") from None
        return np.asarray(self.backbone(np.stack(prepared)))
