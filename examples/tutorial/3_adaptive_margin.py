"""
3. The adaptive margin of ASTE
==============================

A regression treats all errors alike. A structural SVM asks that the right class win, with a margin.
``ASTE`` makes the margin adaptive: a row that is classified with confidence costs little, a row
that is on the edge costs more, and one that is wrong also pays the distance to the winner.

Run it with: ``python examples/tutorial/3_adaptive_margin.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ASTE
from unseen.datasets import load_letters_to_digits

# %%
# The loss of one row with scores ``g`` and true class 1 is
# ``‖g − y‖² + maxₖ gₖ − g₁``. The worked example of the paper's Figure 2:
for scores in ([0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1]):
    g, y = np.array(scores), np.array([1.0, 0.0, 0.0])
    squared, hinge = float(((g - y) ** 2).sum()), float(g.max() - g[0])
    print(f"scores {scores}: {squared:.2f} + {hinge:.2f} = {squared + hinge:.2f}")

# %%
# As a picture: scores of two classes that sum to one, the true class first. The dashed line is the
# squared loss alone.
share = np.linspace(0, 1, 200)
squared = 2 * (1 - share) ** 2
hinge = np.maximum(1 - 2 * share, 0)
figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axis.plot(share, squared + hinge, label="ASTE", linewidth=2)
axis.plot(share, squared, "--", label="squared loss")
axis.axvspan(0, 0.5, color="tab:red", alpha=0.08)
axis.text(0.03, 0.15, "wrong class wins")
axis.set(
    xlabel="score of the true class",
    ylabel="loss",
    title="A wrong row pays the distance to the winner, too",
)
axis.legend()
plt.show()

# %%
# The problem is convex, so it can be solved to the optimum, and the duality gap proves it.
data = load_letters_to_digits()
model = ASTE(data.semantics).fit(data.X[data.train], data.y[data.train])
score = model.score(data.X[data.test_unseen], data.y[data.test_unseen])
print(f"within {model.relative_gap_:.1e} of the optimum after {model.n_iter_} iterations")
print(f"{score:.1%} of the digits are right per class")
