"""
Only embeddings, not one label
==============================

Rows and class texts from one encoder (CLIP, SigLIP, a sentence encoder), and not one label.

Run it with: ``python examples/embeddings.py``. With a name it also writes the picture: ``python
examples/embeddings.py picture.png``
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

from unseen import SharedSpacePrototypes
from unseen.metrics import per_class_accuracy

# %%
# Stand-ins for your own: X = encoder.encode(items), T = encoder.encode(class_texts). A text says
# only roughly where the items of its class lie, and items lie apart from texts, as in CLIP.
CLASSES = ["refund", "delivery", "password", "invoice", "opening hours", "complaint"]
random = np.random.default_rng(11)
T = random.normal(size=(len(CLASSES), 32))
centres = 0.5 * T + 0.6 * random.normal(size=T.shape) + 0.4 * random.normal(size=32)
truth = random.integers(len(CLASSES), size=900)
X = centres[truth] + 1.1 * random.normal(size=(len(truth), 32))

# %%
# The five lines.
texts = dict(zip(CLASSES, T, strict=True))
model = SharedSpacePrototypes(texts).fit(X)
labels = model.transduction_
surest_first = np.argsort(-model.confidence_)
new_labels = model.predict(X[:3])

names = np.array(CLASSES)[truth]
before, after = per_class_accuracy(names, model.start_), per_class_accuracy(names, labels)
print(f"nearest text: {before:.1%} right; after the rounds: {after:.1%}")
print(f"answers that changed: {model.diagnostics_['changed']:.0%}, ", end="")
print(f"with a mean probability of {model.diagnostics_['sureness']:.2f}")
for entry in model.history_:
    print(f"round {entry.round}: {entry.changed:.1%} of the answers changed")
print("least sure:", labels[surest_first[-3:]].tolist(), "new rows:", new_labels.tolist())

# %%
# The answers before and after, in the two main directions of the rows.
unit = X / np.linalg.norm(X, axis=1, keepdims=True)
centre = unit.mean(axis=0)
plane = np.linalg.svd(unit - centre, full_matrices=False)[2][:2].T
points = (unit - centre) @ plane
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), sharex=True, sharey=True, layout="constrained")
for axis, answers, title in zip(
    axes,
    (model.start_, labels),
    (f"before: nearest text, {before:.0%} right", f"after: {after:.0%} right"),
    strict=True,
):
    for k, name in enumerate(CLASSES):
        own, right = answers == name, answers == names
        axis.scatter(*points[own & right].T, s=9, color=f"C{k}", label=name, linewidths=0)
        axis.scatter(*points[own & ~right].T, s=22, color=f"C{k}", marker="x", linewidths=1)
    axis.set_title(title, loc="left")
    axis.set_xticks([])
    axis.set_yticks([])
legend = {"loc": "outside lower center", "ncols": 6, "frameon": False}
meaning = "colour: the answer; ×: a wrong one; place: the two main directions of the rows"
figure.legend(*axes[0].get_legend_handles_labels(), title=meaning, **legend)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
plt.show()
