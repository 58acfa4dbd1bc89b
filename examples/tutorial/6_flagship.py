"""
6. Prototypes that the pool corrects
====================================

``SelfPacedPrototypes`` predicts a *prototype* for each digit from its vector, by a Gaussian process
that was trained on letters, and knows how uncertain the prediction is. The pool then corrects the
prototypes in a few rounds. Rehearsals on held-out letters estimate beforehand whether the pool's
classes are of similar size.

Run it with: ``python examples/tutorial/6_flagship.py``
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.manifold import TSNE

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
X, y = data.transductive()

frames = []


def watch(number, probabilities):
    """Keep the answers of each round; number 0 is the start."""
    frames.append(probabilities.argmax(axis=1))


model = SelfPacedPrototypes(data.semantics).fit(X, y, observer=watch)
classes = np.array(data.unseen_classes)
print(f"start: {np.mean(classes[frames[0]] == truth):.1%} of all digits are right")
print(f"after {len(frames) - 1} rounds: {np.mean(model.transduction_[-len(digits) :] == truth):.1%}")
print(f"probability that the classes are of similar size: {model.review_.even:.2f}")
print(
    f"errors of predicted prototypes, relative to those expected: {model.history_[-1].error_scale:.1f}"
)

# %%
# The rounds: each point is a digit of the pool, coloured by its answer.
sample = np.random.default_rng(0).permutation(len(digits))[:450]
points = TSNE(random_state=0, init="pca", perplexity=25, max_iter=500, method="exact").fit_transform(
    digits[sample]
)
shown = [0, 1, 3, len(frames) - 1]
figure, axes = plt.subplots(1, len(shown), figsize=(13, 3.6), layout="constrained")
for axis, number in zip(axes, shown, strict=True):
    answers = frames[number][sample]
    axis.scatter(*points.T, s=6, c=[plt.get_cmap("tab10")(code) for code in answers])
    right = np.mean(classes[answers] == truth[sample])
    name = "start" if number == 0 else f"round {number}"
    axis.set(title=f"{name}: {right:.0%} right", xticks=[], yticks=[])
plt.show()
