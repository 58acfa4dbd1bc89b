"""
Transduction and its history
============================

Learn from unlabelled rows too, and read the history of what was trusted when.

Run it with: ``python examples/transduction.py``
"""

from matplotlib import pyplot as plt

from unseen import ESZSL, TASTE, SelfPaced
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]

# %%
# One X: rows of letters with their labels, then the digits, marked None. Integer labels use -1.
X, y = data.transductive()
print(f"{len(X)} rows, {sum(label is None for label in y)} of them unlabelled")

# %%
# Any estimator learns from its own trusted predictions when it is wrapped in SelfPaced.
shares = {}
for model in (ESZSL(data.semantics), SelfPaced(ESZSL(data.semantics)), TASTE(data.semantics)):
    model.fit(X, y)
    shares[type(model).__name__] = model.score(digits, truth)
    print(f"{type(model).__name__:>10}: {shares[type(model).__name__]:.1%} of the digits")

# %%
# ``transduction_`` holds a label for every row of X, ``history_`` one line for each round.
print("labels of the first unlabelled rows:", *model.transduction_[len(data.train) :][:10])
print("round  trusted  classes  changed")
for entry in model.history_:
    print(f"{entry.round:5}  {entry.selected:7}  {entry.classes_covered:7}  {entry.changed:7.1%}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.barh(
    list(shares), [100 * share for share in shares.values()], color=["0.7", "tab:blue", "tab:green"]
)
left.set(xlabel="digits right, % per class", xlim=(0, 100))
numbers = [entry.round for entry in model.history_]
right.plot(numbers, [entry.selected for entry in model.history_], marker="o")
right.set(xlabel="round of TASTE", ylabel="trusted rows", ylim=(0, None), xticks=numbers)
plt.show()
