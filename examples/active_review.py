"""
A person looks at twenty rows
=============================

Somebody has time for twenty labels. Which rows should be shown? ``review`` chooses uncertain rows that
stand for many others; beside it are the least confident rows and random ones. The labels go back with
``known=``, and the model continues from there.

Run it with: ``python examples/active_review.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
X, y = data.transductive()
pool = np.array([row for row, label in enumerate(y) if label is None])
pool = pool[np.random.default_rng(0).permutation(len(pool))[:300]]  # a small pool is harder
rows = np.concatenate([np.arange(len(data.train)), pool])
X, y = X[rows], [y[row] for row in rows]
place = np.arange(len(data.train), len(rows))
truth = data.y[data.test_unseen][pool - len(data.train)]


def accuracy(model):
    """Return the share of the pool's labels that are right."""
    return np.mean(model.transduction_[place] == truth)


model = SelfPacedPrototypes(data.semantics).fit(X, y)
start = accuracy(model)
confidence = model.predict_proba(X[place]).max(axis=1)
print(f"without a person: {start:.1%} of {len(place)} digits are right")

# %%
# Twenty labels, chosen in three ways:
least, random = np.argsort(confidence), np.random.default_rng(1).permutation(len(place))
choices = {
    "review": lambda number: model.review(X[place], number),
    "least confident": lambda number: least[:number],
    "at random": lambda number: random[:number],
}
curves = {}
for name, choose in choices.items():
    curves[name] = [start]
    for number in (5, 10, 20):
        known = {int(row): truth[row] for row in choose(number)}  # counted within the pool
        curves[name].append(accuracy(SelfPacedPrototypes(data.semantics).fit(X, y, known=known)))
    print(f"{name}: {[f'{share:.1%}' for share in curves[name]]} with 0, 5, 10 and 20 labels")

gains = {name: curve[-1] - start for name, curve in curves.items()}
print("gain of twenty labels:", *(f"{name} {gain:+.1%}" for name, gain in gains.items()))

figure, axis = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for name, shares in curves.items():
    axis.plot([0, 5, 10, 20], [100 * share for share in shares], marker="o", label=name)
axis.set(xlabel="labels given by a person", ylabel="pool right, %")
axis.legend()
plt.show()
