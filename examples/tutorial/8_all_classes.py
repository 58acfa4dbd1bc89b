"""
8. Seen and unseen together
===========================

Which of *all* classes is it? In this *generalised* setting seen classes are tempting answers, since
the model learned from their rows. Accuracy on seen classes (S) and on unseen ones (U) is traded by
an offset on the scores of the seen classes; their harmonic mean (H) is large only if both are.

Run it with: ``python examples/tutorial/8_all_classes.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ESZSL, CalibratedStacking
from unseen.datasets import load_letters_to_digits
from unseen.metrics import seen_unseen_harmonic

data = load_letters_to_digits()
model = ESZSL(data.semantics, candidates="all").fit(data.X[data.train], data.y[data.train])
rows = np.array([*data.test_seen, *data.test_unseen])
truth, scores = data.y[rows], model.decision_function(data.X[rows])
seen = np.isin(model.classes_, data.seen_classes)
plain = seen_unseen_harmonic(truth, model.predict(data.X[rows]), data.seen_classes)
print(f"letters {plain.seen:.1%}, digits {plain.unseen:.1%}, harmonic mean {plain.harmonic:.1%}")

# %%
# Lower the scores of all letters by the same offset, from none to a lot:
spread = scores.std()
results = []
for offset in np.linspace(0, 3 * spread, 40):
    answers = model.classes_[(scores - offset * seen).argmax(axis=1)]
    results.append(seen_unseen_harmonic(truth, answers, data.seen_classes))
unseen, letters = [r.unseen for r in results], [r.seen for r in results]
print(f"digits rise from {unseen[0]:.1%} to {unseen[-1]:.1%}, letters fall to {letters[-1]:.1%}")

# %%
# The offset must not be chosen on digits. ``CalibratedStacking`` holds out letters and
# chooses it on them:
stacked = CalibratedStacking(ESZSL(data.semantics)).fit(data.X[data.train], data.y[data.train])
chosen = seen_unseen_harmonic(truth, stacked.predict(data.X[rows]), data.seen_classes)
print(f"with the offset: letters {chosen.seen:.1%}, digits {chosen.unseen:.1%}")
best = max(result.harmonic for result in results)
print(f"harmonic mean {chosen.harmonic:.1%}; with the best offset {best:.1%}")

figure, axis = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
axis.plot(unseen, letters, marker=".", zorder=1)
axis.scatter([plain.unseen], [plain.seen], s=70, color="tab:red", label="as fitted")
axis.scatter([chosen.unseen], [chosen.seen], s=70, color="tab:green", label="offset chosen on letters")
axis.set(xlabel="accuracy on digits (unseen)", ylabel="accuracy on letters (seen)")
axis.set_title("The offset trades one for the other")
axis.legend()
plt.show()
