"""
1. A vector for every class
===========================

The data set ``letters-to-digits`` has printed letters with labels and handwritten digits without.
What is known of a digit is one vector: how it looks in print. That vector is the *semantics* of the
class. Letters have one as well, and this is what connects the two.

Run it with: ``python examples/tutorial/1_semantics.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
print(f"{len(data.X)} rows with {data.X.shape[1]} features")
print(f"{len(data.seen_classes)} seen classes (letters): {len(data.train)} labelled rows for training")
print(f"{len(data.unseen_classes)} unseen classes (digits): {len(data.test_unseen)} rows, no label")

# %%
# Semantics as a heat map: one row for each class, one column for each component of its vector.
# Strokes that digits share with letters are what a model can learn from.
letters, digits = [str(c) for c in data.seen_classes[:16]], [str(c) for c in data.unseen_classes]
figure, axes = plt.subplots(
    2, 1, figsize=(9, 5), sharex=True, layout="constrained", height_ratios=[16, 10]
)
for axis, classes, title in zip(
    axes, (letters, digits), ("sixteen of the letters: seen", "the digits: unseen"), strict=True
):
    axis.imshow(np.array([data.semantics[c] for c in classes]), aspect="auto", cmap="viridis")
    axis.set_yticks(range(len(classes)), classes)
    axis.set_ylabel(title, fontsize=9)
axes[1].set_xlabel("component of the class vector")
figure.suptitle("One vector for each class")
plt.show()

# %%
# How similar are they? The cosine of each digit with its nearest letter:
table = np.array([data.semantics[c] for c in data.seen_classes])
table = table / np.linalg.norm(table, axis=1, keepdims=True)
for digit in digits:
    vector = data.semantics[digit] / np.linalg.norm(data.semantics[digit])
    nearest = int(np.argmax(table @ vector))
    print(f"{digit}: nearest letter {data.seen_classes[nearest]}, cosine {table[nearest] @ vector:.2f}")
