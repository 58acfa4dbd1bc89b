"""Rows and class texts in one space, no labelled row: the protocols of the field, beside cosine.

    python benchmarks/shared_space.py                        every data set at hand that shares a space
    python benchmarks/shared_space.py --methods SharedSpacePrototypes TransCLIP StatA ZLaP
    python benchmarks/shared_space.py --datasets banking77:name own.npz --parts full batches
    python benchmarks/shared_space.py --seen                 only training rows and their classes
    python benchmarks/shared_space.py --parts cost           100,000 × 512 rows and 1,000 classes

Per-class top-1 in points above argmax cosine. "full": all rows, all classes; "50:1": the largest class
has 50 times the rows of the smallest; "batches": k of the classes present in a pool of 64, 256 or 1,000
rows, all classes candidates, mean and worst of five draws; "streams": batches of 256 rows, classes
mixed or one after another, a method with partial_fit goes on from batch to batch; "strangers": AUROC of
rows of no class; "labels": ten labelled rows of each of half of the classes, and what they do to the
other half; "cost": in time of the processor, and memory beside X. ECE is on full pools, 15 bins. With
"--seen" nothing but training rows and their classes is read: defaults are chosen in this way. An own
.npz is as in generalise.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from draws import load, names_at_hand, shares_space
from settings import DATA
from simulated_cost import cost
from sklearn.metrics import roc_auc_score

from unseen import methods
from unseen.exceptions import DataError
from unseen.experiments.unlabelled_pools import (
    BATCH_ROWS,
    FULL,
    MIXED_STREAM,
    SMALL_POOLS,
    STREAM_BY_CLASS,
    UNEVEN,
    PoolAnswers,
    answer_pool,
    pool_batches,
)
from unseen.metrics import per_class_accuracy

METHODS = ["SharedSpacePrototypes", "TransCLIP", "StatA", "ZLaP", "EMDirichlet"]
PARTS = ("full", "batches", "50:1", "streams", "strangers", "labels", "cost")
LABELLED_ROWS = 10
FRACTIONS = ("ECE", "AUROC", "by cosine", "changed", "sureness", "evenness", "slope", "tie")
FLOOR = -1.5
"""A setting whose mean gain is below this is counted."""
MOST_RATIO, MOST_MEMORY = 30, 3


class Space(NamedTuple):
    """Rows, the names of their classes, class vectors by name, and rows of no class."""

    name: str
    X: Any
    y: Any
    semantics: dict[Any, Any]
    X_strangers: Any

    def answers(self, model: Any, setting: str, random: np.random.Generator) -> PoolAnswers:
        """Fit a model to the pool of a setting."""
        rows = pool_batches(setting, self.y, np.array(sorted(self.semantics)), random)
        return answer_pool(model, self.X, self.y, rows)


def spaces(options: argparse.Namespace) -> Iterator[Space]:
    """Yield the data sets whose features and semantics come from one encoder."""
    for name in options.datasets or names_at_hand(options.data):
        if not options.datasets and not (options.data / "zeroshot" / f"{name}.npz").is_file():
            continue
        source = load(name, options.data, options.seen)
        data, semantics = source.data, dict(source.data.semantics)
        if shares_space(data.X[data.train], data.y[data.train], semantics):
            yield Space(data.name, data.X, data.y, semantics, source.X_strangers)
        elif options.datasets:
            raise DataError(f"{name}: features and semantics do not share a space.")


def build(name: str, semantics: Any) -> Any:
    """Build a method; "TransCLIP!" has the settings of its authors."""
    method = methods.find(name.removesuffix("!"))
    published = name.endswith("!") and method.estimator.published
    return method.estimator.as_published(semantics) if published else method.build(semantics)


def full(space: Space, name: str, _: argparse.Namespace) -> dict[str, float]:
    """All rows, all classes."""
    model = build(name, space.semantics)
    begin = time.perf_counter()
    answers = space.answers(model, FULL, np.random.default_rng(0))
    seconds = time.perf_counter() - begin
    figures = {"cosine": 100 * answers.accuracies[1], "gain": answers.gain}
    figures |= {"ECE": answers.calibration_error, "seconds": seconds}
    return figures | getattr(model, "diagnostics_", {})


def batches(space: Space, name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """k effective classes in a small pool; the gain of each draw."""
    gains: dict[str, list[float]] = {}
    for setting, (k, size) in SMALL_POOLS.items():
        for seed in range(options.draws) if (k or 0) < len(space.semantics) else ():
            random = np.random.default_rng([seed, k or 0, size])
            answers = space.answers(build(name, space.semantics), setting, random)
            gains.setdefault(f"{k or 'all'}/{size}", []).append(answers.gain)
    return gains


def uneven(space: Space, name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Classes of very different size."""
    gains = []
    for random in map(np.random.default_rng, range(options.draws)):
        gains.append(space.answers(build(name, space.semantics), UNEVEN, random).gain)
    return {"50:1": gains}


def streams(space: Space, name: str, _: argparse.Namespace) -> dict[str, float]:
    """Rows that come by batches; the gain over the whole stream."""
    gains = {}
    for title, setting in (("mixed", MIXED_STREAM), ("in turn", STREAM_BY_CLASS)):
        model, random = build(name, space.semantics), np.random.default_rng(0)
        gains[title] = space.answers(model, setting, random).gain
    return gains


def strangers(space: Space, name: str, _: argparse.Namespace) -> dict[str, float]:
    """AUROC of rows of no class, among the pool."""
    if space.X_strangers is None:
        return {}
    X = np.concatenate([space.X, space.X_strangers])
    model = build(name, space.semantics).fit(X)
    if hasattr(model, "stranger_score"):
        score = model.stranger_score(X)
    else:
        score = -model.decision_function(X).max(axis=1)
    first = -build("CosineZSL", space.semantics).fit(X).decision_function(X).max(axis=1)
    strange = np.arange(len(X)) >= len(space.X)
    return {"AUROC": roc_auc_score(strange, score), "by cosine": roc_auc_score(strange, first)}


def labels(space: Space, name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """What labelled rows of half of the classes do to either half, beside no labels."""
    changes: dict[str, list[float]] = {"labelled half": [], "other half": []}
    for seed in range(options.draws):
        random = np.random.default_rng(seed)
        half = random.permutation(np.array(sorted(space.semantics)))[: len(space.semantics) // 2]
        order, taken = random.permutation(len(space.y)), np.zeros(len(space.y), dtype=bool)
        for label in half:
            taken[order[space.y[order] == label][:LABELLED_ROWS]] = True
        y = np.where(taken, space.y, None)
        with_labels = build(name, space.semantics).fit(space.X, y).transduction_[~taken]
        without = build(name, space.semantics).fit(space.X[~taken]).transduction_
        truth = space.y[~taken]
        for title, rows in zip(changes, (np.isin(truth, half), ~np.isin(truth, half)), strict=True):
            parts = [per_class_accuracy(truth[rows], a[rows]) for a in (with_labels, without)]
            changes[title].append(100 * (parts[0] - parts[1]))
    return changes


def summary(gains: dict[str, list[float]]) -> dict[str, float]:
    """Sum up the gains of many settings, each drawn several times."""
    means = {setting: float(np.mean(values)) for setting, values in gains.items()}
    few = [v for s, v in means.items() if not s.startswith("all/")]
    every = [value for values in gains.values() for value in values]
    return {
        "mean, k of 2 to 25": float(np.mean(few)),
        "settings": len(means),
        f"below {FLOOR}": sum(value < FLOOR for value in means.values()),
        "worst setting": min(means.values()),
        "worst draw": min(every),
    }


def line(figures: dict[str, Any]) -> str:
    """Print figures in one line."""
    shown = []
    for key, value in figures.items():
        if isinstance(value, list):
            value, key = float(np.mean(value)), f"{key} (worst {min(value):+.1f})"
        digits = 3 if key in FRACTIONS else 1
        sign = "+" if key not in ("cosine", "seconds", "settings") and digits == 1 else ""
        shown.append(
            f"{key} {value:{sign}.{digits}f}" if isinstance(value, float) else f"{key} {value}"
        )
    return ", ".join(shown)


RUNS = {"full": full, "batches": batches, "50:1": uneven, "streams": streams}
RUNS |= {"strangers": strangers, "labels": labels}


def report(options: argparse.Namespace) -> dict[str, Any]:
    """Run what was asked for, and print it as it comes."""
    results: dict[str, Any] = {}
    for space in spaces(options) if set(options.parts) - {"cost"} else ():
        count = f"{len(space.X)} rows, {len(space.semantics)} classes"
        print(f"\n{space.name}: {count}{', seen classes only' if options.seen else ''}", flush=True)
        for part in (part for part in options.parts if part in RUNS):
            for name in options.methods:
                figures = RUNS[part](space, name, options)
                results.setdefault(name, {}).setdefault(part, {})[space.name] = figures
                if not figures:
                    continue
                if part == "batches":
                    print_batches(name, figures)
                    figures = summary(figures)
                print(f"  {name:<24}{part:<10}{line(figures)}", flush=True)
    print_means(results, options)
    for name in options.methods if "cost" in options.parts else ():
        figures = cost(partial(build, name), options.scale)
        results.setdefault(name, {})["cost"] = figures
        print(
            f"  {name:<24}{'cost':<9}{figures['ratio']:.1f} × one X @ T.T (at most {MOST_RATIO}), "
            f"{figures['memory']:.2f} × X of memory (at most {MOST_MEMORY}), "
            f"{figures['seconds']:.1f} s",
            flush=True,
        )
    return results


def print_batches(name: str, gains: dict[str, list[float]]) -> None:
    """Print a line for each number of effective classes: mean and worst gain for each size of batch."""
    for k in dict.fromkeys(setting.partition("/")[0] for setting in gains):
        cells = (gains[f"{k}/{size}"] for size in BATCH_ROWS)
        shown = "  ".join(f"{np.mean(values):+6.1f} ({min(values):+.0f})" for values in cells)
        print(f"  {name:<24}{'k = ' + k:<9}{shown}")


def print_means(results: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the means over data sets."""
    for name in options.methods:
        parts = results.get(name, {})
        shown = []
        if "full" in parts:
            gains = [figures["gain"] for figures in parts["full"].values()]
            errors = [figures["ECE"] for figures in parts["full"].values()]
            shown.append(
                f"full {np.mean(gains):+.1f} (worst {min(gains):+.1f}), ECE at most {max(errors):.3f}"
            )
        if "batches" in parts:
            every = {f"{k}/{d}": v for d, f in parts["batches"].items() for k, v in f.items()}
            shown.append(line(summary(every)))
        if shown:
            print(f"\n{name}, over {len(next(iter(parts.values())))} data sets: {'; '.join(shown)}")


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each data set, part and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS, help='"TransCLIP!": as published')
    parser.add_argument("--datasets", nargs="+", help="names, or paths of .npz; default: all at hand")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[:-1])
    parser.add_argument("--seen", action="store_true", help="training rows and their classes only")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows whose cost is measured")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    results = report(options)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, default=float), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except DataError as error:
        sys.exit(f"shared_space: {error}")
