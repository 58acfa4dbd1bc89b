"""How long fits on letters take alone and beside two busy processes: a user's machine is shared.

    python benchmarks/busy.py [--repeat 3] [--busy 2]

Each line has the median of the runs and the ratio. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

import unseen
from unseen.datasets import load_letters_to_digits

METHODS = ("ESZSL", "ASTE", "PrototypeRidge", "SAE", "SJE", "SelfPacedPrototypes", "TASTE", "WDVSc")


@contextmanager
def busy_process() -> Iterator[None]:
    """Keep one core busy meanwhile."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def seconds(name: str, repeat: int) -> float:
    """Return the median time of a fit; the first one, which loads modules, does not count."""
    data = load_letters_to_digits()
    rows = np.concatenate([data.train, data.test_unseen])
    labels = data.y[rows].astype(object)
    labels[len(data.train) :] = None
    times = []
    for _ in range(repeat + 1):
        model = getattr(unseen, name)(data.semantics)
        begun = time.perf_counter()
        model.fit(data.X[rows], labels)  # an inductive method leaves the unlabelled rows out
        times.append(time.perf_counter() - begun)
    return float(np.median(times[1:]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--busy", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    alone = [seconds(name, options.repeat) for name in METHODS]
    with ExitStack() as stack:
        for _ in range(options.busy):
            stack.enter_context(busy_process())
        beside = [seconds(name, options.repeat) for name in METHODS]
    print(f"| fit on letters | alone | with {options.busy} busy processes | ratio |")
    print("| --- | --- | --- | --- |")
    for name, quiet, slow in zip(METHODS, alone, beside, strict=True):
        print(f"| `{name}` | {quiet:.2f} | {slow:.2f} | {slow / quiet:.1f} |")


if __name__ == "__main__":
    main()
