"""
Rows that come in batches
=========================

Embeddings arrive batch by batch, and each batch shows only some of the classes. ``partial_fit``
goes on from batch to batch; memory does not grow.

Run it with: ``python examples/streams.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import SharedSpacePrototypes

random = np.random.default_rng(5)
classes = [f"topic {number}" for number in range(12)]
texts = random.normal(size=(12, 40))
centres = 0.5 * texts + 0.55 * random.normal(size=texts.shape)
model = SharedSpacePrototypes(dict(zip(classes, texts, strict=True)))

# %%
# Twenty batches of 80 rows, in each of them four of the twelve topics.
before, after = [], []
for _ in range(20):
    topics = random.choice(12, size=4, replace=False)
    codes = random.choice(topics, size=80)
    X = centres[codes] + 1.1 * random.normal(size=(80, 40))
    model.partial_fit(X)
    truth = np.array(classes)[codes]
    before.append(np.mean(model.start_ == truth))
    after.append(np.mean(model.transduction_ == truth))
print(f"nearest text: {np.mean(before):.1%} right over all batches")
print(f"with partial_fit: {np.mean(after):.1%}")
print(f"first five batches: {np.mean(after[:5]):.1%}, last five: {np.mean(after[-5:]):.1%}")
print("a new row:", *model.predict(centres[:1]))

figure, axis = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
axis.plot(
    range(1, 21), [100 * share for share in before], marker=".", color="0.6", label="nearest text"
)
axis.plot(range(1, 21), [100 * share for share in after], marker="o", label="partial_fit")
axis.set(xlabel="batch", ylabel="right, %", ylim=(0, 103), xticks=range(1, 21, 2))
axis.legend()
plt.show()
