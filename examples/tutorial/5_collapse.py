"""
5. Why selection must be balanced
=================================

Which rows should be trusted? The paper takes all rows whose confidence is above one threshold. The
most confident rows sit in a few classes; learning from them lowers the scores of every other class,
and the next round trusts the same few classes even more. Here is the collapse, and what prevents
it.

Run it with: ``python examples/tutorial/5_collapse.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ESZSL, SelfPaced
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
X, y = data.transductive()
classes = [str(c) for c in data.unseen_classes]

answers = {}
for name, selection in (("one threshold", "threshold"), ("balanced over classes", "balanced")):
    model = SelfPaced(ESZSL(data.semantics), selection=selection).fit(X, y)
    answers[name] = model.transduction_[-len(digits) :]
    right = model.score(digits, truth)
    covered = [entry.classes_covered for entry in model.history_]
    print(f"{name}: {right:.1%} right; classes with trusted rows, round by round: {covered}")

print(f"digits of the pool: {len(digits)}, of {len(classes)} classes of nearly equal size")
largest = max(np.mean(answers["one threshold"] == c) for c in classes)
print(f"by one threshold, the largest class takes {largest:.0%} of the pool")

# %%
# How many rows each digit gets. The true numbers are nearly equal.
figure, axis = plt.subplots(figsize=(7.6, 3.6), layout="constrained")
places = np.arange(len(classes))
true = [np.sum(truth == c) for c in classes]
axis.bar(places - 0.27, true, 0.27, label="true", color="0.75")
for number, (name, labels) in enumerate(answers.items()):
    counts = [np.sum(labels == c) for c in classes]
    axis.bar(places + 0.27 * number, counts, 0.27, label=name)
axis.set_xticks(places, classes)
axis.set(xlabel="digit", ylabel="rows with this answer")
axis.legend()
plt.show()
