"""Every format that is read: the same picture looks the same to a backbone, upright, in its colours."""

from __future__ import annotations

import io

import numpy as np
import pytest

from unseen import image_files
from unseen.features.pictures import open_picture

image = pytest.importorskip("PIL.Image")
TOLERANCE = 12
"""Of 255, on average: some formats lose a little."""


def half_and_half(mode="RGB"):
    """A picture whose left half is orange and whose right half is blue, 32 × 24."""
    pixels = np.zeros((24, 32, 3), np.uint8)
    pixels[:, :16], pixels[:, 16:] = (250, 140, 20), (30, 40, 220)
    return image.fromarray(pixels).convert(mode)


def stored(picture, kind, **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def same(data, expected) -> bool:
    opened = np.asarray(open_picture(data, 16), float)
    return opened.shape == np.asarray(expected).shape and bool(
        np.abs(opened - np.asarray(expected, float)).mean() < TOLERANCE
    )


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "AVIF"])
def test_formats(kind):
    assert same(stored(half_and_half(), kind), half_and_half())


def test_heif():
    heif = pytest.importorskip("pillow_heif", reason="pillow-heif is not installed")
    buffer = io.BytesIO()
    heif.from_pillow(half_and_half()).save(buffer, quality=95)
    assert same(buffer.getvalue(), half_and_half())


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk(kind):
    assert same(stored(half_and_half("CMYK"), kind), half_and_half("CMYK").convert("RGB"))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
@pytest.mark.parametrize(("orientation", "turn"), [(3, 180), (6, 270), (8, 90)])
def test_pictures_are_turned_upright(kind, orientation, turn):
    """The camera was held in another way: the file says how to turn the picture."""
    exif = image.Exif()
    exif[0x0112] = orientation
    expected = half_and_half().rotate(turn, expand=True)
    assert same(stored(half_and_half(), kind, exif=exif), expected)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits(kind):
    ramp = np.linspace(0, 65535, 32 * 24).reshape(24, 32).astype(np.uint16)
    opened = np.asarray(open_picture(stored(image.fromarray(ramp), kind), 16))
    np.testing.assert_allclose(opened[..., 0], ramp / 257, atol=1)


def test_floats():
    ramp = np.linspace(0, 1, 32 * 24, dtype=np.float32).reshape(24, 32)
    opened = np.asarray(open_picture(stored(image.fromarray(ramp), "TIFF"), 16))
    np.testing.assert_allclose(opened[..., 0], 255 * ramp, atol=1)


def test_transparent_parts_are_white():
    picture = half_and_half("RGBA")
    picture.putalpha(0)
    assert np.asarray(open_picture(stored(picture, "PNG"), 16)).min() == 255


def test_a_heic_file_without_its_decoder_says_what_to_install(tmp_path, monkeypatch):
    from unseen.datasets.image_folder import any_folder

    readable = [name for name in image_files._readable_formats() if name != "HEIF"]
    monkeypatch.setattr(image_files, "_readable_formats", lambda: readable)
    (tmp_path / "a.heic").write_bytes(b"")
    (tmp_path / "b.png").write_bytes(stored(half_and_half(), "PNG"))
    contents = any_folder(tmp_path)
    assert [path.name for path in contents.pictures] == ["b.png"]
    (unread,) = contents.unread
    assert unread[0].name == "a.heic"
    assert unread[1] == (
        '.heic files need pillow-heif, which is not installed: pip install "unseen-zsl[images]"'
    )
