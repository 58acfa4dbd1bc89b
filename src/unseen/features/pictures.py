"""From the bytes of a picture to the square of pixels that a backbone looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from unseen.files import need
from unseen.image_files import open_image

if TYPE_CHECKING:
    from types import ModuleType

    from PIL.Image import Image

Pixels = npt.NDArray[np.uint8]

IMAGENET_MEAN, IMAGENET_STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
"""Of 8-bit pixels, red, green and blue."""

_RESAMPLE = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}


@dataclass(frozen=True)
class View:
    """What a backbone sees of a picture: the middle, resized to a square, and how pixels are scaled.

    Parameters
    ----------
    side : int
        Pixels of the square, each way.
    crop : float
        The share of the shorter side of the picture that is seen.
    resample : {"bicubic", "bilinear", "nearest", "lanczos", "box", "hamming"}
    mean, std : three numbers
        A pixel p in [0, 255] becomes (p − mean) / std. Done a batch at a time, by the backbone.
    stretch : bool
        Whether the share is one of both sides, and the picture is stretched to a square.
    """

    side: int = 224
    crop: float = 0.875
    resample: str = "bicubic"
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    stretch: bool = False

    def __call__(self, picture: Image) -> Pixels:
        """Return the square as an array of shape (side, side, 3)."""
        sides = picture.size if self.stretch else (min(picture.size),) * 2
        width, height = (self.crop * side for side in sides)
        left, top = (picture.size[0] - width) / 2, (picture.size[1] - height) / 2
        box = (left, top, left + width, top + height)
        small = picture.resize((self.side, self.side), _RESAMPLE[self.resample], box=box)
        return np.array(small, dtype=np.uint8)

    @property
    def text(self) -> str:
        """Everything that changes what is seen, for the identity of a backbone."""
        scale = ",".join(f"{v:.6g}" for v in (*self.mean, *self.std))
        shape = " stretched" if self.stretch else ""
        return f"{self.side}px crop {self.crop:.6g} {self.resample} {scale}{shape}"


def open_picture(data: bytes, side: int) -> Image:
    """Return the picture in RGB, upright; a large JPEG is decoded at a fraction of its size.

    What is broken raises whatever Pillow raises; a picture of absurd size raises as well.

    Parameters
    ----------
    data : bytes
        The file.
    side : int
        The pixels that will be needed each way. A JPEG decodes to no less than twice that.
    """
    image = need("PIL.Image", "photographs", "images")
    turned = need("PIL.ImageOps", "photographs", "images")
    with open_image(data) as picture:
        picture.draft("RGB", (2 * side, 2 * side))
        if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
            picture = _on_white(image, picture)
        if picture.mode.startswith(("I", "F")):
            picture = _eight_bits(image, picture)
        upright: Image = turned.exif_transpose(picture.convert("RGB"))
        return upright


def _on_white(image: ModuleType, picture: Image) -> Image:
    """Lay a picture with transparent parts on white: under them anything may be stored."""
    upright = picture.convert("RGBA")
    white: Image = image.new("RGBA", upright.size, "white")
    white.alpha_composite(upright)
    return white


def _eight_bits(image: ModuleType, picture: Image) -> Image:
    """Return a grey picture of 16 or 32 bits with the brightness that a viewer shows.

    Pillow's own conversion cuts at 255, which makes nearly every pixel white. Whole numbers are of 16
    bits; others are taken to lie in [0, 1] if none is larger, else they too.
    """
    values = np.nan_to_num(np.asarray(picture, dtype=np.float64))
    top = 1.0 if picture.mode.startswith("F") and values.max(initial=0.0) <= 1 else 65535.0
    grey: Image = image.fromarray(np.clip(np.rint(values * (255 / top)), 0, 255).astype(np.uint8))
    grey.info.update({key: value for key, value in picture.info.items() if key == "exif"})
    return grey
