"""Pictures as files: regular files of known formats, refused by their area before they are decoded."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.files import need

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")
"""What Pillow may decode, whatever the name of the file: others run programs, as EPS does."""

MOST_BYTES = 512 * 2**20
"""A file larger than this is no photograph; it is skipped, not read."""

MOST_PIXELS = 89_478_485
"""Of a picture; three bytes each are a quarter of a gibibyte. Pillow warns beyond the same number."""


def read_picture_file(path: Path) -> bytes:
    """Return the bytes of a picture; a ValueError says why a file can be no photograph."""
    size = path.stat().st_size
    if not path.is_file():
        raise ValueError("it is no regular file but a pipe, a device or a socket")
    if size > MOST_BYTES:
        raise ValueError(f"its {size:,} bytes are more than the limit of {MOST_BYTES:,}")
    return path.read_bytes()


def open_image(data: bytes) -> Image:
    """Open a picture with Pillow; only its header has been read when its size is checked."""
    image = need("PIL.Image", "photographs", "images")
    image.init()  # registers all formats, once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", image.DecompressionBombWarning)  # checked below
        picture: Image = image.open(io.BytesIO(data), formats=[f for f in FORMATS if f in image.OPEN])
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise ValueError(
            f"its {width:,} × {height:,} pixels are more than the limit of {MOST_PIXELS:,}"
        )
    return picture
