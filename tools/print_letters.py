"""Print the letters and digits of the embedded data set: ``python tools/print_letters.py``.

Characters are printed from the fonts that matplotlib ships, thinned to the line that a pen would
follow, redrawn by a jittered hand, and reduced to an 8×8 grid exactly as the UCI digits were. The
prints are a file of the package, so that whoever loads the data set needs no fonts. They are printed
anew only when the recipe changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, get_font
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from scipy import ndimage

from unseen.datasets.letters import PRINTS
from unseen.exceptions import DataError
from unseen.files import atomic_file
from unseen.typing import Array

DIGITS = tuple("0123456789")
ALPHABETS = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρςστυφχψω"
    "АБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ"
)
# Left out, rule 1: in some font the letter's glyph and a digit's have a centred cosine of 0.8 or
# more, or readers confuse the two (Z 2, Ч 4, S 5, b G Ь 6, β Ξ 8, q 9). Grouped 0 | 1 | 2 … 9.
DIGIT_TWINS = tuple("OoDQΘθΩσΟοО" "IliΙι" "ZzΖ" "ЗЭ" "Ч" "Ss" "bGδБЬ" "BβΒВΞ" "gq")  # fmt: skip
# Left out, rule 2: once its bounding box is normalised, it is the shape of a letter kept.
SAME_SHAPE = tuple("cvxΑΕΗΚΜΝΡΤΥΧκρτχАГЕЁКМНПРСТУФХ")
LETTERS = tuple(c for c in ALPHABETS if c not in DIGIT_TWINS + SAME_SHAPE)
# Faces near a hand: a pen makes no serifs, so upright faces are sans; italics bring cursive forms.
# A sheared copy (DejaVu Sans Oblique) would only add slant. The Computer Modern faces hold no Greek
# or Cyrillic; each letter uses the faces that hold it.
FONTS = (
    *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono", "DejaVuSansMono-Bold", "cmss10"),
    *("DejaVuSerif-Italic", "STIXGeneralItalic", "cmti10"),
)


@dataclass(frozen=True)
class Recipe:
    """How a glyph is drawn; each ``*_sd`` is the standard deviation of a normal jitter.

    Pen, width and shift were set so that printed *digits* agree with the handwritten ones in
    statistics that need no label (ink 0.31, empty cells 49%, box 32 by about 20 pixels); the
    elastic strength by folds over classes of letters.
    """

    version: int = 1
    seed: int = 20
    prints: int = 60  # of each letter
    train_prints: int = 48
    canvas: int = 56
    pen: float = 0.088  # radius, in heights of the glyph
    pen_sd: float = 0.008
    shear_sd: float = 0.10
    rotation_sd: float = 5.0  # degrees
    aspect_sd: float = 0.10  # of the logarithm
    elastic: float = 0.10
    width: float = 19.7  # of the normalised box, in pixels of 32
    width_sd: float = 1.5
    widest_stretch: float = 2.0  # a bare stroke is widened, but not into a block
    shift_sd: float = 1.0  # pixels, sideways


RECIPE = Recipe()


def print_characters(recipe: Recipe) -> dict[str, Array]:
    """Return the prints of all letters and digits, each as 64 block counts of an 8×8 grid."""
    lines = pen_lines(LETTERS + DIGITS, recipe.canvas)
    return {
        "letters": np.stack([_prints(c, lines[c], recipe.prints, recipe) for c in LETTERS]),
        "digits": np.stack([_prints(c, lines[c], recipe.train_prints, recipe) for c in DIGITS]),
    }


def _prints(character: str, lines: list[Array], count: int, recipe: Recipe) -> Array:
    """Return ``count`` prints as rows of 64 block counts; a class's prints depend on it alone."""
    rng = np.random.default_rng([recipe.seed, ord(character)])
    faces = rng.integers(len(lines), size=count)
    bitmaps = np.stack([draw_line(_jitter(lines[face], rng, recipe), rng, recipe) for face in faces])
    blocks: Array = bitmaps.reshape(count, 8, 4, 8, 4).sum(axis=(2, 4)).astype(np.uint8)
    return blocks.reshape(count, 64)


def font_file(font: str) -> Path:
    """Return where matplotlib keeps a font of its own."""
    return Path(matplotlib.get_data_path(), "fonts", "ttf", f"{font}.ttf")


def missing_fonts() -> list[str]:
    """Return the fonts of the recipe that this matplotlib lacks."""
    return [font for font in FONTS if not font_file(font).is_file()]


def pen_lines(characters: tuple[str, ...], canvas: int) -> dict[str, list[Array]]:
    """Return, for each character and face, the (y, x) points of its centre line, 1 high."""
    if missing := missing_fonts():
        raise DataError(
            f"matplotlib {matplotlib.__version__} has no font {', '.join(missing)}. The letters are "
            "printed with the fonts of matplotlib 3.11 or newer: install that, from its wheel."
        )
    glyphs, owners = [], []
    for path in map(font_file, FONTS):
        held = get_font(str(path)).get_charmap()
        for character in (c for c in characters if ord(c) in held):
            glyphs.append(_render(character, path, canvas))
            owners.append(character)
    lines: dict[str, list[Array]] = {character: [] for character in characters}
    for character, thinned in zip(owners, _thin(np.stack(glyphs)), strict=True):
        points = np.argwhere(thinned).astype(np.float64)
        low, high = points.min(axis=0), points.max(axis=0)
        lines[character].append((points - (low + high) / 2) / (high - low)[0])
    return lines


def _render(character: str, font: Path, canvas: int) -> Array:
    """Fill the glyph's outline in the middle of a square canvas."""
    outline = TextPath((0, 0), character, size=100, prop=FontProperties(fname=str(font)))
    box = outline.get_extents()
    scale = (canvas - 8) / max(box.width, box.height)
    place = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2).scale(scale)
    renderer: Any = RendererAgg(canvas, canvas, 72)  # type: ignore[no-untyped-call]
    context = renderer.new_gc()
    context.set_linewidth(0)
    renderer.draw_path(context, outline, place.translate(canvas / 2, canvas / 2), (0, 0, 0, 1))
    return np.asarray(renderer.buffer_rgba())[..., 3] > 127


def _thin(bitmaps: Array) -> Array:
    """Thin every bitmap to lines one pixel wide (Zhang and Suen, CACM 27(3), 1984)."""
    ring = (np.arange(256)[:, None] >> np.arange(8)) & 1 == 1  # neighbours, clockwise from north
    north, east, south, west = ring[:, ::2].T
    once = (~ring & np.roll(ring, -1, axis=1)).sum(axis=1) == 1
    border = once & (ring.sum(axis=1) >= 2) & (ring.sum(axis=1) <= 6)
    passes = (
        border & ~(north & east & south) & ~(east & south & west),
        border & ~(north & east & west) & ~(north & south & west),
    )
    steps = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
    ink = np.pad(bitmaps, ((0, 0), (1, 1), (1, 1))).astype(np.uint8)
    height, width = bitmaps.shape[1:]
    active = np.arange(len(ink))  # the bitmaps that the last round still changed
    while len(active):
        work, changed = ink[active], np.zeros(len(active), dtype=bool)
        inner = work[:, 1:-1, 1:-1]
        for removable in passes:
            code = np.zeros_like(inner)
            for bit, (dy, dx) in enumerate(steps):
                code |= work[:, 1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width] << bit
            gone = removable[code] & (inner > 0)
            inner[gone] = 0
            changed |= gone.any(axis=(1, 2))
        ink[active] = work
        active = active[changed]
    return ink[:, 1:-1, 1:-1] > 0


def _jitter(line: Array, rng: np.random.Generator, recipe: Recipe) -> Array:
    """Stretch, slant, rotate and bend a centre line as handwriting does."""
    y, x = line.T
    x = x * np.exp(rng.normal(0, recipe.aspect_sd)) - rng.normal(0, recipe.shear_sd) * y
    angle = np.deg2rad(rng.normal(0, recipe.rotation_sd))
    x, y = np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y
    # a smooth displacement: slow waves, the faster the weaker
    across, along = np.divmod(np.arange(9), 3)
    phase = np.pi * (np.outer(x, across) + np.outer(y, along))
    weight = recipe.elastic / (1 + across + along) * rng.normal(size=(2, 9))
    turn = rng.uniform(0, 2 * np.pi, size=(2, 9))
    dy, dx = (np.cos(phase + turn[axis]) @ weight[axis] for axis in (0, 1))
    return np.stack([y + dy, x + dx], axis=1)


def draw_line(line: Array, rng: np.random.Generator, recipe: Recipe) -> Array:
    """Draw a line with a round pen, then stretch its bounding box into 32×32 as UCI did.

    The handwritten digits fill the height and are about 20 pixels wide whatever their shape, so
    the two scales differ and the pen is stretched along with the line.
    """
    pen = max(recipe.pen / 2, rng.normal(recipe.pen, recipe.pen_sd))
    y, x = ((line - line.min(axis=0)) / np.ptp(line[:, 0])).T
    width = x.max() + 2 * pen
    scale_y = 32 / (1 + 2 * pen)
    box = rng.normal(recipe.width, recipe.width_sd)
    scale_x = min(box / width, recipe.widest_stretch * scale_y)
    left = 16 + rng.normal(0, recipe.shift_sd) - scale_x * width / 2
    rows = np.clip((y + pen) * scale_y, 0, 31).astype(int)
    columns = np.clip(left + (x + pen) * scale_x, 0, 31).astype(int)
    blank = np.ones((32, 32), dtype=bool)
    blank[rows, columns] = False
    distance: Array = ndimage.distance_transform_edt(blank, sampling=(1 / scale_y, 1 / scale_x))
    return distance <= pen


def made_by() -> str:
    """Say how the prints were made, for the data set's provenance."""
    return (
        f"printed from {len(FONTS)} fonts of matplotlib {matplotlib.__version__}, thinned, redrawn "
        f"with jitter (recipe {RECIPE.version}, seed {RECIPE.seed}), 4x4 block counts of a 32x32 bitmap"
    )


def main() -> None:
    """Write the file of the package."""
    printed = print_characters(RECIPE)
    with atomic_file(PRINTS) as temporary:
        np.savez_compressed(
            temporary,
            letters=printed["letters"],
            letter_names=np.array(LETTERS),
            digits=printed["digits"],
            digit_names=np.array(DIGITS),
            made_by=np.array(made_by()),
        )


if __name__ == "__main__":
    main()
