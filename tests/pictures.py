"""Small photographs made on the spot, and a backbone that sees their colours."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from unseen.features import register_backbone

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 200, 40),
    "blue": (30, 40, 220),
    "yellow": (230, 220, 40),
    "cyan": (40, 220, 220),
    "grey": (120, 120, 120),
    "brown": (120, 70, 30),
    "pink": (250, 160, 180),
    "white": (245, 245, 245),
    "orange": (250, 140, 20),
    "purple": (130, 30, 160),
}
NOBODY_LABELLED = ("orange", "purple", "white")


class Colours:
    """The mean colour and its square: 6 numbers. ``seen`` counts what went through."""

    width = 6
    side = 8

    def __init__(self) -> None:
        self.name = "colours"
        self.identity = "colours | 1"
        self.seen = 0

    def prepare(self, picture):
        return np.asarray(picture.resize((8, 8)), dtype=np.uint8)

    def __call__(self, batch):
        self.seen += len(batch)
        mean = batch.reshape(len(batch), -1, 3).mean(axis=1) / 255
        return np.concatenate([mean, mean**2], axis=1).astype(np.float32)


register_backbone("colours", lambda rest, weights: Colours(), "for tests")


def picture(colour, seed=0, size=(24, 18), kind="PNG", **options) -> bytes:
    from PIL import Image

    noise = np.random.default_rng(seed).normal(0, 18, (size[1], size[0], 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def write_pictures(folder: Path, names=tuple(COLOURS), each=6) -> list[Path]:
    """Write ``folder/<colour>/<number>.png`` and return the paths, sorted."""
    paths = []
    for place, name in enumerate(names):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(each):
            path = folder / name / f"{number:02}.png"
            path.write_bytes(picture(COLOURS[name], seed=100 * place + number))
            paths.append(path)
    return sorted(paths)


def write_attributes(path: Path, names=tuple(COLOURS)) -> Path:
    lines = [f"{name},{','.join(str(v / 255) for v in COLOURS[name])}" for name in names]
    path.write_text("class,redness,greenness,blueness\n" + "\n".join(lines) + "\n")
    return path
