"""
Intents with strangers
======================

Requests to an assistant, a text for each intent, and requests that belong to no intent at all. How
well can they be told apart? The rows are simulated as sentence embeddings are: a text says only
roughly where its requests lie.

Run it with: ``python examples/intents_and_strangers.py``
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.metrics import roc_auc_score

from unseen import SharedSpacePrototypes
from unseen.metrics import per_class_accuracy

INTENTS = [
    "pay bill",
    "lost card",
    "opening hours",
    "change address",
    "loan",
    "exchange rate",
    "close account",
    "fraud",
]
random = np.random.default_rng(3)
texts = random.normal(size=(len(INTENTS), 48))
centres = 0.5 * texts + 0.5 * random.normal(size=texts.shape)
truth = random.integers(len(INTENTS), size=800)
requests = centres[truth] + random.normal(size=(800, 48))
strangers = 1.3 * random.normal(size=(160, 48))  # a sixth of the pool
X = np.vstack([requests, strangers])

# %%
# Every row gets an answer. ``stranger_score`` says how far it is from every intent.
model = SharedSpacePrototypes(dict(zip(INTENTS, texts, strict=True))).fit(X)
names = np.array(INTENTS)[truth]
print(f"requests: {per_class_accuracy(names, model.transduction_[:800]):.1%} right")
print(f"by the nearest text alone: {per_class_accuracy(names, model.start_[:800]):.1%}")
score = model.stranger_score(X)
is_stranger = np.arange(len(X)) >= 800
print(f"strangers against requests, area under the ROC curve: {roc_auc_score(is_stranger, score):.3f}")
cosine = X @ texts.T / np.linalg.norm(X, axis=1, keepdims=True) / np.linalg.norm(texts, axis=1)
print(f"the same by the largest cosine: {roc_auc_score(is_stranger, -cosine.max(axis=1)):.3f}")

# %%
# If the share of strangers is roughly known, the model answers "none of these" itself, and learns
# again without the rows that it calls so.
model = SharedSpacePrototypes(
    dict(zip(INTENTS, texts, strict=True)), strangers=1 / 6, unknown="none of these"
).fit(X)
called = model.transduction_ == "none of these"
shares = called[is_stranger].mean(), called[~is_stranger].mean()
print(f"called strangers: {shares[0]:.0%} of them, and {shares[1]:.0%} of the requests")
rest = ~called[:800]
print(f"requests that are left: {np.mean(model.transduction_[:800][rest] == names[rest]):.1%} right")

# %%
# The two groups by their scores:
figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
bins = np.linspace(score.min(), score.max(), 40)
axis.hist(score[~is_stranger], bins, alpha=0.7, label="requests")
axis.hist(score[is_stranger], bins, alpha=0.7, label="strangers")
axis.set(xlabel="stranger score", ylabel="rows")
axis.legend()
plt.show()
