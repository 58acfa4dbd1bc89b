"""
4. Learning from the pool
=========================

So far no digit was looked at. But the digits to be recognised are there, only without labels: they
are the *pool*. A transductive method learns from them as well. ``TASTE`` predicts the pool, trusts
the most confident rows, learns again with them as if they were labelled, and repeats.

Run it with: ``python examples/tutorial/4_pool.py``
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.manifold import TSNE

from unseen import ASTE, TASTE
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
X, y = data.transductive()  # letters with labels, then digits with None

inductive = ASTE(data.semantics).fit(data.X[data.train], data.y[data.train])
transductive = TASTE(data.semantics).fit(X, y)
print(f"letters alone: {inductive.score(digits, truth):.1%} of the digits")
print(f"with the pool: {transductive.score(digits, truth):.1%}")
for entry in transductive.history_:
    print(
        f"round {entry.round}: {entry.selected} rows trusted, {entry.changed:.1%} of the labels changed"
    )

# %%
# Digits in two dimensions, coloured by the answer. Clusters are the digits as people write them.
# Letters alone give some clusters two colours; after the rounds nearly every cluster has one.
sample = np.random.default_rng(0).permutation(len(digits))[:450]
points = TSNE(random_state=0, init="pca", perplexity=25, max_iter=500, method="exact").fit_transform(
    digits[sample]
)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for axis, model, title in zip(
    axes, (inductive, transductive), ("ASTE: letters alone", "TASTE: with the pool"), strict=True
):
    answers = model.predict(digits[sample])
    for number, digit in enumerate(data.unseen_classes):
        chosen = answers == digit
        axis.scatter(*points[chosen].T, s=7, color=plt.get_cmap("tab10")(number), label=str(digit))
    right = np.mean(answers == truth[sample])
    axis.set(title=f"{title}, {right:.0%} right", xticks=[], yticks=[])
axes[1].legend(title="answer", markerscale=2, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
