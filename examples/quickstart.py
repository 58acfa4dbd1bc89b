"""
Quick start
===========

Learn from printed letters, recognise handwritten digits that were never seen.

Run it with: ``python examples/quickstart.py``
"""

from matplotlib import pyplot as plt

from unseen import ASTE
from unseen.datasets import load_letters_to_digits
from unseen.metrics import accuracy_by_class, seen_unseen_harmonic

data = load_letters_to_digits()
print(f"{len(data.seen_classes)} letters with labels, {len(data.unseen_classes)} digits without")

# %%
# Semantics is the only thing to give: what each class looks like in print, digits included.
model = ASTE(semantics=data.semantics).fit(data.X[data.train], data.y[data.train])
print(f"solved to {model.relative_gap_:.1e} of the optimum in {model.n_iter_} iterations")

# %%
# The default question: which of the classes that fit never saw?
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
print(f"digits, answered among digits: {model.score(digits, truth):.1%} (chance: 10%)")
shares = accuracy_by_class(truth, model.predict(digits))
figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axis.bar([str(digit) for digit in shares], [100 * share for share in shares.values()])
axis.axhline(10, color="tab:red", linestyle="--", label="chance")
axis.set(xlabel="digit", ylabel="right, %", ylim=(0, 100), title="ASTE, trained on letters alone")
axis.legend()
plt.show()

# %%
# Candidates may change after fit. Among all classes at once, the letters are tempting answers.
rows = [*data.test_seen, *data.test_unseen]
answers = model.set_params(candidates="all").predict(data.X[rows])
result = seen_unseen_harmonic(data.y[rows], answers, data.seen_classes)
print(f"among all: letters {result.seen:.1%}, digits {result.unseen:.1%}, mean {result.harmonic:.1%}")
