"""What a few corrected labels do to the other rows: the figures of docs/guide/studio.md.

Ten printed letters are held out as if nobody had labelled them, six times. A method labels them; some
of its mistakes are put right; it learns again, with the corrected rows known in the pool (``fit(X, y,
known=...)``) or handed to ``fit`` as labelled rows. Accuracy is per class, on the rows that nobody
corrected. No digit and no class that is unseen in the embedded data is used.
"""

from __future__ import annotations

import warnings

import numpy as np

from unseen import TASTE, SelfPacedPrototypes
from unseen.datasets import load_letters_to_digits
from unseen.exceptions import AdaptationWarning
from unseen.metrics import per_class_accuracy

DRAWS, HELD_OUT = 6, 10


def trial(method: type, corrections: int, seed: int) -> list[float]:
    """Return the accuracy before, with known rows in the pool, and with labelled rows."""
    data = load_letters_to_digits()
    X, y = data.X[data.train], data.y[data.train]
    letters = np.unique(y)
    random = np.random.default_rng(seed)
    held = random.choice(letters, HELD_OUT, replace=False).tolist()
    pool = np.isin(y, held)
    labels = y.astype(object)
    labels[pool] = None
    model = method(data.semantics.restricted_to(letters), candidates=held)
    first = model.fit(X, labels).predict(X)
    wrong = np.flatnonzero(pool & (first != y))
    fixed = random.choice(wrong, min(corrections, len(wrong)), replace=False)
    rest = pool.copy()
    rest[fixed] = False
    place = {row: number for number, row in enumerate(np.flatnonzero(pool))}
    known = model.fit(X, labels, known={place[row]: y[row] for row in fixed}).predict(X)
    labels[fixed] = y[fixed]
    labelled = model.fit(X, labels).predict(X)
    return [per_class_accuracy(y[rest], answer[rest]) for answer in (first, known, labelled)]


if __name__ == "__main__":
    warnings.simplefilter("ignore", AdaptationWarning)
    titles = (
        "method",
        "corrections",
        "before",
        "corrected rows in the pool",
        "corrected rows as labelled rows",
    )
    print("| " + " | ".join(titles) + " |\n" + "| --- " * len(titles) + "|")
    for count in (5, 20):
        for method in (SelfPacedPrototypes, TASTE):
            mean = np.mean([trial(method, count, seed) for seed in range(DRAWS)], axis=0)
            cells = [f"`{method.__name__}`", str(count), *(f"{100 * m:.1f}" for m in mean)]
            print("| " + " | ".join(cells) + " |")
