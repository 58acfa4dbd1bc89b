"""Kill the runner at random moments: the store ends equal to that of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from unseen.experiments import Store

PATIENCE = 300
"""Seconds to wait for what must come, however busy the machine is."""
TEXT = """
[[experiment]]
name = "tiny"
datasets = ["simulated-aPY@0.02x16"]
methods = ["SJE", "Fast-SJE", "ESZSL"]
trials = {trials}
"""


RUN = """
import signal, sys
from unseen.experiments import Store, make_plan, read, run

def tell(progress):
    if progress.before + progress.done == int(sys.argv[3]):
        signal.pause()  # the kill comes before the end, however late it is

if __name__ == "__main__":
    with Store(sys.argv[1] + "/results.sqlite") as store:
        run(make_plan(read("mine.toml")), store, jobs=int(sys.argv[2]), on_progress=tell)
"""


def start(folder, out, jobs, most=0):
    """Begin a run; when ``most`` cells are stored, it waits to be killed."""
    (folder / "run.py").write_text(RUN)
    return subprocess.Popen(
        [sys.executable, "run.py", out, str(jobs), str(most)],
        cwd=folder,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )


def stored(path):
    """Return key -> when it finished, as another process sees the store."""
    if not path.exists():
        return {}
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)
    try:
        return dict(database.execute("select key, finished || seconds from cells").fetchall())
    except sqlite3.OperationalError:  # killed before the table was made
        return {}
    finally:
        database.close()


def kill_and_resume(folder, kills, trials):
    draw = random.Random(kills)
    (folder / "mine.toml").write_text(TEXT.format(trials=trials))
    path = folder / "killed" / "results.sqlite"
    landed, before = 0, {}
    while landed < kills:
        left = 3 * trials - 1 - len(before)
        process = start(folder, "killed", 1 + landed % 2, len(before) + left // (kills - landed))
        more = draw.choice([0, 0, 1, 2])  # new rows to wait for, then a random moment
        while process.poll() is None and len(stored(path)) < len(before) + more:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 1.5 if more == 0 else 0.08))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        landed += 1
        now = stored(path)
        assert before.items() <= now.items(), "a stored cell was lost or run twice"
        before = now
    assert landed == kills, "the run ended before it was killed often enough"
    assert len(before) < 3 * trials, "the last kill should leave work to do"
    assert start(folder, "killed", 2).wait() == 0
    assert before.items() <= stored(path).items()
    assert start(folder, "whole", 1).wait() == 0
    whole = folder / "whole" / "results.sqlite"
    with Store(path) as killed, Store(whole) as undisturbed:
        assert len(undisturbed.rows()) == 3 * trials
        assert killed.untimed() == undisturbed.untimed()


def test_a_few_kills_lose_nothing(tmp_path):
    kill_and_resume(tmp_path, 6, 12)


@pytest.mark.slow
def test_fifty_kills_lose_nothing(tmp_path):
    kill_and_resume(tmp_path, 50, 80)


def test_workers_end_with_the_run(tmp_path):
    (tmp_path / "mine.toml").write_text(TEXT.format(trials=30))
    process = start(tmp_path, "out", 2, most=1)
    path = tmp_path / "out" / "results.sqlite"
    while process.poll() is None and not stored(path):
        time.sleep(0.01)
    children = subprocess.run(
        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
    )
    pids = [int(p) for p in children.stdout.split()]
    assert len(pids) >= 2
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{p}") for p in pids):  # noqa: PTH110
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{p}") for p in pids)  # noqa: PTH110
