"""What loading xlsa17/CUB costs, as ratios: time against scipy.io.loadmat, memory against X.

    python benchmarks/loading.py [FOLDER]

The goals are at most 1.2 for time and at most 2.5 for memory.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import scipy.io

from unseen.datasets import load_xlsa17

ROUNDS = 7
DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "xlsa17" / "CUB"


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Print both ratios."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    files = sorted(folder.glob("*.mat"))
    if not files:
        sys.exit(f"{folder}: no .mat files. Name an xlsa17 folder.")
    features = next(f for f in files if f.stem != "att_splits")
    ratios, ours, theirs = [], [], []
    for _ in range(ROUNDS):  # in turn, so that other load on the machine falls on both
        theirs.append(seconds(lambda: scipy.io.loadmat(features)))
        ours.append(seconds(lambda: load_xlsa17(folder)))
        ratios.append(ours[-1] / theirs[-1])
    tracemalloc.start()
    data = load_xlsa17(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{folder}: X is {data.X.shape} of {data.X.dtype}, {data.X.nbytes / 1e6:.0f} MB")
    print(f"scipy.io.loadmat({features.name})  {min(theirs):.3f} s (best of {ROUNDS})")
    print(f"load_xlsa17 (both files)           {min(ours):.3f} s")
    print(f"time, best / best       {min(ours) / min(theirs):.2f}   (goal: at most 1.2)")
    print(f"time, median of ratios  {statistics.median(ratios):.2f}")
    print(f"peak memory / X         {peak / data.X.nbytes:.2f}   (goal: at most 2.5)")


if __name__ == "__main__":
    main()
