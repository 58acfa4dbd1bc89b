"""Accuracy of the methods on real data, over seeds and in awkward pools.

    python benchmarks/accuracy.py --datasets letters cub --methods ASTE TASTE --seeds 5
    python benchmarks/accuracy.py --datasets letters --methods TASTE --scenarios all
    python benchmarks/accuracy.py --datasets cub awa1-ss --methods inductive --times
    python benchmarks/accuracy.py --datasets cub --methods transductive --times --memory
    python benchmarks/accuracy.py --datasets cub --methods WDVSc --set shrinkage=None
    python benchmarks/accuracy.py --datasets awa1-ps --methods MaxMarginSSL --seeds 3 --folds

Per-class top-1 on the unseen classes, with nothing but `semantics` given. A seed shuffles the rows (and
seeds the methods that draw at random). Scenarios change the unlabelled pool and print "start > end":
the method's own inductive answer, and its answer after adaptation. "--times" adds the fit time with
the parameters that were chosen (tuning aside), as a multiple of ESZSL's on the same labelled rows; the
best of three, and of seven for ESZSL. "--memory" adds the most that a fit allocates at once, as a
multiple of the bytes of the rows that it is given, tuning aside and with it. For both, a transductive
method is given its pool. "--set" gives parameters by hand. With "--folds" a seed draws a quarter of the
seen classes, which then play the unseen ones: no row of an unseen class is touched, so that defaults
may be chosen on it. "--markdown" prints a table at the end in place of lines, as the documents have it.
Data: the embedded letters-to-digits, and CUB and AwA1 from the folder that UNSEEN_DATA names (default:
../shared/data).
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
from accuracy_tables import Line, method_table, scenario_table
from pools import SCENARIOS, make_task
from settings import (
    DATA,
    DATASETS,
    Given,
    fitted,
    hold_out,
    is_transductive,
    method,
    named_methods,
    parameters,
    start_and_end,
)
from sklearn.base import clone

from unseen.datasets import ZeroShotDataset
from unseen.typing import Array


def fold(data: ZeroShotDataset, seed: int) -> ZeroShotDataset:
    """Return the labelled rows alone, with a quarter of the seen classes in the place of the unseen."""
    seen = data.seen_classes
    return hold_out(data, np.random.default_rng(seed).permutation(seen)[: len(seen) // 4])


def evaluate(
    data: ZeroShotDataset, name: str, seed: int, scenario: str, given: Given
) -> tuple[float, float]:
    """Return the accuracy before and after adaptation; equal for an inductive method."""
    return start_and_end(make_task(data, scenario, seed), name, seed, given)


def given_rows(data: ZeroShotDataset, name: str) -> tuple[Array, Array]:
    """Return what a method is given: labelled rows and, if it is transductive, its pool."""
    pool = data.test_unseen if is_transductive(name) else []
    rows = np.concatenate([data.train, np.asarray(pool, dtype=int)])
    labels = data.y[rows].astype(object)
    labels[len(data.train) :] = None
    return data.X[rows], labels


def costs(
    data: ZeroShotDataset, name: str, given: Given, repeats: int = 3
) -> tuple[float, float, float]:
    """Return the seconds of a fit, its peak in multiples of its rows, and the peak with tuning.

    The first two are of a fit that is given the parameters that folds chose before.
    """
    X, y = given_rows(data, name)
    model, with_tuning = traced(method(name, data.semantics, 0).set_params(**given), X, y)
    model = clone(model).set_params(**model._chosen())
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        fitted(clone(model), X, y)
        seconds.append(time.perf_counter() - start)
    return min(seconds), traced(model, X, y)[1], with_tuning


def traced(model: Any, X: Array, y: Array) -> tuple[Any, float]:
    """Fit, and return the most that was allocated at once, in multiples of X."""
    tracemalloc.start()
    fitted(model, X, y)
    peak = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    return model, peak


def main() -> None:
    """Print one line for each data set, method and scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=["ESZSL", "ASTE", "TASTE"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--scenarios", nargs="+", default=["full"], choices=[*SCENARIOS, "all"])
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    lines = []
    for dataset in options.datasets:
        data = DATASETS[dataset](DATA)
        if not options.markdown:
            print(f"{dataset}: {data.features}", flush=True)
        for line in measured(dataset, data, options):
            lines.append(line)
            if not options.markdown:
                print(text_of(line), flush=True)
    if options.markdown:
        print((method_table if len({x.scenario for x in lines}) == 1 else scenario_table)(lines))


def measured(dataset: str, data: ZeroShotDataset, options: argparse.Namespace) -> Iterator[Line]:
    """Yield what was measured of every method and scenario on a data set."""
    given = parameters(options.set)
    unit = costs(data, "ESZSL", {}, 7)[0] if options.times else 0.0
    for name in named_methods(options.methods):
        for scenario in SCENARIOS if "all" in options.scenarios else options.scenarios:
            pairs = [
                evaluate(fold(data, seed) if options.folds else data, name, seed, scenario, given)
                for seed in range(options.seeds)
            ]
            start, end = np.mean(pairs, axis=0)
            ends = [after for _, after in pairs]
            worst = min(after - before for before, after in pairs)
            line = Line(
                dataset, name, scenario, is_transductive(name), start, end, worst, min(ends), max(ends)
            )
            if options.times or options.memory:
                seconds, peak, with_tuning = costs(data, name, given)
                if options.times:
                    line = line._replace(time=seconds / unit)
                if options.memory:
                    line = line._replace(memory=peak, memory_with_tuning=with_tuning)
            yield line


def text_of(line: Line) -> str:
    """Return one line of figures."""
    text = f"  {line.method:20s} {line.scenario:12s} {line.start:5.1f} > {line.end:5.1f}"
    text += f"  [{line.lowest:.1f}, {line.highest:.1f}]  worst change {line.worst:+.1f}"
    text += "" if line.time is None else f"  fit {line.time:.1f} x ESZSL"
    if line.memory is None:
        return text
    return f"{text}  memory {line.memory:.2f} x X, {line.memory_with_tuning:.2f} with tuning"


if __name__ == "__main__":
    main()
