"""Accuracy of the methods on real data, over seeds and in awkward pools.

    python benchmarks/accuracy.py --datasets letters cub --methods ASTE TASTE --seeds 5
    python benchmarks/accuracy.py --datasets letters --methods TASTE --scenarios all
    python benchmarks/accuracy.py --datasets cub awa1-ss --methods inductive --times

Per-class top-1 on the unseen classes, with nothing but `semantics` given. A seed shuffles the rows (and
seeds the methods that draw at random). Scenarios change the unlabelled pool and print "start > end":
the method's own inductive answer, and its answer after adaptation. "--times" adds the fit time with
the parameters that were chosen (tuning aside), as a multiple of ESZSL's on the same rows.
Data: the embedded letters-to-digits, and CUB and AwA1 from the folder that UNSEEN_DATA names (default:
../shared/data).
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pools import POOLS, pool_rows
from sklearn.base import clone

import unseen
from unseen.datasets import ZeroShotDataset, load_letters_to_digits, load_xlsa17
from unseen.metrics import per_class_accuracy

DATA = Path(os.environ.get("UNSEEN_DATA", Path(__file__).parents[2] / "shared" / "data")) / "xlsa17"
DATASETS: dict[str, Callable[[], ZeroShotDataset]] = {
    "letters": load_letters_to_digits,
    "cub": lambda: load_xlsa17(DATA / "CUB"),
    "awa1-ss": lambda: load_xlsa17(DATA / "AWA1", split="SS"),
    "awa1-ps": lambda: load_xlsa17(DATA / "AWA1"),
}
INDUCTIVE = unseen.inductive.__all__
SCENARIOS = (*POOLS, "strangers")


def method(name: str, semantics: Any, seed: int) -> Any:
    """Build "ASTE", "Fast-TASTE", "SelfPaced-ESZSL" … with nothing but semantics."""
    outer, _, inner = name.partition("-")
    if inner:
        wrapper = unseen.FastTraining if outer == "Fast" else unseen.SelfPaced
        return wrapper(method(inner, semantics, seed))
    model = getattr(unseen, name)(semantics)
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def evaluate(data: ZeroShotDataset, name: str, seed: int, scenario: str) -> tuple[float, float]:
    """Return the accuracy before and after adaptation; equal for an inductive method."""
    random = np.random.default_rng(seed)
    train, pool = random.permutation(data.train), pool_rows(data.y, data.test_unseen, scenario, random)
    semantics, strangers = dict(data.semantics), np.empty(0, dtype=int)
    if scenario == "strangers":  # a fifth of the pool: seen classes that nobody describes any more
        names = random.choice(data.seen_classes, max(1, len(data.seen_classes) // 5), replace=False)
        away = np.isin(data.y[train], names)
        strangers = train[away][: len(pool) // 4]
        train = train[~away]
        semantics = {c: v for c, v in semantics.items() if c not in set(names.tolist())}
    rows = np.concatenate([train, pool, strangers])
    labels = data.y[rows].astype(object)
    labels[len(train) :] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", unseen.AdaptationWarning)
        model = method(name, semantics, seed).fit(data.X[rows], labels)
    end = per_class_accuracy(data.y[pool], model.predict(data.X[pool]))
    start = end
    if hasattr(model, "inductive_"):
        model.compatibility_ = model.inductive_
        start = per_class_accuracy(data.y[pool], model.predict(data.X[pool]))
    elif "rounds" in model.get_params():
        inductive = method(name, semantics, seed).set_params(rounds=0).fit(data.X[rows], labels)
        start = per_class_accuracy(data.y[pool], inductive.predict(data.X[pool]))
    return 100 * start, 100 * end


def fit_seconds(data: ZeroShotDataset, name: str) -> float:
    """Return the time of one fit with the parameters given, as the folds chose them before."""
    X, y = data.X[data.train], data.y[data.train]
    model = method(name, data.semantics, 0).fit(X, y)
    again = clone(model).set_params(**model._chosen())
    start = time.perf_counter()
    again.fit(X, y)
    return time.perf_counter() - start


def main() -> None:
    """Print one line for each data set, method and scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=["ESZSL", "ASTE", "TASTE"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--scenarios", nargs="+", default=["full"], choices=[*SCENARIOS, "all"])
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    methods = INDUCTIVE if options.methods == ["inductive"] else options.methods
    scenarios = SCENARIOS if "all" in options.scenarios else options.scenarios
    for dataset in options.datasets:
        data = DATASETS[dataset]()
        print(f"{dataset}: {data.features}", flush=True)
        unit = fit_seconds(data, "ESZSL") if options.times else 0.0
        for name in methods:
            for scenario in scenarios:
                pairs = [evaluate(data, name, seed, scenario) for seed in range(options.seeds)]
                start, end = np.mean(pairs, axis=0)
                worst = min(b - a for a, b in pairs)
                low, high = min(b for _, b in pairs), max(b for _, b in pairs)
                line = f"  {name:20s} {scenario:12s} {start:5.1f} > {end:5.1f}  [{low:.1f}, {high:.1f}]"
                ratio = f"  fit {fit_seconds(data, name) / unit:.1f} x ESZSL" if options.times else ""
                print(f"{line}  worst change {worst:+.1f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
