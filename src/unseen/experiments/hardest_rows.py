"""The hardest rows: wrong answers of high confidence, with a thumbnail where there is a picture."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np

from unseen.datasets import ZeroShotDataset
from unseen.image_files import open_image, read_picture_file
from unseen.reporting.thumbnails import data_address, png_bytes
from unseen.typing import Array, JsonObject

HARDEST_ROWS = 8
THUMBNAIL_PIXELS = 96


def hardest_rows(
    name: str, data: ZeroShotDataset, rows: Array, probabilities: Array, classes: Array
) -> list[JsonObject]:
    """Return the wrong rows of largest confidence, each with true and predicted class."""
    codes = probabilities.argmax(axis=1)
    confidence = probabilities.max(axis=1)
    wrong = np.flatnonzero(classes[codes] != data.y[rows])
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:HARDEST_ROWS]
    return [
        {
            "row": int(rows[i]),
            "true": str(data.y[rows[i]]),
            "predicted": str(classes[codes[i]]),
            "confidence": float(confidence[i]),
            "picture": _picture(name, data, int(rows[i])),
        }
        for i in order
    ]


def _picture(name: str, data: ZeroShotDataset, row: int) -> str | None:
    """Return a PNG as a data address, or None where there is no picture to show."""
    if importlib.util.find_spec("PIL") is None:  # a result counts without its pictures
        return None
    from PIL import Image

    if name == "letters":
        pixels = _digits()[row - int(data.test_unseen[0])]
        image = Image.fromarray(np.uint8(255 - pixels * 255 / 16)).resize((64, 64), 0)
    else:
        path = _file(name, data, row)
        if path is None:
            return None
        with open_image(read_picture_file(path)) as opened:
            image = opened.convert("RGB")
        image.thumbnail((THUMBNAIL_PIXELS, THUMBNAIL_PIXELS))
    return data_address(png_bytes(image), "image/png")


@cache
def _digits() -> Array:
    """Return the pictures of the handwritten digits; reading them takes longer than most fits."""
    from sklearn.datasets import load_digits

    return np.asarray(load_digits().images)


def _file(name: str, data: ZeroShotDataset, row: int) -> Path | None:
    if data.images is None:
        return None
    folder = Path(name.removesuffix(":SS").removesuffix(":PS"))
    for path in (folder / data.images[row], folder / "images" / data.images[row]):
        if path.is_file():
            return path
    return None
