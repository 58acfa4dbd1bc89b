"""What tests leave behind: files here and in the temporary folder, processes, ports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
EXPECTED = (".hypothesis", ".pytest_cache", "__pycache__", ".coverage", ".venv", "out", "pytest-of-")
"""Names that tools make for themselves."""


class Left(NamedTuple):
    """What there is at one moment."""

    files: frozenset[str]
    processes: frozenset[int]
    ports: frozenset[int]


def look() -> Left:
    """Return the files of the repository and of the temporary folder, and what this process holds."""
    places = [*ROOT.iterdir(), *(ROOT / "tests").rglob("*"), *Path(tempfile.gettempdir()).iterdir()]
    files = frozenset(str(p) for p in places if not any(part.startswith(EXPECTED) for part in p.parts))
    ours = psutil.Process()
    children = [child for child in ours.children(recursive=True) if not ends_with_us(child)]
    ports = {c.laddr.port for c in ours.net_connections() if c.status == psutil.CONN_LISTEN}
    return Left(files, frozenset(child.pid for child in children), frozenset(ports))


def ends_with_us(process: psutil.Process) -> bool:
    """Return whether a process is a tracker of multiprocessing or of joblib.

    The interpreter starts one with the first lock or worker and keeps it until it ends itself.
    """
    try:
        return any("resource_tracker import main" in argument for argument in process.cmdline())
    except psutil.ZombieProcess:  # ended, but nobody waited for it: it counts
        return False
    except psutil.NoSuchProcess:
        return True


def leaks(before: Left, prefix: str = "unseen") -> list[str]:
    """Return a line for everything that is there now and was not before.

    Others write to the temporary folder too: there, only names that begin with ``prefix`` count.
    """
    now = look()
    temporary = Path(tempfile.gettempdir())
    files = [
        name
        for name in sorted(now.files - before.files)
        if Path(name).parent != temporary or Path(name).name.startswith(prefix)
    ]
    return [
        *(f"file {name}" for name in files),
        *(f"process {pid}" for pid in sorted(now.processes - before.processes)),
        *(f"port {port}" for port in sorted(now.ports - before.ports)),
    ]
