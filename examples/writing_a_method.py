"""
Writing a method
================

A method is a class with three short functions. The contract does the rest: reading and checking,
candidates, probabilities, model files, folds, the bench.

Run it with: ``python examples/writing_a_method.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ESZSL, SelfPaced
from unseen.base import ZeroShotClassifier
from unseen.citation import Citation
from unseen.datasets import load_letters_to_digits


class LeastSquares(ZeroShotClassifier):
    """Predict the semantics of a row by least squares; the nearest class answers."""

    citation = Citation("The unseen developers", "An example for contributors", "unseen", 2026)

    def _fit(self, rows, vectors, held=None):
        """Learn the map from rows to class vectors."""
        self.map_ = np.linalg.lstsq(rows.X, vectors[rows.codes], rcond=None)[0].astype(rows.X.dtype)

    def _scores(self, X, vectors):
        """Return minus the squared distance of each row to each class."""
        differences = (X @ self.map_)[:, None] - vectors.astype(X.dtype)
        return -(differences**2).sum(axis=2)

    def _semantic_width(self):
        """Return the width of class vectors that the map gives."""
        return self.map_.shape[1]


# %%
# It can be used at once, wrapped as well.
data = load_letters_to_digits()
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
X, y = data.transductive()
shares = {}
for name, model in {
    "LeastSquares": LeastSquares(data.semantics),
    "ESZSL": ESZSL(data.semantics),
    "SelfPaced(LeastSquares)": SelfPaced(LeastSquares(data.semantics)),
    "SelfPaced(ESZSL)": SelfPaced(ESZSL(data.semantics)),
}.items():
    shares[name] = model.fit(X, y).score(digits, truth)
    print(f"{name}: {shares[name]:.1%} of the digits")

figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.barh(list(shares), [100 * share for share in shares.values()])
axis.set(xlabel="digits right, % per class", xlim=(0, 100))
plt.show()
