"""How many threads linear algebra takes: one, where matrices are small.

Threads of BLAS wait for each other at the end of every product, and keep their cores busy while they
wait. Beside other work a fit on small matrices takes ten times as long with them as without.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

MOST_WORK_OF_ONE_THREAD = 2e9
"""Multiplications of X.T @ X, or of X @ X.T if that is smaller, up to which a fit takes one thread:
about a tenth of a second on one core."""


def is_small(X: object) -> bool:
    """Tell whether the products of a fit on ``X`` are too small to be worth several threads.

    >>> import numpy as np
    >>> is_small(np.empty((5_000, 128))), is_small(np.empty((24_295, 4_096), dtype="f4"))
    (True, False)
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] * shape[1] * min(shape) <= MOST_WORK_OF_ONE_THREAD


class OneThread:
    """The context of work on small matrices: BLAS has one thread, in the whole process.

    Of contexts that overlap, the first sets the limit and restores it, and the others do nothing: if
    each restored what it met, the last of several Python threads could leave a limit behind.
    """

    _in_force = threading.Lock()

    def __init__(self) -> None:
        self._limit: Any = None

    def __enter__(self) -> None:
        """Set the limit, unless it is in force already."""
        if OneThread._in_force.acquire(blocking=False):
            self._limit = _controller().limit(limits=1, user_api="blas")
            self._limit.__enter__()

    def __exit__(self, *error: object) -> None:
        """Restore what was there, if this context set the limit."""
        if self._limit is not None:
            self._limit.__exit__(None, None, None)
            self._limit = None
            OneThread._in_force.release()


@cache
def _controller() -> ThreadpoolController:
    """Find the libraries of linear algebra once: the search takes milliseconds."""
    return ThreadpoolController()
