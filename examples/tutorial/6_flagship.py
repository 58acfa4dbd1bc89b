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
from matplotlib.animation import FuncAnimation
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
# The rounds as an animation: each point is a digit of the pool, coloured by its answer. In the
# start, clusters have several colours; round by round, each takes one.
sample = np.random.default_rng(0).permutation(len(digits))[:450]
points = TSNE(random_state=0, init="pca", perplexity=25, max_iter=500, method="exact").fit_transform(
    digits[sample]
)
figure, axis = plt.subplots(figsize=(6.4, 5), layout="constrained")
scatter = axis.scatter(*points.T, s=14, c=frames[0][sample], cmap="tab10", vmin=0, vmax=9)
axis.set(xticks=[], yticks=[])
figure.colorbar(scatter, ticks=range(10), label="answer")


def draw(number):
    """Colour the points by the answers of a round."""
    answers = frames[number][sample]
    scatter.set_array(answers)
    right = np.mean(classes[answers] == truth[sample])
    axis.set_title(f"{f'Round {number}' if number else 'Start'}: {right:.0%} right")


movie = FuncAnimation(figure, draw, frames=len(frames), interval=900)
plt.show()

# %%
# The same as a curve: most of the gain comes in the first rounds.
curve = [100 * np.mean(classes[answers] == truth) for answers in frames]
figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axis.plot(range(len(frames)), curve, marker="o")
axis.set(xlabel="round (0 is the start)", ylabel="digits right, %", xticks=range(len(frames)))
plt.show()
