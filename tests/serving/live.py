"""A service or a studio in a process of its own, as a user runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 300
"""Seconds to wait for what must come: far more than it takes, however busy the machine is."""


def environment(more=None):
    """Return what a process of these tests runs in."""
    own = {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = {**os.environ, **own, **(more or {})}
    found.pop("PYTEST_CURRENT_TEST", None)  # NiceGUI would look for its test fixtures
    return found


class Live:
    """A process that serves; ``url`` is where. ``before`` is run in it first."""

    def __init__(self, *arguments, env=None, before=""):
        run = ["-c", f"{before}\nfrom unseen.cli import main\nmain()"] if before else ["-m", "unseen"]
        self.process = subprocess.Popen(
            [sys.executable, *run, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(env),
        )
        self.said = []
        self.url = self._wait()
        self.port = urlsplit(self.url).port

    def _wait(self):
        for line in self.process.stdout:
            self.said.append(line)
            found = re.search(r"(http://[^\s;]+)", line)
            if found:
                return found[1]
        raise AssertionError(f"it ended: {''.join(self.said)}")

    def stop(self, kind=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(kind)
        rest, _ = self.process.communicate(timeout=PATIENCE)
        self.said.append(rest)
        return self.process.returncode


@contextmanager
def live(*arguments, **options):
    with tempfile.TemporaryDirectory() as folder:  # a killed process does not clear its own
        served = Live(*arguments, **options | {"env": {"TMPDIR": folder, **(options.get("env") or {})}})
        try:
            yield served
        finally:
            if served.process.poll() is None:
                served.process.kill()
            code = served.process.wait()
            served.process.stdout.close()
        if code == 0:
            left = [path.name for path in Path(folder).glob("unseen*")]
            assert left == [], f"it ended by itself and left {left} in the temporary folder"


def eventually(check):
    """Wait until something holds, which then holds on."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.05)
    return False
