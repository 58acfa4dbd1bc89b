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
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from draws import load, names_at_hand, shares_space
from pools import pool_rows
from settings import DATA
from sklearn.metrics import roc_auc_score

from unseen import methods
from unseen.exceptions import DataError
from unseen.metrics import per_class_accuracy

METHODS = ["SharedSpacePrototypes", "TransCLIP", "StatA", "ZLaP", "EMDirichlet"]
PARTS = ("full", "batches", "50:1", "streams", "strangers", "labels", "cost")
EFFECTIVE_CLASSES = (2, 5, 10, 25, None)
BATCHES = (64, 256, 1000)
STREAM_BATCH = 256
LABELLED_ROWS = 10
CALIBRATION_BINS = 15
FLOOR = -1.5
"""A setting whose mean gain is below this is counted."""
COST_SHAPE = (100_000, 512, 1000)
SIGNAL = 0.2
"""The weight of a class vector in the simulated rows, beside noise: rounds go on to the last."""
MOST_RATIO, MOST_MEMORY = 30, 3


class Space(NamedTuple):
    """Rows, the names of their classes, class vectors by name, and rows of no class."""

    name: str
    X: Any
    y: Any
    semantics: dict[Any, Any]
    X_strangers: Any

    def gain(self, model: Any, rows: Any) -> float:
        """Return how many points a fitted model is above its start on the rows of its pool."""
        truth = self.y[rows]
        found, start = model.transduction_[: len(rows)], model.start_[: len(rows)]
        return 100 * (per_class_accuracy(truth, found) - per_class_accuracy(truth, start))


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


def calibration_error(confidence: Any, right: Any) -> float:
    """Return the expected calibration error."""
    place = np.minimum((confidence * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gaps = [abs((confidence[place == b] - right[place == b]).sum()) for b in range(CALIBRATION_BINS)]
    return float(sum(gaps) / len(right))


def full(space: Space, name: str, _: argparse.Namespace) -> dict[str, float]:
    """All rows, all classes."""
    model = build(name, space.semantics)
    begin = time.perf_counter()
    model.fit(space.X)
    seconds = time.perf_counter() - begin
    rows = np.arange(len(space.X))
    right = model.transduction_ == space.y
    start = 100 * per_class_accuracy(space.y, model.start_)
    confidence = getattr(model, "confidence_", None)
    if confidence is None:
        confidence = model.predict_proba(space.X).max(axis=1)
    figures = {"cosine": start, "gain": space.gain(model, rows)}
    figures["ECE"] = calibration_error(np.asarray(confidence, dtype=float), right)
    figures |= {k: v for k, v in getattr(model, "diagnostics_", {}).items() if k != "tie"}
    return figures | {"seconds": seconds}


def batches(space: Space, name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """k effective classes in a small pool; the gain of each draw."""
    classes, gains = np.array(sorted(space.semantics)), {}
    for k in (k for k in EFFECTIVE_CLASSES if (k or 0) < len(classes)):
        for size in BATCHES:
            for seed in range(options.draws):
                random = np.random.default_rng([seed, k or 0, size])
                present = classes if k is None else random.choice(classes, k, replace=False)
                rows = random.permutation(np.flatnonzero(np.isin(space.y, present)))[:size]
                model = build(name, space.semantics).fit(space.X[rows])
                gains.setdefault(f"{k or 'all'}/{size}", []).append(space.gain(model, rows))
    return gains


def uneven(space: Space, name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Classes of very different size."""
    gains = []
    for seed in range(options.draws):
        random = np.random.default_rng(seed)
        rows = pool_rows(space.y, np.arange(len(space.y)), "50:1", random)
        gains.append(space.gain(build(name, space.semantics).fit(space.X[rows]), rows))
    return {"50:1": gains}


def streams(space: Space, name: str, _: argparse.Namespace) -> dict[str, float]:
    """Rows that come by batches; the gain over the whole stream, and of the worst batch."""
    random, figures = np.random.default_rng(0), {}
    mixed = random.permutation(len(space.y))
    rank = {c: i for i, c in enumerate(random.permutation(np.array(sorted(space.semantics))).tolist())}
    in_turn = mixed[np.argsort([rank[c] for c in space.y[mixed].tolist()], kind="stable")]
    for title, order in (("mixed", mixed), ("in turn", in_turn)):
        model, found, start = build(name, space.semantics), [], []
        learn = getattr(model, "partial_fit", model.fit)
        for first in range(0, len(order), STREAM_BATCH):
            learn(space.X[order[first : first + STREAM_BATCH]])
            found.append(model.transduction_)
            start.append(model.start_)
        accuracies = [per_class_accuracy(space.y[order], np.concatenate(a)) for a in (found, start)]
        figures[title] = 100 * (accuracies[0] - accuracies[1])
    return figures


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


def cost(name: str, scale: float) -> dict[str, float]:
    """Time as a ratio to one X @ T.T, and peak memory beside X as a multiple of X."""
    N, p, L = int(COST_SHAPE[0] * scale), COST_SHAPE[1], COST_SHAPE[2]
    random = np.random.default_rng(0)
    T = random.standard_normal((L, p)).astype(np.float32)
    X = T[random.integers(L, size=N)] * np.float32(SIGNAL)
    for first in range(0, N, 10_000):
        block = X[first : first + 10_000]
        block += random.standard_normal(block.shape, dtype=np.float32)
    semantics = dict(enumerate(T))
    unit = min(timed(lambda: X @ T.T) for _ in range(3))
    seconds = timed(lambda: build(name, semantics).fit(X))
    unit = min(unit, *(timed(lambda: X @ T.T) for _ in range(2)))
    tracemalloc.start()
    build(name, semantics).fit(X)
    memory = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    return {"ratio": seconds / unit, "memory": memory, "seconds": seconds, "unit": unit}


def timed(run: Any) -> float:
    """Return the processor's seconds for a call: other work on the machine does not count."""
    begin = time.process_time()
    run()
    return time.process_time() - begin


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
        digits = 3 if key in ("ECE", "AUROC", "by cosine", "changed", "sureness", "slope") else 1
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
        figures = cost(name, options.scale)
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
        cells = (gains[f"{k}/{size}"] for size in BATCHES)
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
