"""Small pictures for pages: as bytes for an address of their own, or inside the page."""

from __future__ import annotations

import base64
import io
import re
import textwrap
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

JPEG_QUALITY = 80
_EMBEDDED = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/]*=*")
CARD_LINES, CARD_LETTERS = 4, 34
"""Lines of a text card, and letters of a line."""


def jpeg_thumbnail(picture: Image, width: int, height: int) -> bytes:
    """Return an open RGB picture as a JPEG of at most ``width`` × ``height`` pixels."""
    small = picture.copy()
    small.thumbnail((width, height))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()


def text_card(text: str) -> bytes:
    """Return the beginning of a text as an SVG picture, dark where the browser is.

    >>> text_card("a < b").decode().count("<tspan")
    1
    """
    lines = textwrap.wrap(text, CARD_LETTERS, max_lines=CARD_LINES, placeholder=" …") or [""]
    spans = "".join(f'<tspan x="8" dy="17">{escape(line)}</tspan>' for line in lines)
    height = 17 * CARD_LINES + 14
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="256" height="{height}" '
        f'viewBox="0 0 256 {height}"><style>text {{ font:13px sans-serif; fill:#1b1f24; }} '
        "@media (prefers-color-scheme: dark) { text { fill:#e6e9ee; } }</style>"
        f'<text y="4">{spans}</text></svg>'
    ).encode()


def png_bytes(picture: Image) -> bytes:
    """Return an open picture as a PNG, every pixel as it is."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def data_address(data: bytes, kind: str) -> str:
    """Return an address that holds the picture itself, so that a page needs no other file.

    >>> data_address(b"abc", "image/png")
    'data:image/png;base64,YWJj'
    """
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def thumbnail_grid(pictures: Iterable[tuple[str, str, str]]) -> str:
    """Return pictures side by side: (address, text instead of the picture, HTML below it).

    An address that does not hold the picture itself is left out: it would be fetched from elsewhere.
    """
    tiles = "".join(
        f'<div><img src="{address}" alt="{escape(alt)}">{caption}</div>'
        if _EMBEDDED.fullmatch(address)
        else f"<div>{caption}</div>"
        for address, alt, caption in pictures
    )
    return f'<div class="thumbs">{tiles}</div>' if tiles else ""
