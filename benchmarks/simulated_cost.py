"""What a fit to a large simulated pool costs: rows and class vectors in one space, no label."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

COST_SHAPE = (100_000, 512, 1000)
SIGNAL = 0.2
"""The weight of a class vector in the simulated rows, beside noise: rounds go on to the last."""


def cost(build: Callable[[Any], Any], scale: float) -> dict[str, float]:
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
    seconds = timed(lambda: build(semantics).fit(X))
    unit = min(unit, *(timed(lambda: X @ T.T) for _ in range(2)))
    tracemalloc.start()
    build(semantics).fit(X)
    memory = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    return {"ratio": seconds / unit, "memory": memory, "seconds": seconds, "unit": unit}


def timed(run: Any) -> float:
    """Return the processor's seconds for a call: other work on the machine does not count."""
    begin = time.process_time()
    run()
    return time.process_time() - begin
