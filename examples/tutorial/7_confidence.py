"""
7. Confidence you can trust
===========================

An answer with a probability of 0.9 should be right nine times out of ten. Scores after adaptation
are too sure of themselves, so the probabilities are calibrated on rehearsals: held-out letters that
went through the same rounds. No label of a digit is needed.

Run it with: ``python examples/tutorial/7_confidence.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
model = SelfPacedPrototypes(data.semantics).fit(*data.transductive())
probabilities = model.predict_proba(digits)
confidence, right = probabilities.max(axis=1), model.predict(digits) == truth
print(f"mean confidence {confidence.mean():.3f}, share of right answers {right.mean():.3f}")

# %%
# A reliability diagram: answers in ten bins of confidence. On the diagonal, confidence is true.
edges = np.linspace(0, 1, 11)
bins = np.clip(np.digitize(confidence, edges) - 1, 0, 9)
filled = [number for number in range(10) if np.any(bins == number)]
said = [confidence[bins == number].mean() for number in filled]
was = [right[bins == number].mean() for number in filled]
size = [np.sum(bins == number) for number in filled]
error = sum(n * abs(s - w) for n, s, w in zip(size, said, was, strict=True)) / len(right)
print(f"expected calibration error: {error:.3f}")
figure, axis = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
axis.plot([0, 1], [0, 1], color="0.7", linestyle="--")
axis.scatter(said, was, s=20 + np.array(size) / 4, alpha=0.8)
axis.set(xlabel="confidence", ylabel="share that is right", xlim=(0, 1.03), ylim=(0, 1.03))
axis.set_title("Points show bins, larger for more rows")
plt.show()

# %%
# What to look at first: the least confident rows hold most of the errors.
order = np.argsort(confidence)
for share in (0.02, 0.05, 0.1):
    looked = order[: int(share * len(order))]
    held = np.sum(~right[looked]) / np.sum(~right)
    print(f"the least confident {share:.0%} of rows hold {held:.0%} of the errors")
