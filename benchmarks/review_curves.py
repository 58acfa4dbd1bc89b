"""Accuracy against the number of labels that a person gives: the figure of docs/guide/answers.md.

    python benchmarks/review_curves.py --out docs/img/review.png
    python benchmarks/review_curves.py --datasets letters --rows 20

The flagship labels the pool of each data set. Then labels of some rows are given back with ``known=``,
chosen in three ways: by ``review(n)``, least confident first, and at random (a mean of five draws).
Rows that got a label count as right. "--rows" takes at most so many rows of each class. Features: those
of the data set, EfficientNet-Lite0 for the animal photographs.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from answer_parts import FLAGSHIP, build, pooled
from answers import few_rows
from draws import load
from settings import DATA

from unseen.datasets import ZeroShotDataset
from unseen.exceptions import AdaptationWarning
from unseen.metrics import per_image_accuracy

DATASETS = ("animals", "letters", "clinc150")
COUNTS = (5, 10, 20, 40)
RANDOM_DRAWS = 5
WAYS = {"chosen by review": "#3b7dd8", "least confident": "#e2762d", "at random": "#8a929c"}
"""How rows are chosen → colour of the curve."""


def curves(data: ZeroShotDataset) -> dict[str, list[float]]:
    """Return the share of right answers with 0 and with each of ``COUNTS`` labels, in %."""
    X, labels = pooled(data)
    pool, truth = data.X[data.test_unseen], data.y[data.test_unseen]

    def right(known: Any) -> float:
        model = build(FLAGSHIP, data.semantics)
        model.fit(X, labels, known={int(row): truth[row] for row in known})
        return 100 * per_image_accuracy(truth, model.transduction_[len(data.train) :])

    model = build(FLAGSHIP, data.semantics).fit(X, labels)
    start = 100 * per_image_accuracy(truth, model.transduction_[len(data.train) :])
    doubt = np.argsort(model.predict_proba(pool).max(axis=1), kind="stable")
    draws = [np.random.default_rng(seed).permutation(len(pool)) for seed in range(RANDOM_DRAWS)]
    return {
        "chosen by review": [start, *(right(model.review(pool, n)) for n in COUNTS)],
        "least confident": [start, *(right(doubt[:n]) for n in COUNTS)],
        "at random": [start, *(np.mean([right(draw[:n]) for draw in draws]) for n in COUNTS)],
    }


def draw(found: dict[str, dict[str, list[float]]], path: Path) -> None:
    """Draw one panel for each data set."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(
        1, len(found), figsize=(3.4 * len(found), 3.1), layout="constrained", squeeze=False
    )
    for axes, (name, of_set) in zip(panels[0], found.items(), strict=True):
        for way, values in of_set.items():
            axes.plot((0, *COUNTS), values, marker="o", markersize=4, color=WAYS[way], label=way)
        axes.set(title=name, xlabel="labels given by a person")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.2)
    panels[0][0].set_ylabel("pool right, %")
    panels[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main(arguments: list[str] | None = None) -> None:
    """Print the curves of every data set, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    found = {}
    for name in options.datasets:
        data = few_rows(load(name, options.data).data, options.rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaptationWarning)
            found[name] = curves(data)
        size = f"{len(data.test_unseen)} rows, {len(data.unseen_classes)} classes"
        for way, values in found[name].items():
            shares = " ".join(f"{value:.1f}" for value in values)
            print(
                f"{name:12} {size:24} {way:18} {shares} % with 0, {', '.join(map(str, COUNTS))} labels"
            )
    if options.out is not None:
        draw(found, options.out)


if __name__ == "__main__":
    main()
