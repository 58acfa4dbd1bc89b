"""
Your own data, attributes by hand
=================================

Features in an array, labels in a list, and a dictionary of class vectors.

Run it with: ``python examples/own_data.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ESZSL
from unseen.model_selection import ClassWiseSearch

# %%
# What is known about each animal: furry, flies, swims, size. Nobody has labelled a bat or a seal.
animals = {
    "fox": [1, 0, 0, 0.3],
    "owl": [0, 1, 0, 0.2],
    "carp": [0, 0, 1, 0.1],
    "elk": [1, 0, 0, 0.9],
    "duck": [0, 1, 1, 0.2],
    "otter": [1, 0, 1, 0.3],
    "bat": [1, 1, 0, 0.1],
    "seal": [1, 0, 1, 0.8],
}

# %%
# Measurements: here each animal's features follow from its description, with noise.
random = np.random.default_rng(0)
names = np.repeat(list(animals), 30)
sensors = random.normal(size=(4, 12))
X = np.array([animals[name] for name in names]) @ sensors + random.normal(scale=0.3, size=(240, 12))
labelled = ~np.isin(names, ["bat", "seal"])

model = ESZSL(semantics=animals).fit(X[labelled], names[labelled])
print("candidates:", *model.classes_)
print(f"bat or seal? {model.score(X[~labelled], names[~labelled]):.1%} right")
first = X[names == "bat"][:1]
print(f"the first bat: {model.predict(first)[0]}, {model.predict_proba(first).max():.0%} sure")

# %%
# Where the answers lie: the first two principal directions of the rows of both unseen animals.
rows, answers = X[~labelled], model.predict(X[~labelled])
plane = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:2].T
points = (rows - rows.mean(axis=0)) @ plane
figure, axis = plt.subplots(figsize=(5.6, 4), layout="constrained")
for animal, marker in (("bat", "^"), ("seal", "o")):
    chosen = names[~labelled] == animal
    right = answers[chosen] == animal
    axis.scatter(*points[chosen][right].T, marker=marker, label=f"{animal}, recognised")
    axis.scatter(*points[chosen][~right].T, marker=marker, color="tab:red")
axis.set(title="Bats and seals, which nobody labelled (red: wrong)", xticks=[], yticks=[])
axis.legend()
plt.show()

# %%
# A new class needs a vector, and no training.
model.set_params(semantics=animals | {"gull": [0, 1, 0.6, 0.3]})
print("candidates:", *model.classes_)

# %%
# Defaults choose the two ridges on class-wise folds. A grid of one's own works the same way: whole
# seen classes are held out, and no label of an unseen class is needed.
search = ClassWiseSearch(ESZSL(animals), {"gamma": [0.1, 10.0], "lam": [0.1, 1.0]}, cv=3)
search.fit(X[labelled], names[labelled])
print("chosen:", search.best_params_, f"with {search.best_score_:.1%} on held-out animals")
