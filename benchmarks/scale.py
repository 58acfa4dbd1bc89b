"""The same fit in memory and on a Dask cluster of two processes that cannot hold the rows.

    make bench-scale                            5,000,000 × 256: 5 GB on disk, 12 GB of memory
    python benchmarks/scale.py --rows 500000    a tenth of it
    python benchmarks/scale.py --kill           and a worker is killed in the middle

Prints, for every estimator, the largest difference of scores, the share of the pool that has the same
label (of transductive ones) and the throughput of the cluster as a share of that of the fit in memory,
on the same cores and in the same run. Rows are written to Zarr without compression: noise cannot be
compressed, and plain chunks are mapped, not copied.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from distributed import Client, LocalCluster
from sklearn.base import clone

from unseen import ASTE, TASTE, FastTraining, SelfPacedPrototypes, open_rows
from unseen.exceptions import AdaptationWarning

SEEN, UNSEEN, SEMANTICS = 50, 10, 30
COLUMNS = 256
CHUNK = 65_536
LIMIT = 1.5e9
"""Bytes of memory a worker."""


def main() -> None:
    """Write the rows, fit both ways, print."""
    args = parsed()
    warnings.simplefilter("ignore", AdaptationWarning)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp(prefix="unseen-scale-", dir=args.folder))
    try:
        semantics = write(folder, args.rows)
        size = args.rows * COLUMNS * 4
        print(
            f"{args.rows:,} × {COLUMNS} rows, {size / 1e9:.2f} GB; two workers of {LIMIT / 1e9:.1f} GB"
        )
        # One BLAS thread a worker, from its start: `env=` of LocalCluster comes after NumPy is loaded.
        # This process has loaded it, and keeps a thread a core.
        os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
        workers = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=int(LIMIT),
            dashboard_address=":0",
        )
        with workers as cluster, Client(cluster) as client:
            models = {
                "ASTE": ASTE(semantics),
                "Fast-TASTE": FastTraining(TASTE(semantics)),
                "SelfPacedPrototypes": SelfPacedPrototypes(semantics),
            }
            for name in args.only or models:
                compare(models[name], folder, client, args)
    finally:
        shutil.rmtree(folder)


def parsed() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--kill", action="store_true", help="fit once more, and kill a worker")
    parser.add_argument("--only", nargs="+", choices=("ASTE", "Fast-TASTE", "SelfPacedPrototypes"))
    parser.add_argument("--repeat", type=int, default=1, help="fits each way; the fastest counts")
    parser.add_argument("--folder", help="where to write the rows; by default the temporary folder")
    return parser.parse_args()


def write(folder: Path, rows: int) -> dict[int, Any]:
    """Write Gaussian classes whose means are a linear map of their semantics, chunk by chunk."""
    random = np.random.default_rng(0)
    vectors = random.normal(size=(SEEN + UNSEEN, SEMANTICS))
    means = vectors @ random.normal(size=(SEMANTICS, COLUMNS)) / np.sqrt(SEMANTICS)
    kinds = {"rows.zarr": ((rows, COLUMNS), "f4"), "labels.zarr": ((rows,), "i8")}
    X, y = (
        zarr.create_array(
            folder / name, shape=shape, dtype=dtype, chunks=(CHUNK, *shape[1:]), compressors=None
        )
        for name, (shape, dtype) in kinds.items()
    )
    pool = rows - rows // 6  # the last rows have no label
    for number, start in enumerate(range(0, rows, CHUNK)):
        random = np.random.default_rng((1, number))
        place = np.arange(start, min(start + CHUNK, rows))
        codes = np.where(place < pool, random.integers(SEEN, size=len(place)), -1)
        true = np.where(codes < 0, random.integers(SEEN, SEEN + UNSEEN, size=len(place)), codes)
        noise = random.standard_normal((len(place), COLUMNS), dtype=np.float32)
        X[start : start + len(place)] = means[true].astype(np.float32) + 3 * noise
        y[start : start + len(place)] = codes
    return dict(enumerate(vectors))


def compare(model: Any, folder: Path, client: Client, args: argparse.Namespace) -> None:
    """Fit in memory and on the cluster; print how their scores and their times compare."""
    name = type(model).__name__
    X, y = zarr.open_array(folder / "rows.zarr")[:], zarr.open_array(folder / "labels.zarr")[:]
    some = X[:: max(1, len(X) // 20_000)].copy()
    inside, fitted = timed(model, X, y, args.repeat)
    want, labels = fitted.decision_function(some), pool_labels(fitted, args.rows)
    del X, y, fitted
    X, y = open_rows(folder / "rows.zarr"), open_rows(folder / "labels.zarr")
    outside, fitted = timed(model, X, y, args.repeat)
    error = np.abs(fitted.decision_function(some) - want).max() / np.abs(want).max()
    start = time.perf_counter()
    found = pool_labels(fitted, args.rows)
    labelling = time.perf_counter() - start
    peak = max(client.run(peak_memory).values())
    if labels is not None:
        print(
            f"{name}: {100 * np.mean(labels == found):.4f}% of the pool have the same label, found in "
            f"another {labelling:.1f} s; {len(fitted.history_)} rounds"
        )
    print(
        f"{name}: scores differ by {error:.1e} of the largest; throughput {inside / outside:.2f} of "
        f"that in memory ({inside:.1f} s, {outside:.1f} s); at most {peak / 1e9:.2f} GB a worker"
    )
    if not args.kill:
        return
    killer = threading.Timer(outside / 2, kill_one, [client])
    killer.start()
    seconds, fitted = timed(model, X, y, 1)
    killer.join()
    error = np.abs(fitted.decision_function(some) - want).max() / np.abs(want).max()
    print(f"{name}, a worker killed after {outside / 2:.0f} s: {error:.1e}; {seconds:.1f} s")


def pool_labels(fitted: Any, rows: int) -> Any:
    """Return the labels of the last rows, which had none; None of an inductive model."""
    labels = getattr(fitted, "transduction_", None)
    return None if labels is None else np.asarray(labels[rows - rows // 6 :])


def timed(model: Any, X: Any, y: Any, repeat: int) -> tuple[float, Any]:
    """Return the least seconds of some fits, and the last model."""
    best, fitted = np.inf, None
    for _ in range(repeat):
        fitted = clone(model)
        start = time.perf_counter()
        fitted.fit(X, y)
        best = min(best, time.perf_counter() - start)
    return best, fitted


def peak_memory() -> int:
    """Return the most bytes that this process had in memory (Linux)."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def kill_one(client: Client) -> None:
    """End a worker's process, as a machine that fails would; its nanny starts another."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


if __name__ == "__main__":
    main()
