"""Pictures as files: regular files of known formats, refused by their area before they are decoded."""

from __future__ import annotations

import importlib
import io
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.files import need
from unseen.version import install_command

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES_OF_FORMATS = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "AVIF": (".avif",),
    "HEIF": (".heic", ".heif", ".hif"),
}
"""What may be decoded, whatever the name of the file: others run programs, as EPS does. And how the
names of such files end."""

IMAGE_SUFFIXES = tuple(suffix for suffixes in SUFFIXES_OF_FORMATS.values() for suffix in suffixes)

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", image.DecompressionBombWarning)  # checked below
        picture: Image = image.open(io.BytesIO(data), formats=_readable_formats())
    width, height = picture.size
    if width * height > MOST_PIXELS:
        raise ValueError(
            f"its {width:,} × {height:,} pixels are more than the limit of {MOST_PIXELS:,}"
        )
    return picture


def missing_decoder(suffix: str) -> str:
    """Say what is missing to read files of this ending; "" if nothing is.

    >>> missing_decoder(".jpg")
    ''
    """
    names = [name for name, suffixes in SUFFIXES_OF_FORMATS.items() if suffix.lower() in suffixes]
    if not names or names[0] in _readable_formats():
        return ""
    package = "pillow-heif" if names[0] == "HEIF" else "a Pillow with this format"
    return f"{suffix} files need {package}, which is not installed: {install_command('images')}"


@lru_cache(maxsize=1)
def _readable_formats() -> list[str]:
    """Return the known formats that are installed; registers the decoders, once."""
    image = need("PIL.Image", "photographs", "images")
    image.init()
    with suppress(ImportError):
        importlib.import_module("pillow_heif").register_heif_opener(thumbnails=False)
    return [name for name in SUFFIXES_OF_FORMATS if name in image.OPEN]
