"""The hardest rows: wrong, and sure of it. With a thumbnail where there is a picture."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np

from unseen.datasets import ZeroShotDataset
from unseen.typing import Array

HARDEST = 8
SIDE = 96


def hardest_rows(
    name: str, data: ZeroShotDataset, rows: Array, probabilities: Array, classes: Array
) -> list[dict[str, Any]]:
    """Return the wrong rows of largest confidence, each with true and predicted class."""
    codes = probabilities.argmax(axis=1)
    confidence = probabilities.max(axis=1)
    wrong = np.flatnonzero(classes[codes] != data.y[rows])
    order = wrong[np.argsort(-confidence[wrong], kind="stable")][:HARDEST]
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
    from PIL import Image

    if name == "letters":
        from sklearn.datasets import load_digits

        pixels = load_digits().images[row - int(data.test_unseen[0])]
        image = Image.fromarray(np.uint8(255 - pixels * 255 / 16)).resize((64, 64), 0)
    else:
        path = _file(name, data, row)
        if path is None:
            return None
        with Image.open(path) as opened:
            image = opened.convert("RGB")
        image.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _file(name: str, data: ZeroShotDataset, row: int) -> Path | None:
    if data.images is None:
        return None
    folder = Path(name.removesuffix(":SS").removesuffix(":PS"))
    for path in (folder / data.images[row], folder / "images" / data.images[row]):
        if path.is_file():
            return path
    return None
