"""
A folder of pictures
====================

Pictures in one folder for each class, a table of attributes, and classes that nobody labelled. The
pictures are drawn here, so that the script runs anywhere; real photographs want a network's
features, which ``unseen label`` extracts (extra ``images``).

Run it with: ``python examples/photographs.py``
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image, ImageDraw

from unseen import SelfPacedPrototypes
from unseen.datasets import load_image_folder

COLOURS = {"red": (200, 60, 50), "green": (60, 160, 80), "blue": (60, 90, 190)}
SHAPES = ("circle", "square", "bar", "cross")
UNSEEN = ["red square", "green bar", "blue circle"]


def draw(colour, shape, random):
    """Draw a shape of a colour at a random place, with noise."""
    picture = Image.new("RGB", (48, 48), (225, 225, 220))
    pen, (x, y) = ImageDraw.Draw(picture), random.integers(19, 29, size=2)
    boxes = {"square": [(12, 12)], "bar": [(16, 5)], "cross": [(15, 4), (4, 15)], "circle": [(12, 12)]}
    for width, height in boxes[shape]:
        box = (x - width, y - height, x + width, y + height)
        (pen.ellipse if shape == "circle" else pen.rectangle)(box, fill=COLOURS[colour])
    pixels = np.asarray(picture, dtype=float) + random.normal(scale=14, size=(48, 48, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype("uint8"))


# %%
# A folder as a user would have it, and a vector for each class: which colour, which shape.
random = np.random.default_rng(0)
classes = [f"{colour} {shape}" for colour in COLOURS for shape in SHAPES]
semantics = {name: [float(word in name.split()) for word in (*COLOURS, *SHAPES)] for name in classes}
with tempfile.TemporaryDirectory() as folder:
    for name in classes:
        (Path(folder) / name).mkdir()
        for number in range(25):
            draw(*name.split(), random).save(Path(folder) / name / f"{number}.png")
    data = load_image_folder(folder, semantics, UNSEEN, name="drawn shapes")
    pictures = {name: plt.imread(Path(folder) / name / "0.png") for name in classes}
print(f"{len(data.X)} pictures, {len(data.seen_classes)} classes with labels, {len(UNSEEN)} without")

# %%
# The unlabelled pictures are the pool.
model = SelfPacedPrototypes(data.semantics).fit(*data.transductive())
answers, truth = model.predict(data.X[data.test_unseen]), data.y[data.test_unseen]
print(f"{np.mean(answers == truth):.0%} of the unlabelled pictures are right")
for name in UNSEEN:
    print(f"{name}: {np.mean(answers[truth == name] == name):.0%}")

figure, axes = plt.subplots(3, 4, figsize=(6.4, 5.2), layout="constrained")
for axis, name in zip(axes.flat, classes, strict=True):
    axis.imshow(pictures[name])
    axis.set_title(name, fontsize=9, color="tab:red" if name in UNSEEN else "black")
    axis.set_axis_off()
figure.suptitle("One picture of each class; red: no picture of it was labelled")
plt.show()
