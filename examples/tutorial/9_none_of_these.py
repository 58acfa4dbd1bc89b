"""
9. None of these
================

A pool may hold rows that belong to no candidate: *strangers*. Left alone, each of them gets the
label of some candidate. With ``strangers=``, ``SelfPacedPrototypes`` estimates for every row the
probability of being a stranger, answers such rows with ``unknown``, and does not learn from them.

Here Latin and Greek letters are labelled, Cyrillic ones are not, and some Latin and Greek letters
without labels are in the pool as well.

Run it with: ``python examples/tutorial/9_none_of_these.py``
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import roc_auc_score

from unseen import SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
cyrillic = [letter for letter in data.seen_classes if "А" <= letter <= "я"]
print("candidates:", " ".join(cyrillic))

# %%
# One pool of Cyrillic letters and others. The strangers are rows that training does not see.
ours = np.isin(data.y, cyrillic)
train = data.train[~ours[data.train]]
pool = data.train[ours[data.train]]
others = np.random.default_rng(0).permutation(data.test_seen[~ours[data.test_seen]])
strangers = others[: len(pool) // 4]
rows = np.concatenate([train, pool, strangers])
y = [*data.y[train], *[None] * (len(pool) + len(strangers))]
stranger = np.arange(len(pool) + len(strangers)) >= len(pool)
print(f"{len(pool)} Cyrillic letters and {len(strangers)} others in the pool, none of them labelled")

# %%
# ``"auto"`` is careful and calls only rows that are clearly no candidate. If you know the share of
# strangers, give it.
for name, setting in (
    ("as if there were none", None),
    ("auto", "auto"),
    ("share given", float(stranger.mean())),
):
    model = SelfPacedPrototypes(
        data.semantics, candidates=cyrillic, strangers=setting, unknown="none of these"
    )
    model.fit(data.X[rows], y)
    answers = model.transduction_[len(train) :]
    called = answers == "none of these"
    right = np.mean(answers[~stranger] == data.y[pool])
    print(f"{name}: {called[stranger].mean():.0%} of the strangers are called so,")
    print(f"   {called[~stranger].mean():.1%} of the others; {right:.1%} of the others are right")
ranked = model.stranger_proba_[-len(stranger) :]
print(f"a stranger ranks above another row with probability {roc_auc_score(stranger, ranked):.2f}")

# %%
# The probabilities of both groups. They overlap where a Latin letter looks like a Cyrillic one.
figure, axis = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
bins = np.linspace(0, 1, 30)
axis.hist(ranked[~stranger], bins, alpha=0.7, label="Cyrillic letters")
axis.hist(ranked[stranger], bins, alpha=0.7, label="strangers: Latin and Greek letters")
axis.set(xlabel="probability of being a stranger", ylabel="rows", yscale="log")
axis.legend()
plt.show()
