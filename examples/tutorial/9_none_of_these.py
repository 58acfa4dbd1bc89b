"""
9. None of these
================

A pool may hold rows that belong to no candidate: *strangers*. Left alone, each of them gets the
label of some digit. With ``strangers=``, ``SelfPacedPrototypes`` estimates for every row the
probability of being a stranger, answers such rows with ``unknown``, and learns without them.

Run it with: ``python examples/tutorial/9_none_of_these.py``
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import roc_auc_score

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]

# %%
# One pool of digits and letters. The letters are rows that training did not see.
random = np.random.default_rng(0)
letters = data.X[random.permutation(data.test_seen)[:300]]
X = np.vstack([data.X[data.train], digits, letters])
y = [*data.y[data.train], *[None] * (len(digits) + len(letters))]
stranger = np.arange(len(digits) + len(letters)) >= len(digits)
print(f"{len(digits)} digits and {len(letters)} letters in the pool, none of them labelled")

# %%
# ``"auto"`` is careful and calls only rows that are clearly no digit. If you know the share of
# strangers, give it.
for name, setting in (("auto", "auto"), ("share given", float(stranger.mean()))):
    model = SelfPacedPrototypes(data.semantics, strangers=setting, unknown="none of these")
    model.fit(X, y)
    answers = model.transduction_[len(data.train) :]
    called = answers == "none of these"
    right = np.mean(answers[~stranger] == truth)
    print(f"{name}: {called[stranger].mean():.0%} of the letters are called strangers,")
    print(f"   {called[~stranger].mean():.1%} of the digits; {right:.1%} of the digits are right")
ranked = model.stranger_proba_[-len(stranger) :]
print(f"a letter ranks above a digit with probability {roc_auc_score(stranger, ranked):.2f}")

# %%
# The probabilities of both groups. They overlap where a letter looks like a digit.
figure, axis = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
bins = np.linspace(0, 1, 30)
axis.hist(ranked[~stranger], bins, alpha=0.7, label="digits")
axis.hist(ranked[stranger], bins, alpha=0.7, label="letters: strangers")
axis.set(xlabel="probability of being a stranger", ylabel="rows", yscale="log")
axis.legend()
plt.show()
