"""How the time of a fit grows with each size of the data, as exponents and a picture.

    python benchmarks/growth.py [--repeat 2] [--processor] [--methods TASTE …]

One size varies at a time: labelled rows N, features p, seen classes K, unseen classes L, attributes q,
rows of the pool M. Times are ratios to one X.T @ X of 8,000 × 1,024 rows in the same process. An
exponent is the slope in logarithms: time grows like size to that power. Inductive methods do not see
the pool.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from unseen import ASTE, ESZSL, TASTE, FastTraining, SelfPacedPrototypes
from unseen.exceptions import AdaptationWarning

UNIT = (8000, 1024)
BASE = {"N": 16000, "p": 1024, "K": 40, "L": 20, "q": 85, "M": 4000}
SWEEPS = {
    "N": [8000, 16000, 32000, 64000],
    "p": [512, 1024, 2048, 4096],
    "K": [20, 40, 80, 160],
    "L": [10, 20, 40, 80],
    "q": [40, 80, 160, 320],
    "M": [4000, 8000, 16000, 32000],
}
MEANING = {
    "N": "labelled rows N",
    "p": "features p",
    "K": "seen classes K",
    "L": "unseen classes L",
    "q": "attributes q",
    "M": "pool rows M",
}
MAKERS: dict[str, Callable[[Any, float], Any]] = {
    "ESZSL": lambda semantics, C: ESZSL(semantics, gamma=C / 2, lam=1.0),
    "ASTE": lambda semantics, C: ASTE(semantics, C=C, mu=1.0),
    "Fast-ASTE": lambda semantics, C: FastTraining(ASTE(semantics, C=C, mu=1.0)),
    "TASTE": lambda semantics, C: TASTE(semantics, C=C, mu=1.0),
    "SelfPacedPrototypes": lambda semantics, C: SelfPacedPrototypes(semantics),
}
"""Every method of the picture, with its ridges given where it has any."""
TRANSDUCTIVE = ("TASTE", "SelfPacedPrototypes")
OF_THE_POOL = ("L", "M")
"""Sizes that only a transductive method sees."""


class Sizes:
    """Simulated rows of the given sizes, and the fits on them."""

    def __init__(self, N: int, p: int, K: int, L: int, q: int, M: int) -> None:
        rng = np.random.default_rng(0)
        vectors = rng.standard_normal((K + L, q))
        means = vectors @ rng.standard_normal((q, p)) / np.sqrt(q)
        codes = np.concatenate([np.arange(N) % K, K + np.arange(M) % L])
        self.X = (means[codes] + rng.standard_normal((N + M, p))).astype(np.float32)
        self.seen, self.labelled = codes[:N], N
        self.labels = codes.astype(object)
        self.labels[N:] = None
        self.semantics = dict(enumerate(vectors))
        self.C = 0.6 * float(np.square(self.X[:N]).sum()) / p

    def fit(self, name: str) -> None:
        """Fit one method: on labelled rows alone, or with the pool."""
        model = MAKERS[name](self.semantics, self.C)
        if name in TRANSDUCTIVE:
            model.fit(self.X, self.labels)
        else:
            model.fit(self.X[: self.labelled], self.seen)


def measure(names: list[str], repeat: int, clock: Callable[[], float]) -> dict[str, dict[str, Any]]:
    """Return for each method and size the ratios to the unit and the exponent."""

    def best(run: Callable[[], Any]) -> float:
        times = []
        for _ in range(repeat):
            begun = clock()
            run()
            times.append(clock() - begun)
        return min(times)

    square = np.random.default_rng(0).standard_normal(UNIT).astype(np.float32)
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for size, values in SWEEPS.items():
        chosen = [name for name in names if name in TRANSDUCTIVE or size not in OF_THE_POOL]
        times: dict[str, list[float]] = {name: [] for name in chosen}
        for value in values:
            problem = Sizes(**(BASE | {size: value}))
            for name in chosen:
                unit = best(partial(np.matmul, square.T, square))
                times[name].append(best(partial(problem.fit, name)) / unit)
        for name, ratios in times.items():
            slope = float(np.polyfit(np.log(values), np.log(ratios), 1)[0])
            found[name][size] = {"sizes": values, "ratios": ratios, "exponent": slope}
            print(f"{name}: {size}^{slope:.2f}", *(f"{ratio:.2f}" for ratio in ratios), flush=True)
    return found


def draw(found: dict[str, dict[str, Any]], picture: Path) -> None:
    """Draw time against every size, with the exponents in the legends."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, grid = plt.subplots(2, 3, figsize=(11, 8), sharey=True, layout="constrained")
    colours = {name: f"C{place}" for place, name in enumerate(MAKERS)}
    for axis, (size, values) in zip(grid.flat, SWEEPS.items(), strict=True):
        for name in (name for name in found if size in found[name]):
            entry = found[name][size]
            label = f"{name}: {entry['exponent']:.2f}"
            axis.loglog(values, entry["ratios"], "o-", base=2, color=colours[name], label=label, ms=4)
        axis.set_xlabel(MEANING[size])
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.yaxis.set_major_formatter(lambda ratio, _: f"{ratio:g}")
        axis.legend(
            title="exponent", fontsize=8, title_fontsize=8, frameon=False,
            loc="lower left", bbox_to_anchor=(0, 1),
        )  # fmt: skip
    for axis in grid[:, 0]:
        axis.set_ylabel(f"a fit, in units of one\nXᵀX of {UNIT[0]:,} × {UNIT[1]:,}")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=100)


def main() -> None:
    """Print the exponents, draw the picture, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--methods", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    parser.add_argument("--picture", type=Path, default=Path("docs/img/growth.png"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--processor", action="store_true", help="processor time of one thread")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AdaptationWarning)
    clock = time.perf_counter
    if options.processor:  # a second thread that waits would count as work
        clock = time.process_time
        threadpool_limits(1)
    found = measure(options.methods, options.repeat, clock)
    draw(found, options.picture)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
