"""
Is one method better than another?
==================================

Zero-shot accuracy is a mean over classes, and another problem would draw other classes. So
differences are tested by a paired bootstrap over *classes*.

Run it with: ``python examples/compare_methods.py``
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

from unseen import AdaptationWarning
from unseen.datasets import simulate
from unseen.experiments.significance import compare
from unseen.methods import find
from unseen.metrics import accuracy_by_class

data = simulate("CUB", scale=0.1, n_features=64, domain_shift=0.8, random_state=0)
X, y = data.transductive()
warnings.simplefilter("ignore", AdaptationWarning)  # simulated class sizes differ, as in real sets
truth = data.y[data.test_unseen]
shares = {}
for name in ("DAP", "PrototypeRidge", "ESZSL", "ASTE", "SelfPacedPrototypes"):
    model = find(name).build(data.semantics, random_state=0).fit(X, y)
    shares[name] = accuracy_by_class(truth, model.predict(data.X[data.test_unseen]))
    mean = np.mean(list(shares[name].values()))
    print(f"{name:>19}: {mean:.1%} per class on simulated CUB, 64 features")

# %%
# Each method against ASTE: the difference with its 95% interval.
names = [name for name in shares if name != "ASTE"]
figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for place, name in enumerate(names):
    result = compare(shares[name], shares["ASTE"])
    verdict = "significant" if result.significant else "not significant"
    interval = f"[{100 * result.low:.1f}, {100 * result.high:.1f}]"
    print(f"{name} - ASTE: {100 * result.difference:+.1f} {interval}, {verdict}")
    colour = "tab:blue" if result.significant else "0.6"
    axis.plot([100 * result.low, 100 * result.high], [place, place], color=colour, linewidth=3)
    axis.plot(100 * result.difference, place, "o", color=colour)
axis.axvline(0, color="0.3", linewidth=1)
axis.set_yticks(range(len(names)), names)
axis.set(xlabel="points above ASTE, per class (grey: not significant)")
plt.show()
