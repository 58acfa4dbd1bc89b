"""
Uneven pools, absent classes
============================

Some candidates may be absent, and sizes may differ widely. ``SelfPacedPrototypes`` estimates from
rehearsals whether the pool's classes are of similar size, and warns where they are not.

Run it with: ``python examples/uneven_pools.py``
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt

from unseen import AdaptationWarning, SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits
from unseen.metrics import per_class_accuracy

data = load_letters_to_digits()
X, y = data.X[data.train], data.y[data.train].tolist()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
random = np.random.default_rng(0)


def pool(sizes):
    """Draw so many rows of each digit."""
    rows = [
        random.permutation(np.flatnonzero(truth == c))[:n]
        for c, n in zip(data.unseen_classes, sizes, strict=True)
    ]
    return np.concatenate(rows)


pools = {
    "even": pool([120] * 10),
    "half absent": pool([170, 0] * 5),
    "50 : 1": pool([round(150 * 50 ** (-k / 9)) for k in range(10)]),
}
results = {}
for name, rows in pools.items():
    together, labels = np.vstack([X, digits[rows]]), [*y, *[None] * len(rows)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptationWarning)
        model = SelfPacedPrototypes(data.semantics).fit(together, labels)
    start = SelfPacedPrototypes(data.semantics, rounds=0).fit(together, labels)
    found = [per_class_accuracy(truth[rows], m.predict(digits[rows])) for m in (start, model)]
    results[name] = found
    print(f"{name}: {found[0]:.1%} -> {found[1]:.1%}; an even pool: {model.review_.even:.2f}")
    print("   alarms:", ", ".join(model.alarms_) or "none", f"({len(caught)} warnings)")

figure, axis = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
places = np.arange(len(results))
axis.bar(places - 0.2, [100 * found[0] for found in results.values()], 0.4, color="0.7", label="start")
axis.bar(places + 0.2, [100 * found[1] for found in results.values()], 0.4, label="after the rounds")
axis.set_xticks(places, list(results))
axis.set(ylabel="right, % per class", ylim=(0, 100))
axis.legend(loc="lower left")
plt.show()
