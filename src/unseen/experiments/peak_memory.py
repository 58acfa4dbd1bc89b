"""The largest memory of this process, as far as the operating system tells it."""

from __future__ import annotations

import math
import sys
from pathlib import Path


def reset_peak() -> None:
    """Reset the peak of resident memory, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def peak_mb() -> float:
    """Return the largest resident memory of this process in megabytes, or NaN if nobody counts it.

    Linux counts since :func:`reset_peak`, other Unix systems since the process began, and Windows
    keeps no count that the standard library can read.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        line = next(part for part in status.split("\n") if part.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    except (OSError, StopIteration):
        return _peak_of_process()


def _peak_of_process() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
